package hints

import (
	"fmt"
	"regexp"
	"strings"

	"mcpgateway/services/sandbox"
)

var (
	undefinedName = regexp.MustCompile(`'([A-Za-z_$][\w$]*)' is not defined|Cannot find name '([A-Za-z_$][\w$]*)'`)
	importLine    = regexp.MustCompile(`(?m)^[ \t]*import\b\s*[^(.\s]`)
	importCall    = regexp.MustCompile(`\bimport\s*\(`)
	suspicious    = regexp.MustCompile(`\b(?:tools|mcp)\s*\.|__\w+\s*\(|\bforEach\s*\(\s*async\b`)
	// python matches lines that no TypeScript has; pythonic also matches others
	// that are usual in Python.
	python = regexp.MustCompile(`(?m)^\s*(?:async\s+)?def\s+\w+\s*\(.*\)\s*(?:->.*)?:\s*(?:#.*)?$` +
		`|^\s*(?:if|elif|for|while|with|except|async for)\b[^{;(]*(?:\([^{;]*\))?[^{;]*:\s*(?:#.*)?$|^\s*(?:else|try|finally):\s*(?:#.*)?$` +
		`|^\s*from\s+[\w.]+\s+import\b|^\s*import\s+[\w.]+(?:\s+as\s+\w+)?\s*$|\bf"[^"\n]*\{|\bf'[^'\n]*\{`)
	pythonic       = regexp.MustCompile(`(?m)^\s*#[^!]|\bprint\s*\(|\b(?:None|True|False)\b|[(,]\s*\w+\s*=\s*["'\d\w\[]+[^=>]*\)|\bis not None\b|\bnot in\b|\bfor\s+\w+\s+in\s+[\w.]+\s*\]`)
	undeclared     = regexp.MustCompile(`^\s*=[^=>]`)
	typescriptOnly = regexp.MustCompile(`(?m)\b(?:const|let|var|function)\b|=>|[;{]\s*$`)
	// assignment is that of a statement or of an argument.
	assignment = regexp.MustCompile(`(?m)(?:^[ \t]*|[(,]\s*)([A-Za-z_]\w*)[ \t]*=[^=>]`)
)

// pythonNames are names that only Python has.
var pythonNames = map[string]bool{
	"print": true, "len": true, "None": true, "True": true, "False": true, "str": true, "dict": true, "range": true, "json": true, "asyncio": true, "enumerate": true, "sorted": true,
}

// instead returns the replacement for a name that the sandbox lacks, or "".
func (p *program) instead(name string) string {
	network := "fetch is off in this project; call a tool of a server instead, such as " + p.example()
	if p.Fetch {
		network = "use fetch"
	}
	switch name {
	case "import", "require", "module", "exports":
		return "there are no modules; the servers are constants of the code: " + p.catalog.servers()
	case "process", "Deno", "Bun", "__dirname", "__filename", "os":
		return "there is no process and no environment; send values as input and read the constant input"
	case "fs", "path":
		return "there are no files; call a tool of a server, such as " + p.example()
	case "fetch":
		return network
	case "axios", "XMLHttpRequest", "WebSocket", "http", "https":
		return network
	case "setInterval", "setImmediate":
		return "use setTimeout in a loop: await new Promise((done) => setTimeout(done, 1000))"
	case "Buffer":
		return "use TextEncoder, TextDecoder, atob and btoa"
	case "window", "document", "localStorage":
		return "there is no browser; return the value that you need"
	case "crypto":
		return "use Math.random()"
	}
	return ""
}

// example returns the name of a tool in code.
func (p *program) example() string {
	if len(p.tools) == 0 {
		return `gateway.call("alias__tool", {…})`
	}
	return member(p.tools[0])
}

// environment adds hints for other languages and for names that the sandbox
// lacks.
func (p *program) environment() {
	if p.isPython() {
		p.named = true
		p.add("the code is Python; write TypeScript or JavaScript: const result = await " + p.example() + "({…}); return result;")
		return
	}
	lacks := func(name, shown string) {
		if mend := p.instead(name); mend != "" {
			p.named = true
			p.add(shown + " is not available: " + mend)
		}
	}
	if p.Error != nil && (importLine.MatchString(p.masked) || importCall.MatchString(p.masked) && strings.HasPrefix(p.Error.Message, "could not load module")) {
		lacks("import", "import")
	}
	for _, name := range p.undefinedNames() {
		rest := p.at(name)
		if rest == "" {
			continue
		}
		if _, known := p.target(p.text[len(p.text)-len(rest):]); known {
			continue // a server, as in window.github
		}
		lacks(name, name)
		if !p.named && undeclared.MatchString(rest[len(name):]) {
			p.named = true
			p.add(name + " is not declared; write const " + name + " = …")
		}
	}
}

// undefinedNames returns the names that the code used without a value, from its
// error, result and log.
func (p *program) undefinedNames() []string {
	var names []string
	add := func(text string) {
		for _, found := range undefinedName.FindAllStringSubmatch(text, maxErrors) {
			names = append(names, found[1]+found[2])
		}
	}
	if p.Error != nil && (p.Error.Name == "ReferenceError" || p.Error.Phase == sandbox.PhaseTypecheck) {
		add(p.Error.Message)
	}
	if len(p.uses("catch")) > 0 || strings.Contains(p.masked, "allSettled") {
		add(p.Result)
		for _, line := range p.Logs {
			add(line)
		}
	}
	return names
}

// maxErrors is the maximum number of errors considered from one text.
const maxErrors = 5

// at returns the masked code from the first use of an undefined name, or "".
func (p *program) at(name string) string {
	if p.Error != nil && strings.Contains(p.Error.Message, "'"+name+"'") {
		if at := p.offset(sandbox.Position{Line: p.Error.Line, Column: p.Error.Column}); at >= 0 && strings.HasPrefix(p.masked[at:], name) {
			return p.masked[at:]
		}
	}
	if uses := p.uses(name); len(uses) > 0 {
		return p.masked[uses[0]:]
	}
	return ""
}

// showsError reports whether a text shows an error of the engine that code
// caught.
func showsError(text string) bool {
	return strings.Contains(text, "is not defined") || strings.Contains(text, "not a function") || strings.Contains(text, "cannot read property")
}

// isSuspicious reports whether code has a sign of a mistake that leaves no other
// trace in a run that succeeds.
func isSuspicious(code string) bool {
	for _, word := range []string{"tools", "mcp", "__", "forEach"} {
		if strings.Contains(code, word) {
			return suspicious.MatchString(code)
		}
	}
	return false
}

// isPython reports whether the code failed because it is Python.
func (p *program) isPython() bool {
	switch {
	case p.Error == nil:
		return false
	case p.Error.Phase == sandbox.PhaseParse || p.Error.Phase == sandbox.PhaseTypecheck:
		return python.MatchString(p.text) || pythonic.MatchString(p.text) && !typescriptOnly.MatchString(p.text)
	case typescriptOnly.MatchString(p.masked) || !python.MatchString(p.text) && !pythonic.MatchString(p.text):
		return false
	}
	for _, name := range p.undefinedNames() {
		if pythonNames[name] {
			return true
		}
		for _, found := range assignment.FindAllStringSubmatch(p.masked, maxMatches) {
			if found[1] == name {
				return true
			}
		}
	}
	return false
}

// quote returns the beginning of a text on one line.
func quote(text string, max int) string {
	text = strings.Join(strings.Fields(text), " ")
	if short := sandbox.ClipText(text, max); short != text {
		text = short
	}
	return fmt.Sprintf("%q", text)
}

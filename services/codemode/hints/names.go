package hints

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"mcpgateway/services/nearest"
	"mcpgateway/services/sandbox"
	"mcpgateway/services/typescript"
)

var (
	memberOf   = regexp.MustCompile(`^[A-Za-z_$][\w$]*\s*(?:(?:\?\.|\.)\s*([A-Za-z_$][\w$]*)|(?:\?\.)?\[\s*["'` + "`" + `]([^"'` + "`" + `]*)["'` + "`" + `]\s*\])`)
	callNames  = regexp.MustCompile(`^(?:call|use|invoke|execute|run)_?[tT]ools?$`)
	toolNamed  = regexp.MustCompile(`^[^()]*\(\s*["'` + "`" + `]([^"'` + "`" + `]+)["'` + "`" + `]`)
	hasDouble  = regexp.MustCompile(`\b([A-Za-z_$][\w$]*__[\w$]+)\s*\(`)
	prefixed   = regexp.MustCompile(`\b(tools|mcp)\s*(?:\?\.|\.)\s*([A-Za-z_$][\w$]*)`)
	destructed = regexp.MustCompile(`\{([^{}]*)\}\s*=\s*([A-Za-z_$][\w$]*)\s*(?:;|\n|$)`)
	prefix     = regexp.MustCompile(`^(?:tools|mcp|servers?|namespaces)$`)
	globals    = regexp.MustCompile(`\b(?:this|globalThis|window|self|global)\s*(?:\?\.|\.|\[)`)
	// builtin are methods of values, which no one takes for tools.
	builtin = regexp.MustCompile(`^(?:map|filter|forEach|find|findIndex|some|every|reduce|push|pop|shift|join|slice|splice|sort|concat|includes|indexOf|flat|flatMap|at|keys|values|entries|` +
		`split|trim|replace|replaceAll|match|startsWith|endsWith|toLowerCase|toUpperCase|toString|toFixed|then|catch|finally|get|set|has|add|next|test|exec|parse|stringify)$`)
	noFunction = regexp.MustCompile(`not a function`)
	noMember   = regexp.MustCompile(`not a function|cannot read property`)
)

// names adds hints for servers and tools that the code named wrongly.
func (p *program) names() {
	for _, name := range p.undefinedNames() {
		p.undefinedServer(name)
	}
	p.prefixes()
	p.unknownTools()
	p.unknownMethods()
	p.unknownReceipts()
}

// undefinedServer adds the hint for an undefined name that was used like a server
// or a function that calls tools.
func (p *program) undefinedServer(name string) {
	rest := p.at(name)
	if p.named || rest == "" {
		return
	}
	offset := len(p.masked) - len(rest)
	text := p.text[offset:]
	named := func(format string, args ...any) {
		p.named = true
		p.add(fmt.Sprintf(format, args...))
	}
	if callNames.MatchString(name) {
		named("%s", p.formOf(text))
		return
	}
	if tool, known := p.catalog.full(name); known && strings.HasPrefix(strings.TrimLeft(rest[len(name):], " ?."), "(") {
		named("%s", p.catalog.form(tool, true))
		return
	}
	// A hyphen makes slack-bot.x a subtraction.
	if whole := hyphened(rest); whole != name {
		if alias, _ := p.catalog.alias(whole); alias != "" {
			named("there is no server %s; its name in code is %s", whole, typescript.Identifier(alias))
			return
		}
	}
	if alias, _ := p.catalog.alias(name); alias != "" {
		named("there is no server %s; its name in code is %s", name, typescript.Identifier(alias))
		return
	}
	after := strings.TrimLeft(rest[len(name):], " \t\r\n")
	if prefix.MatchString(name) && !strings.HasPrefix(after, ".") && !strings.HasPrefix(after, "[") { // const { github } = servers
		named("there is no %s; %s", name, p.catalog.form(p.mentioned(), len(p.tools) > 0))
		return
	}
	if after == "" || strings.IndexByte(".[(?", after[0]) < 0 {
		return
	}
	if tool, known := p.target(text); known {
		named("there is no %s; %s", name, p.catalog.form(tool, true))
		return
	}
	if after[0] == '(' {
		if tool, known := p.catalog.near("", name); known {
			named("there is no function %s; %s", name, p.catalog.form(tool, true))
		}
		return
	}
	member := memberOf.FindStringSubmatch(text)
	if member == nil || builtin.MatchString(member[1]) || !strings.HasPrefix(strings.TrimLeft(text[len(member[0]):], " \t\r\n?."), "(") {
		return // a variable
	}
	near := ""
	if n := nearest.Name(name, p.catalog.aliases); n != "" {
		near = ", did you mean " + typescript.Identifier(n) + "?"
	}
	tool, known := p.catalog.near("", member[1]+member[2])
	named("there is no server %s%s; %s", name, strings.TrimSuffix(near, ";"), p.catalog.form(tool, known))
}

// mentioned returns the first tool of the first server that the code names, or
// the first tool of all.
func (p *program) mentioned() Tool {
	for i, ident := range p.catalog.idents {
		if len(p.uses(ident)) > 0 {
			return p.tools[slices.IndexFunc(p.tools, func(t Tool) bool { return t.Alias == p.catalog.aliases[i] })]
		}
	}
	if len(p.tools) == 0 {
		return Tool{}
	}
	return p.tools[0]
}

// hyphened returns the name at the beginning of code with the hyphens in it.
func hyphened(code string) string {
	end := 0
	for end < len(code) && (isWord(code[end]) || code[end] == '-' && end+1 < len(code) && isWord(code[end+1])) {
		end++
	}
	return code[:end]
}

// formOf returns how to write the call whose text is given: callTool("name").
func (p *program) formOf(text string) string {
	if found := toolNamed.FindStringSubmatch(text); found != nil {
		if tool, known := p.catalog.full(found[1]); known {
			return p.catalog.form(tool, true)
		}
		if tool, known := p.catalog.near("", found[1]); known {
			return p.catalog.form(tool, true)
		}
	}
	return p.catalog.form(Tool{}, false)
}

// target returns the tool meant by prefix.server.tool, prefix["server__tool"] or
// prefix.callTool("server__tool").
func (p *program) target(text string) (Tool, bool) {
	found := memberOf.FindStringSubmatch(text)
	if found == nil {
		return Tool{}, false
	}
	first, rest := found[1]+found[2], text[len(found[0]):]
	if prefix.MatchString(first) {
		return p.target("x" + rest)
	}
	if tool, known := p.catalog.full(first); known {
		return tool, true
	}
	if callNames.MatchString(first) || first == "call" || first == "tool" {
		if named := toolNamed.FindStringSubmatch("x" + rest); named != nil {
			if tool, known := p.catalog.full(named[1]); known {
				return tool, true
			}
			return p.catalog.near("", named[1])
		}
		if len(p.tools) > 0 {
			return p.tools[0], true
		}
	}
	if alias, _ := p.catalog.alias(first); alias != "" {
		if second := memberOf.FindStringSubmatch("x" + rest); second != nil {
			if tool, known := p.catalog.tool(alias, second[1]+second[2]); known {
				return tool, true
			}
			if tool, known := p.catalog.near(alias, second[1]+second[2]); known {
				return tool, true
			}
		}
		i := slices.IndexFunc(p.tools, func(t Tool) bool { return t.Alias == alias })
		return p.tools[i], true
	}
	return Tool{}, false
}

// prefixes adds hints for tools. and mcp. before a server, and for the full name
// of a tool called as a function, in code that caught the error.
func (p *program) prefixes() {
	if p.named {
		return
	}
	for _, at := range prefixed.FindAllStringIndex(p.masked, maxMatches) {
		name := p.word(at[0])
		if at[0] > 0 && p.masked[at[0]-1] == '.' || p.isBare(name) {
			continue
		}
		if alias, _ := p.catalog.alias(name); alias != "" {
			continue
		}
		if tool, known := p.target(p.text[at[0]:]); known {
			p.named = true
			p.add("there is no " + name + "; " + p.catalog.form(tool, true))
			return
		}
	}
	for _, at := range hasDouble.FindAllStringSubmatchIndex(p.masked, maxMatches) {
		name := p.masked[at[2]:at[3]]
		if at[0] > 0 && p.masked[at[0]-1] == '.' || p.isBare(name) {
			continue
		}
		if tool, known := p.catalog.full(name); known {
			p.named = true
			p.add(p.catalog.form(tool, true))
			return
		}
	}
}

// failedAs reports whether the run failed, or caught and showed an error, with a
// message that matches.
func (p *program) failedAs(message *regexp.Regexp) bool {
	if p.Error != nil && (p.Error.Phase == sandbox.PhaseTypecheck || message.MatchString(p.Error.Message)) {
		return true
	}
	return message.MatchString(p.Result) || slices.ContainsFunc(p.Logs, message.MatchString)
}

// unknownTools adds hints for calls of members that a server doesn't have.
func (p *program) unknownTools() {
	if !p.failedAs(noFunction) {
		return
	}
	for i, alias := range p.catalog.aliases {
		if len(p.found) >= Max {
			return
		}
		ident := p.catalog.idents[i]
		uses := p.uses(ident)
		for _, at := range uses[:min(len(uses), maxMatches)] {
			// const gh = github;
			if name := p.boundTo(at); name != "" && strings.IndexByte(";\n", (p.masked + "\n")[at+len(ident)]) >= 0 {
				uses = append(slices.Clone(p.uses(name)), uses...)
			}
		}
		for _, at := range uses[:min(len(uses), maxMatches)] {
			found := memberOf.FindStringSubmatch(p.text[at:])
			if strings.HasPrefix(strings.TrimLeft(p.masked[at+len(ident):], " "), "(") {
				p.named = true
				p.add(fmt.Sprintf("%s is a server, not a function; %s", ident, p.formOf(p.text[at:])))
			}
			if found == nil {
				continue
			}
			rest := strings.TrimLeft(p.masked[at+len(found[0]):], " \t\r\n")
			if name := found[1] + found[2]; strings.HasPrefix(rest, "(") || found[2] != "" {
				p.unknownTool(alias, name)
			}
		}
	}
	for _, found := range destructed.FindAllStringSubmatch(p.masked, maxMatches) {
		alias, exact := p.catalog.alias(found[2])
		if !exact {
			continue
		}
		for name := range strings.SplitSeq(found[1], ",") {
			name, _, _ = strings.Cut(name, ":")
			p.unknownTool(alias, strings.TrimSpace(name))
		}
	}
}

// unknownMethods adds hints for calls of members that gateway or the global
// object doesn't have.
func (p *program) unknownMethods() {
	if !p.failedAs(noMember) {
		return
	}
	for _, at := range globals.FindAllStringIndex(p.masked, maxMatches) {
		if tool, known := p.target(p.text[at[0]:]); known && (at[0] == 0 || p.masked[at[0]-1] != '.') {
			p.named = true
			p.add(p.catalog.form(tool, true))
			return
		}
	}
	uses := p.uses("gateway")
	for _, at := range uses[:min(len(uses), maxMatches)] {
		found := memberOf.FindStringSubmatch(p.text[at:])
		if found == nil {
			continue
		}
		if name := found[1]; callNames.MatchString(name) || name == "execute" || name == "tool" {
			p.named = true
			p.add(p.formOf(p.text[at:]))
		} else if tool, known := p.target(p.text[at:]); known && name != "call" {
			p.named = true
			p.add(p.catalog.form(tool, true))
		}
	}
}

// unknownTool adds the hint for a tool that a server doesn't have.
func (p *program) unknownTool(alias, name string) {
	if _, known := p.catalog.tool(alias, name); known || name == "" {
		return
	}
	p.named = true
	p.add(p.noTool(alias, name))
}

func (p *program) noTool(alias, name string) string {
	ident := typescript.Identifier(alias)
	if tool, known := p.catalog.near(alias, name); known {
		return fmt.Sprintf("%s has no tool %s; did you mean %s?", ident, name, member(tool))
	}
	var names []string
	for _, t := range p.tools {
		if t.Alias == alias {
			names = append(names, t.Name)
		}
	}
	more := ""
	if len(names) > maxServers {
		names, more = names[:maxServers], ", …"
	}
	return fmt.Sprintf("%s has no tool %s; its tools: %s%s", ident, name, strings.Join(names, ", "), more)
}

// unknownReceipts adds hints for gateway.call with a name that no tool has, if
// its failure ended the run or nothing checked it.
func (p *program) unknownReceipts() {
	for i, c := range p.calls {
		if c.Error == "" || len(p.found) >= Max || c.Tool == "fetch" || strings.HasPrefix(c.Tool, "gateway_") || strings.HasPrefix(c.Tool, "gateway.") || slices.ContainsFunc(p.tools, func(t Tool) bool { return t.Full == c.Tool }) {
			continue
		}
		if p.Error == nil && !p.isIgnored(i) {
			continue
		}
		alias, name, split := strings.Cut(c.Tool, "__")
		if known, _ := p.catalog.alias(alias); split && known != "" {
			p.named = true
			if _, exists := p.catalog.tool(known, name); !exists || known == alias {
				p.add(p.noTool(known, name))
				continue
			}
		}
		p.named = true
		if tool, near := p.catalog.full(c.Tool); near {
			p.add(fmt.Sprintf("there is no tool %s; did you mean %s?", c.Tool, tool.Full))
			continue
		}
		tool, near := p.catalog.near("", name)
		p.add(fmt.Sprintf("there is no tool %s; %s", c.Tool, p.catalog.form(tool, near)))
	}
}

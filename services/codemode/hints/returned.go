package hints

import (
	"regexp"
	"strings"

	"mcpgateway/services/codemode/blocks"
)

var (
	returnValue = regexp.MustCompile(`\breturn\b`)
	declaration = regexp.MustCompile(`^(?:const|let|var|function|async function|class|for|while|do|if|switch|try|type|interface|enum)\b`)
	// onPurpose is a last expression that is undefined.
	onPurpose = regexp.MustCompile(`(?:\bundefined|\bvoid\s+\S+)[\s;)]*$`)
	functions = regexp.MustCompile(`\bfunction\b[^{}]*\)\s*:[^{}=]*$`)
	mainCall  = regexp.MustCompile(`\b(?:main|run)\s*\(`)
	control   = map[string]bool{"if": true, "for": true, "while": true, "switch": true, "catch": true, "with": true}
)

// returned adds the hint for code that ends without a value: neither a return
// nor its last expression gave one. It also adds the hint for a content block
// inside of another value.
func (p *program) returned() {
	if p.Error == nil && blocks.HasHandle(p.Result) {
		p.add("the result has the data of a content block inside, which isn't shown there; return the block itself, or an array of texts and blocks")
	}
	if p.Error != nil || p.Seen == nil || p.Seen.Returned || p.hasReturn() {
		return
	}
	if onPurpose.MatchString(p.masked) {
		return
	}
	if len(p.Logs) > 0 && !p.endsInDeclaration() {
		return // its last expression was a line of the console
	}
	p.add("the code returned nothing: end with `return …`")
}

// hasReturn reports whether the code has a return that ends the run: one outside
// of inner functions. The only function of code that is one counts as outside.
func (p *program) hasReturn() bool {
	var depths []bool // for each open brace: whether it starts a function
	least := -1
	functions := 0
	for i := 0; i < len(p.masked); i++ {
		switch c := p.masked[i]; {
		case c == '{':
			isFunction := p.startsFunction(i)
			depths = append(depths, isFunction)
			if isFunction {
				functions++
			}
		case c == '}' && len(depths) > 0:
			if depths[len(depths)-1] {
				functions--
			}
			depths = depths[:len(depths)-1]
		case c == 'r' && (i == 0 || !isWord(p.masked[i-1]) && p.masked[i-1] != '.') && returnValue.FindStringIndex(p.masked[i:min(len(p.masked), i+7)]) != nil:
			if least < 0 || functions < least {
				least = functions
			}
		}
	}
	return least == 0 || least == 1 && p.isFunction()
}

// isFunction reports whether the code is a function, or declares its function.
func (p *program) isFunction() bool {
	code := strings.TrimSpace(p.masked)
	for _, start := range []string{"async", "function", "(", "export"} {
		if strings.HasPrefix(code, start) {
			return true
		}
	}
	return mainCall.MatchString(code)
}

// startsFunction reports whether the brace at an offset starts the body of a
// function.
func (p *program) startsFunction(brace int) bool {
	i := p.skipBack(brace)
	if i >= 2 && p.masked[i-2:i] == "=>" {
		return true
	}
	// A return type follows the parameters: (a): Promise<string> {
	if i > 0 && p.masked[i-1] != ')' {
		line := p.before(i)
		line = line[strings.LastIndexByte(line, '\n')+1:]
		return functions.MatchString(line)
	}
	if i == 0 {
		return false
	}
	open := p.open(i - 1)
	if open < 0 {
		return false
	}
	j := p.skipBack(open)
	return j > 0 && isWord(p.masked[j-1]) && !control[p.word(p.wordStart(j-1))]
}

// endsInDeclaration reports whether the last statement at the level of the code
// declares something.
func (p *program) endsInDeclaration() bool {
	code := strings.TrimRight(p.masked, " \t\r\n;}")
	lines := strings.Split(code, "\n")
	return declaration.MatchString(strings.TrimSpace(lines[len(lines)-1]))
}

package sandbox

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// program is submitted code in the form that the engine runs: one expression
// whose value is an async function without parameters.
type program struct {
	text string
	// back maps positions to the submitted code.
	back *sourceMap
	// wrapped is the number of lines before the submitted ones in the compiled
	// text. shifted is the number of columns by which a line of text was moved.
	wrapped int
	shifted map[int]int
	lines   int // of the submitted code
}

// compileError is a compile error. Line and column count from 1.
type compileError struct {
	message      string
	line, column int
}

const (
	// userLine is the first line of the compiled code. Stack frames in earlier
	// lines are those of the prelude, which is shorter.
	userLine = 1_000
	// wrapperPrefix is put before code that is a function body.
	wrapperPrefix = "async function $main() {\n"
	// NoModules is the message for code that imports modules.
	NoModules = "Imports are not supported. The tools are already constants of the program."
)

var (
	fence         = regexp.MustCompile("^\\s*```[ \t]*[A-Za-z]*[ \t]*\r?\n")
	moduleWords   = regexp.MustCompile(`\b(?:export|import)\b`)
	moduleLine    = regexp.MustCompile(`(?m)^[ \t]*(?:export|import)\b`)
	defaultNamed  = regexp.MustCompile(`^export default (?:async )?(?:function\*?|class) ([\p{L}\p{N}_$]+)`)
	exportNamed   = regexp.MustCompile(`^export (?:async )?(?:function\*?|class|const|let|var) ([\p{L}\p{N}_$]+)`)
	exportClause  = regexp.MustCompile(`(?s)^export \{(.*?)\}( from)?`)
	functionNamed = regexp.MustCompile(`^(?:async )?function\*? ([\p{L}\p{N}_$]+)|^(?:const|let|var) ([\p{L}\p{N}_$]+) = (?:async )?(?:function\b|\(.*?\) =>|[\p{L}\p{N}_$]+ =>)`)
	labelled      = regexp.MustCompile(`^[\p{L}\p{N}_$]+:`)
	firstWord     = regexp.MustCompile(`^[a-z]+\b`)
)

// statementWords start statements that have no value.
const statementWords = " var let const if for while do switch try throw return break continue debugger with export class function using "

// compile compiles submitted TypeScript to a program, or returns the error.
// Accepted are the body of a function with await and return, an arrow or a
// function, a module that exports one, and each of these in a Markdown fence.
// Without a return statement the result is the value of the last expression.
func compile(code string) (*program, *compileError) {
	code = unfence(strings.TrimPrefix(code, "\ufeff"))
	var asModule *compileError
	if moduleWords.MatchString(code) {
		p, m := compileModule(code)
		if p != nil || m != nil && m.message == NoModules {
			return p, m
		}
		asModule = m
	}
	p, m := compileBody(code)
	if m != nil && asModule != nil && moduleLine.MatchString(code) {
		return nil, asModule
	}
	return p, m
}

// Check returns the first syntax error of submitted TypeScript with its place, or
// nil. It runs nothing.
func Check(code string) error {
	if _, err := compile(code); err != nil {
		return fmt.Errorf("line %d, column %d: %s", err.line, err.column, err.message)
	}
	return nil
}

// unfence removes a Markdown fence around the whole code. Line numbers don't
// change.
func unfence(code string) string {
	open := fence.FindString(code)
	trimmed := strings.TrimRight(code, " \t\r\n")
	if open == "" || !strings.HasSuffix(trimmed, "```") || len(trimmed) < len(open)+3 {
		return code
	}
	return strings.Repeat("\n", strings.Count(open, "\n")) + trimmed[len(open):len(trimmed)-3]
}

// AsModule returns submitted code as a TypeScript module for the compiler, and
// the number of lines that it puts before the code.
func AsModule(code string) (module string, before int) {
	code = unfence(strings.TrimPrefix(code, "\ufeff"))
	if moduleLine.MatchString(code) {
		return code, 0
	}
	return "export {};" + wrapperPrefix + code + "\n}\n", 1
}

// transform removes the types. In its output every statement is on its own
// line, indented by its depth, and no string or template contains a line break.
func transform(code string) (lines []string, back *sourceMap, m *compileError) {
	result := api.Transform(code, api.TransformOptions{
		Loader: api.LoaderTS, Target: api.ES2023, Supported: map[string]bool{"template-literal": false, "top-level-await": true},
		LegalComments: api.LegalCommentsNone, Sourcemap: api.SourceMapExternal, SourcesContent: api.SourcesContentExclude,
		TsconfigRaw: `{"compilerOptions":{"verbatimModuleSyntax":true,"target":"ES2023","useDefineForClassFields":true}}`,
	})
	if len(result.Errors) > 0 {
		m = &compileError{message: result.Errors[0].Text, line: 1, column: 1}
		if at := result.Errors[0].Location; at != nil {
			m.line, m.column = at.Line, at.Column+1
		}
		return nil, nil, m
	}
	back, err := parseSourceMap(result.Map)
	if err != nil {
		return nil, nil, &compileError{message: err.Error(), line: 1, column: 1}
	}
	return strings.Split(strings.TrimRight(string(result.Code), "\n"), "\n"), back, nil
}

// compileBody compiles code that is a function body.
func compileBody(code string) (*program, *compileError) {
	total := strings.Count(code, "\n") + 1
	lines, back, m := transform(wrapperPrefix + code + "\n}")
	if m != nil {
		m.line--
		if m.line > total || m.line < 1 {
			m.message, m.line, m.column = "Unexpected end of code: something is not closed", total, 1
		}
		return nil, m
	}
	begin := slices.Index(lines, strings.TrimSpace(wrapperPrefix))
	if begin < 0 && slices.Contains(lines, "async function $main() {}") { // empty body
		return &program{text: "(async function () {})", back: back, wrapped: 1, lines: total}, nil
	}
	end := len(lines) - 1
	for i := begin + 1; i <= end; i++ {
		if begin < 0 || i < end && lines[i] != "" && lines[i][0] != ' ' || i == end && lines[i] != "}" {
			return nil, &compileError{message: "Unexpected closing brace", line: max(1, min(total, firstLine(back, i)-1)), column: 1}
		}
	}
	p := &program{back: back, wrapped: 1, lines: total, shifted: map[int]int{}}
	lines[begin] = `(async function () {"use strict";`
	if tail := p.result(lines[begin+1:end], begin+1, "  "); tail != "" {
		lines[end] = tail + "\n})"
	} else {
		lines[end] = "})"
	}
	p.text = strings.Join(lines, "\n")
	return p, nil
}

// firstLine returns the first source line, from 1, that was compiled to the
// line generated.
func firstLine(back *sourceMap, generated int) int {
	line, _ := back.find(generated, 0)
	return line + 1
}

// result changes the program to return the value of its last expression. If the
// program is only function declarations, it returns a line to append that
// returns the main function.
func (p *program) result(body []string, offset int, indent string) string {
	var statements []int
	for i, line := range body {
		rest, found := strings.CutPrefix(line, indent)
		if found && rest != "" && !strings.ContainsRune(" })]", rune(rest[0])) && firstWord.FindString(rest) != "else" {
			statements = append(statements, i)
		}
	}
	if len(statements) == 0 {
		return ""
	}
	last := statements[len(statements)-1]
	if isExpression(strings.TrimPrefix(body[last], indent)) {
		body[last] = indent + "return " + strings.TrimPrefix(body[last], indent)
		p.shifted[offset+last] = len("return ")
		return ""
	}
	main := ""
	for _, i := range statements {
		found := functionNamed.FindStringSubmatch(strings.TrimPrefix(body[i], indent))
		if found == nil {
			return ""
		}
		if name := found[1] + found[2]; main != "main" && main != "run" {
			main = name
		}
	}
	return "return " + main + ";"
}

func isExpression(statement string) bool {
	word := firstWord.FindString(statement)
	switch {
	case word == "import":
		return strings.HasPrefix(statement, "import(")
	case word != "" && strings.Contains(statementWords, " "+word+" "), strings.HasPrefix(statement, "async function"):
		return false
	}
	return statement[0] != '{' && statement[0] != ';' && statement[0] != '@' && !labelled.MatchString(statement)
}

// compileModule compiles code that exports its function. For code without
// exports it returns neither a program nor an error.
func compileModule(code string) (*program, *compileError) {
	lines, back, m := transform(code)
	if m != nil {
		return nil, m
	}
	p := &program{back: back, lines: strings.Count(code, "\n") + 1, shifted: map[int]int{}}
	main, exports := "", false
	for i, line := range lines {
		switch {
		case strings.HasPrefix(line, "import ") || strings.HasPrefix(line, `import"`) || strings.HasPrefix(line, "import{"), strings.HasPrefix(line, "export *"):
			at, column := back.find(i, 0)
			return nil, &compileError{message: NoModules, line: at + 1, column: column + 1}
		case strings.HasPrefix(line, "export {"):
			exports = true
			clause := exportClause.FindStringSubmatch(strings.Join(lines[i:], "\n"))
			if clause == nil || clause[2] != "" {
				at, column := back.find(i, 0)
				return nil, &compileError{message: NoModules, line: at + 1, column: column + 1}
			}
			main = exportedMain(main, clause[1])
			for j := range strings.Count(clause[0], "\n") + 1 {
				lines[i+j] = ""
			}
		case strings.HasPrefix(line, "export default "):
			exports = true
			if named := defaultNamed.FindStringSubmatch(line); named != nil {
				main = named[1]
				p.cut(lines, i, "export default ", "")
			} else {
				main = "$default"
				p.cut(lines, i, "export default ", "const $default = ")
			}
		case strings.HasPrefix(line, "export "):
			exports = true
			if named := exportNamed.FindStringSubmatch(line); named != nil && main != "$default" {
				main = named[1]
			}
			p.cut(lines, i, "export ", "")
		}
	}
	if !exports {
		return nil, nil
	}
	p.shifted[-1] = 0
	tail := "})"
	if main != "" {
		tail = "return " + main + ";\n})"
	}
	p.text = `(async function () {"use strict";` + "\n" + strings.Join(lines, "\n") + "\n" + tail
	p.wrapped = 0
	p.moveDown()
	return p, nil
}

// exportedMain returns the local name of the default export of an export
// clause, or else of its last export.
func exportedMain(main, clause string) string {
	for part := range strings.SplitSeq(clause, ",") {
		local, as, renamed := strings.Cut(strings.TrimSpace(part), " as ")
		if local == "" {
			continue
		}
		main = local
		if renamed && as == "default" {
			return local
		}
	}
	return main
}

// cut replaces the beginning of a line.
func (p *program) cut(lines []string, i int, old, by string) {
	lines[i] = by + strings.TrimPrefix(lines[i], old)
	p.shifted[i] = len(by) - len(old)
}

// moveDown adds one line before the compiled lines.
func (p *program) moveDown() {
	moved := map[int]int{}
	for line, by := range p.shifted {
		moved[line+1] = by
	}
	p.shifted = moved
	p.back.down = 1
}

// place returns the position in the submitted code of a compiled line and
// column. All count from 1; line counts from the program's first line. ok is
// false for lines that the compiler added.
func (p *program) place(line, column int) (atLine, atColumn int, ok bool) {
	l, c := p.back.find(line-1, max(0, column-1-p.shifted[line-1]))
	l -= p.wrapped
	if l < 0 || l >= p.lines {
		return 0, 0, false
	}
	return l + 1, c + 1, true
}

func (m *compileError) String() string { return fmt.Sprintf("%s (line %d)", m.message, m.line) }

package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// Scopes of a part.
const (
	comment = 'c'
	doc     = 'd' // the beginning of a comment block
	text    = 's' // string literals and the text of pages
	prose   = 'r' // Markdown
	name    = 'n' // names of package-level declarations, fields and methods
	subject = 'm' // first line of a commit message
)

// part is a piece of a file to which rules apply.
type part struct {
	line  int // first line
	scope byte
	text  string
}

// extract returns the parts of a file.
type extract func(file string, source []byte) ([]part, error)

// extractor returns the function that reads files of this type, nil when the
// type is not checked.
func extractor(file string) extract {
	base := filepath.Base(file)
	switch filepath.Ext(base) {
	case ".go":
		if strings.HasSuffix(base, "_templ.go") {
			return nil
		}
		return goParts
	case ".templ":
		return templParts
	case ".md":
		return markdownParts
	case ".sql":
		return commentsAfter(`\s*--`)
	case ".js", ".mjs", ".ts":
		if strings.HasSuffix(base, ".min.js") {
			return nil
		}
		return commentsAfter(`\s*(//|/?\*+)`)
	case ".css":
		return commentsAfter(`\s*/?\*+`)
	case ".sh", ".yml", ".yaml":
		return commentsAfter(`\s*#`)
	}
	switch {
	case base == "Makefile", base == "Dockerfile", filepath.Base(filepath.Dir(file)) == ".ci":
		return commentsAfter(`\s*#`)
	case base == "COMMIT_EDITMSG":
		return commitParts
	}
	return nil
}

var directive = regexp.MustCompile(`^//(go:|nolint|lint:|line )`)

func goParts(file string, source []byte) ([]part, error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	if ast.IsGenerated(parsed) {
		return nil, nil
	}
	var parts []part
	for _, group := range parsed.Comments {
		if directive.MatchString(group.List[0].Text) {
			continue
		}
		line, block := set.Position(group.Pos()).Line, commentText(group)
		parts = append(parts, part{line, comment, block}, part{line, doc, block})
	}
	test := strings.HasSuffix(file, "_test.go")
	ast.Inspect(parsed, func(n ast.Node) bool {
		if _, ok := n.(*ast.ImportSpec); ok {
			return false
		}
		if lit, ok := n.(*ast.BasicLit); ok && !test {
			if value, ok := sentence(lit); ok {
				parts = append(parts, part{set.Position(lit.Pos()).Line, text, value})
			}
		}
		return true
	})
	for _, decl := range parsed.Decls {
		ast.Inspect(decl, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				parts = append(parts, declared(set, n.Name)...)
				return false
			case *ast.FuncType, *ast.FuncLit:
				return false
			case *ast.TypeSpec:
				parts = append(parts, declared(set, n.Name)...)
			case *ast.ValueSpec:
				parts = append(parts, declared(set, n.Names...)...)
			case *ast.Field:
				parts = append(parts, declared(set, n.Names...)...)
			}
			return true
		})
	}
	return parts, nil
}

// commentText returns the comment's lines without their marks, one per line
// of the source.
func commentText(group *ast.CommentGroup) string {
	lines := make([]string, len(group.List))
	for i, c := range group.List {
		lines[i] = strings.TrimSpace(strings.TrimSuffix(c.Text[2:], "*/"))
	}
	return strings.Join(lines, "\n")
}

// sentence returns the value of a string literal of more than one word.
func sentence(lit *ast.BasicLit) (string, bool) {
	if lit.Kind != token.STRING {
		return "", false
	}
	if strings.HasPrefix(lit.Value, "`") {
		value := strings.Trim(lit.Value, "`") // keeps the line breaks of the source
		return value, strings.Contains(strings.TrimSpace(value), " ")
	}
	value, err := strconv.Unquote(lit.Value)
	value = strings.ReplaceAll(value, "\n", " ")
	return value, err == nil && strings.Contains(strings.TrimSpace(value), " ")
}

func declared(set *token.FileSet, names ...*ast.Ident) []part {
	var parts []part
	for _, n := range names {
		parts = append(parts, part{set.Position(n.Pos()).Line, name, n.Name})
	}
	return parts
}

var (
	templQuoted = regexp.MustCompile(`"([^"\n]*)"`)
	templCode   = regexp.MustCompile(`\{[^{}]*\}|"[^"]*"`)
	templTag    = regexp.MustCompile(`<[^>]*>?|^[^<]*>`)
	templGo     = regexp.MustCompile(`^(templ|func|import|package|type|var|const|if|for|switch|case|return|[@}{)\]])|:=|\w\(`)
)

// templParts returns the comments, string literals and visible text of a
// templ file, line by line.
func templParts(_ string, source []byte) ([]part, error) {
	var parts []part
	for i, raw := range strings.Split(string(source), "\n") {
		line, bare := i+1, strings.TrimSpace(raw)
		if after, ok := strings.CutPrefix(bare, "//"); ok {
			parts = append(parts, part{line, comment, after})
			continue
		}
		for _, m := range templQuoted.FindAllStringSubmatch(raw, -1) {
			parts = append(parts, part{line, text, m[1]})
		}
		bare = templCode.ReplaceAllString(bare, " ")
		if strings.Contains(bare, "<") || strings.HasSuffix(bare, ">") {
			bare = templTag.ReplaceAllString(bare, " ")
		}
		if !templGo.MatchString(bare) {
			parts = append(parts, part{line, text, bare})
		}
	}
	return parts, nil
}

var markdownCode = regexp.MustCompile("`[^`]*`|\\]\\([^)]*\\)")

// markdownParts returns the lines of a Markdown file that are neither code
// nor addresses.
func markdownParts(_ string, source []byte) ([]part, error) {
	var parts []part
	fenced := false
	for i, raw := range strings.Split(string(source), "\n") {
		switch {
		case strings.HasPrefix(strings.TrimSpace(raw), "```"):
			fenced = !fenced
		case !fenced && !strings.HasPrefix(raw, "    "):
			parts = append(parts, part{i + 1, prose, markdownCode.ReplaceAllString(raw, " ")})
		}
	}
	return parts, nil
}

// commitParts returns the subject and the lines of a commit message.
func commitParts(_ string, source []byte) ([]part, error) {
	var parts []part
	for i, line := range strings.Split(string(source), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		if len(parts) == 0 {
			parts = append(parts, part{i + 1, subject, line})
		}
		parts = append(parts, part{i + 1, prose, line})
	}
	return parts, nil
}

// commentsAfter returns an extractor of lines that begin with a comment mark.
// The lines of one comment are one part.
func commentsAfter(mark string) extract {
	marked := regexp.MustCompile("^" + mark)
	return func(_ string, source []byte) ([]part, error) {
		var parts []part
		last := -1
		for i, raw := range bytes.Split(source, []byte("\n")) {
			at := marked.FindIndex(raw)
			switch {
			case at == nil:
				continue
			case last == i-1 && len(parts) > 0:
				parts[len(parts)-1].text += "\n" + string(raw[at[1]:])
			default:
				parts = append(parts, part{i + 1, comment, string(raw[at[1]:])})
			}
			last = i
		}
		return parts, nil
	}
}

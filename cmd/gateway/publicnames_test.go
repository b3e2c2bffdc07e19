package main_test

import (
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var updateNames = flag.Bool("update", false, "rewrite testdata/names.txt")

// TestPublicNames compares the names that clients, scripts, dashboards and
// configurations depend on with testdata/names.txt: error and warning codes,
// metrics with their labels, audit actions, events, settings, commands with their
// flags, built-in tools, and the operations of the API.
//
// It reads the names from the source, not from identifiers, so that it allows
// renaming of Go identifiers.
func TestPublicNames(t *testing.T) {
	var names []string
	for _, p := range parseProduct(t) {
		names = append(names, p.codes()...)
		names = append(names, p.metrics()...)
		names = append(names, p.actions()...)
		names = append(names, p.settings()...)
		names = append(names, p.commands()...)
		names = append(names, p.builtinTools()...)
	}
	names = append(names, apiOperations(t)...)
	slices.Sort(names)
	names = slices.Compact(names)
	file := filepath.Join("testdata", "names.txt")
	if *updateNames {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(strings.Join(names, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(strings.TrimSuffix(string(golden), "\n"), "\n"), names); diff != "" {
		t.Errorf("Public names differ from %s (-want +got). They are a contract: users' clients, scripts, dashboards and settings depend on them. "+
			"Restore the names, or describe the change in CHANGELOG.md and run: go test ./cmd/gateway -run TestPublicNames -update\n%s", file, diff)
	}
}

// sources are the files of a package without its tests.
type sources struct {
	room  string // path in the module
	files []*ast.File
}

// parseProduct parses the packages of the gateway, without tests and test kits.
func parseProduct(t *testing.T) []*sources {
	t.Helper()
	root, set := moduleRoot(t), token.NewFileSet()
	rooms := map[string]*sources{}
	for _, top := range []string{"services", "routes", "web", "cmd/gateway"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			relative, err := filepath.Rel(root, filepath.Dir(path))
			if err != nil {
				return err
			}
			room := filepath.ToSlash(relative)
			file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
			if err != nil || isTestKit(room) {
				return err
			}
			if rooms[room] == nil {
				rooms[room] = &sources{room: room}
			}
			rooms[room].files = append(rooms[room].files, file)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	all := make([]*sources, 0, len(rooms))
	for _, p := range rooms {
		all = append(all, p)
	}
	if rooms["services/fault"] == nil || rooms["cmd/gateway"] == nil {
		t.Fatalf("services/fault or cmd/gateway not found among %d packages", len(all))
	}
	return all
}

// inspect calls visit for every node of the package.
func (p *sources) inspect(visit func(ast.Node)) {
	for _, file := range p.files {
		ast.Inspect(file, func(n ast.Node) bool {
			visit(n)
			return true
		})
	}
}

// stringConstants returns the values of the package's string constants that
// match a pattern.
func (p *sources) stringConstants(pattern *regexp.Regexp) []string {
	var values []string
	p.inspect(func(n ast.Node) {
		decl, ok := n.(*ast.GenDecl)
		if !ok || decl.Tok != token.CONST {
			return
		}
		for _, spec := range decl.Specs {
			for _, value := range spec.(*ast.ValueSpec).Values {
				if text, ok := literal(value); ok && pattern.MatchString(text) {
					values = append(values, text)
				}
			}
		}
	})
	return values
}

// literal returns the value of a string literal.
func literal(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	value, err := strconv.Unquote(lit.Value)
	return value, err == nil
}

func prefixed(prefix string, values []string) []string {
	lines := make([]string, len(values))
	for i, value := range values {
		lines[i] = prefix + value
	}
	return lines
}

var (
	anyCode  = regexp.MustCompile(`^[A-Z]+(_[A-Z]+)*$`)
	longCode = regexp.MustCompile(`^[A-Z]+(_[A-Z]+)+$`)
)

// codes returns the error codes of services/fault, and the other codes of
// errors and warnings, which consist of several words.
func (p *sources) codes() []string {
	if p.room == "services/fault" {
		return prefixed("code ", p.stringConstants(anyCode))
	}
	codes := p.stringConstants(longCode)
	return prefixed("code ", slices.DeleteFunc(codes, func(code string) bool { return strings.HasPrefix(code, "GATEWAY_") }))
}

var (
	metricName = regexp.MustCompile(`^[a-z]+(_[a-z]+)+$`)
	metricHelp = regexp.MustCompile(`^[A-Z0-9].* .*\.$`)
)

// metrics returns the metrics with their labels: the calls with a name, a help
// text and labels as literals.
func (p *sources) metrics() []string {
	if p.room != "services/metrics" {
		return nil
	}
	var metrics []string
	p.inspect(func(n ast.Node) {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) < 2 {
			return
		}
		var texts []string
		for _, arg := range call.Args {
			if text, ok := literal(arg); ok {
				texts = append(texts, text)
			}
		}
		if len(texts) == len(call.Args) && metricName.MatchString(texts[0]) && metricHelp.MatchString(texts[1]) {
			metrics = append(metrics, "metric gateway_"+texts[0]+"{"+strings.Join(texts[2:], ",")+"}")
		}
	})
	return metrics
}

var (
	// actionName matches a noun and a past participle, or an overage.
	eventName    = regexp.MustCompile(`^[a-z]+\.[a-z_]+$`)
	actionName   = regexp.MustCompile(`^[a-z]+\.([a-z]+_)*[a-z]*(ed|en|wn|overage)(_all)?$`)
	actionPrefix = regexp.MustCompile(`^[a-z]+\.$`)
)

// actions returns the audit actions: literals, and concatenations of a literal
// with a value of a map in the package or with a parameter of the function.
func (p *sources) actions() []string {
	if !strings.HasPrefix(p.room, "services") {
		return nil
	}
	if p.room == "services/outbox" {
		return prefixed("event ", p.stringConstants(eventName))
	}
	var actions []string
	for _, file := range p.files {
		for _, decl := range file.Decls {
			function, _ := decl.(*ast.FuncDecl)
			ast.Inspect(decl, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok {
					if text, _ := literal(lit); actionName.MatchString(text) {
						actions = append(actions, text)
					}
				}
				sum, ok := n.(*ast.BinaryExpr)
				if !ok || function == nil {
					return true
				}
				if prefix, _ := literal(sum.X); actionPrefix.MatchString(prefix) {
					for _, rest := range p.values(function, sum.Y) {
						if name := prefix + rest; actionName.MatchString(name) || strings.HasPrefix(name, "connection.") {
							actions = append(actions, name)
						}
					}
				}
				return true
			})
		}
	}
	return prefixed("action ", actions)
}

// values returns the possible strings of an expression in a function: the
// values of a map literal in the package, or the literals passed as a parameter
// by the package's calls.
func (p *sources) values(function *ast.FuncDecl, e ast.Expr) []string {
	var values []string
	switch e := e.(type) {
	case *ast.IndexExpr:
		name, ok := e.X.(*ast.Ident)
		if !ok {
			return nil
		}
		p.inspect(func(n ast.Node) {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || spec.Names[0].Name != name.Name || len(spec.Values) != 1 {
				return
			}
			if table, ok := spec.Values[0].(*ast.CompositeLit); ok {
				for _, element := range table.Elts {
					if pair, ok := element.(*ast.KeyValueExpr); ok {
						if text, ok := literal(pair.Value); ok {
							values = append(values, text)
						}
					}
				}
			}
		})
	case *ast.Ident:
		index := parameterIndex(function, e.Name)
		p.inspect(func(n ast.Node) {
			call, ok := n.(*ast.CallExpr)
			if !ok || index < 0 || index >= len(call.Args) || calledName(call) != function.Name.Name {
				return
			}
			if text, ok := literal(call.Args[index]); ok {
				values = append(values, text)
			}
		})
	}
	return values
}

// parameterIndex returns the index of a parameter, or -1.
func parameterIndex(function *ast.FuncDecl, name string) int {
	i := 0
	for _, field := range function.Type.Params.List {
		for _, n := range field.Names {
			if n.Name == name {
				return i
			}
			i++
		}
	}
	return -1
}

// calledName returns the name of the called function or method.
func calledName(call *ast.CallExpr) string {
	if ident, ok := call.Fun.(*ast.Ident); ok {
		return ident.Name
	}
	return selected(call.Fun)
}

// tracingSetting matches the standard variables, which are not read by tags.
var tracingSetting = regexp.MustCompile(`^OTEL(_[A-Z]+)+$`)

// settings returns the environment variables of services/config.
func (p *sources) settings() []string {
	if p.room != "services/config" {
		return nil
	}
	var settings []string
	p.inspect(func(n ast.Node) {
		switch n := n.(type) {
		case *ast.Field:
			if n.Tag != nil {
				if tag, err := strconv.Unquote(n.Tag.Value); err == nil && reflect.StructTag(tag).Get("env") != "" {
					settings = append(settings, reflect.StructTag(tag).Get("env"))
				}
			}
		case *ast.BasicLit:
			if text, _ := literal(n); tracingSetting.MatchString(text) {
				settings = append(settings, text)
			}
		}
	})
	return prefixed("setting ", settings)
}

var (
	commandName = regexp.MustCompile(`^[a-z]+([ -][a-z]+)*$`)
	flagName    = regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
	flagTypes   = []string{"String", "Bool", "Duration", "Int"}
)

// commands returns the commands and their flags. A function that defines flags
// is a command if it creates its flag set with the command's name. Otherwise it
// adds its flags to the flag sets that it receives.
func (p *sources) commands() []string {
	if p.room != "cmd/gateway" {
		return nil
	}
	var lines []string
	shared := map[string][]string{} // flags by function that receives a flag set
	type user struct{ command, function string }
	var users []user
	var verbs [][2]string // function and argument
	for _, file := range p.files {
		for _, decl := range file.Decls {
			function, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			command, flags, called := "", []string(nil), []string(nil)
			ast.Inspect(function, func(n ast.Node) bool {
				if pair, ok := n.(*ast.KeyValueExpr); ok && function.Name.Name == "commands" {
					if name, ok := literal(pair.Key); ok {
						lines = append(lines, "command "+name)
					}
				}
				if verb := comparedArgument(n); verb != "" {
					verbs = append(verbs, [2]string{function.Name.Name, verb})
				}
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				called = append(called, calledName(call))
				if calledName(call) == "flags" && len(call.Args) == 2 {
					if name, _ := literal(call.Args[1]); commandName.MatchString(name) {
						command = name
					}
				}
				if len(call.Args) == 3 && slices.Contains(flagTypes, selected(call.Fun)) {
					if name, _ := literal(call.Args[0]); flagName.MatchString(name) {
						dashes := "--"[:min(len(name), 2)]
						flags = append(flags, dashes+name+" "+strings.ToLower(selected(call.Fun)))
					}
				}
				return true
			})
			if command == "" {
				shared[function.Name.Name] = flags
				continue
			}
			lines = append(lines, "command "+command)
			lines = append(lines, prefixed("command "+command+" ", flags)...)
			for _, name := range called {
				users = append(users, user{command, name})
			}
		}
	}
	for _, u := range users {
		lines = append(lines, prefixed("command "+u.command+" ", shared[u.function])...)
	}
	for _, v := range verbs {
		if slices.Contains(lines, "command "+v[0]) {
			lines = append(lines, "command "+v[0]+" "+v[1])
		}
	}
	return lines
}

// comparedArgument returns the literal that a command compares args[0] with, or
// "".
func comparedArgument(n ast.Node) string {
	if comparison, ok := n.(*ast.BinaryExpr); ok && (comparison.Op == token.EQL || comparison.Op == token.NEQ) {
		if index, ok := comparison.X.(*ast.IndexExpr); ok {
			if args, ok := index.X.(*ast.Ident); ok && args.Name == "args" {
				text, _ := literal(comparison.Y)
				return text
			}
		}
	}
	return ""
}

var toolName = regexp.MustCompile(`^gateway_[a-z]+([A-Z][a-z]+)+$`)

// builtinTools returns the names of the built-in tools.
func (p *sources) builtinTools() []string {
	return prefixed("tool ", p.stringConstants(toolName))
}

// apiOperations returns the methods and paths of the API description.
func apiOperations(t *testing.T) []string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(moduleRoot(t), "routes", "api", "openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	var description struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(raw, &description); err != nil {
		t.Fatal(err)
	}
	var operations []string
	for path, item := range description.Paths {
		for method := range item {
			if method != "parameters" {
				operations = append(operations, "api "+path+" "+strings.ToUpper(method))
			}
		}
	}
	return operations
}

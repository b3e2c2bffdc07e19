package main_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
)

// outboundNames are the functions that bypass the guard of services/egress, by
// import path.
func outboundNames() map[string][]string {
	return map[string][]string{
		"net/http":                    {"Get", "Head", "Post", "PostForm", "DefaultClient", "DefaultTransport"},
		"github.com/valyala/fasthttp": {"Get", "GetTimeout", "GetDeadline", "Post", "Do", "DoTimeout", "DoDeadline", "DoRedirects"},
		"github.com/gofiber/fiber/v2": {"Get", "Head", "Post", "Put", "Patch", "Delete", "AcquireClient", "AcquireAgent"},
	}
}

// outboundTypes are the clients that only services/egress may create, by import
// path. Parameters and fields that point to one are allowed.
func outboundTypes() map[string][]string {
	return map[string][]string{
		"net/http":                    {"Client", "Transport"},
		"github.com/valyala/fasthttp": {"Client", "HostClient", "LBClient", "PipelineClient"},
		"github.com/gofiber/fiber/v2": {"Client", "Agent"},
	}
}

// sourceBreaches returns a line for each forbidden call in a file of room:
// outbound clients outside services/egress, services/runners/wire, whose
// connections are not dialed, and services/runner/control, which dials a Unix
// socket; Fiber's Body and BodyParser, which
// inflate a compressed body beyond the size limit, and Fiber's IP and IPs. The
// rooms that handle requests of MCP clients must not look projects up.
func sourceBreaches(room, name string, source []byte) ([]string, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var breaches []string
	report := func(at ast.Node, what string) {
		breaches = append(breaches, files.Position(at.Pos()).String()+": "+what)
	}
	imported := importedNames(file)
	if !in("services/egress", "services/runners/wire", "services/runner/control", "cmd")(room) && !isTestKit(room) {
		outboundUses(file, imported, func(at ast.Node, what string) {
			report(at, what+" bypasses the egress guard; use a client of services/egress")
		})
	}
	if in("routes/mcp", "services/gateway")(room) {
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && (s.Sel.Name == "ProjectByID" || s.Sel.Name == "Directory") {
				report(s, s.Sel.Name+" has more than the caller may see; use the view of services/toolset/views")
			}
			return true
		})
	}
	if in("routes", "web")(room) {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			method, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if _, simple := method.X.(*ast.Ident); !simple {
				return true
			}
			if method.Sel.Name == "BodyParser" || method.Sel.Name == "Body" && len(call.Args) == 0 {
				report(call, method.Sel.Name+"() inflates compressed bodies past the limit; use BodyRaw")
			}
			if (method.Sel.Name == "IP" || method.Sel.Name == "IPs") && len(call.Args) == 0 {
				report(call, method.Sel.Name+"() ignores trusted proxies; use web.ClientIP")
			}
			return true
		})
	}
	return breaches, nil
}

// importedNames maps the name that a file uses for a package to its path.
func importedNames(file *ast.File) map[string]string {
	byDefault := map[string]string{
		"net/http":                    "http",
		"github.com/valyala/fasthttp": "fasthttp",
		"github.com/gofiber/fiber/v2": "fiber",
	}
	names := map[string]string{}
	for _, spec := range file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		if spec.Name != nil {
			names[spec.Name.Name] = path
		} else if name, known := byDefault[path]; known {
			names[name] = path
		}
	}
	return names
}

// outboundUses reports every use of outboundNames and every creation of a value
// of outboundTypes.
func outboundUses(file *ast.File, imported map[string]string, report func(at ast.Node, what string)) {
	member := func(e ast.Expr, of map[string][]string) (string, bool) {
		selector, ok := e.(*ast.SelectorExpr)
		if !ok {
			return "", false
		}
		pkg, ok := selector.X.(*ast.Ident)
		if !ok {
			return "", false
		}
		return pkg.Name + "." + selector.Sel.Name, slices.Contains(of[imported[pkg.Name]], selector.Sel.Name)
	}
	made := func(at ast.Node, kind ast.Expr) {
		if what, found := member(kind, outboundTypes()); found {
			report(at, "a new "+what)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if what, found := member(n, outboundNames()); found {
				report(n, what)
			}
		case *ast.CompositeLit:
			made(n, n.Type)
		case *ast.ValueSpec:
			made(n, n.Type)
		case *ast.CallExpr:
			if maker, ok := n.Fun.(*ast.Ident); ok && maker.Name == "new" && len(n.Args) == 1 {
				made(n, n.Args[0])
			}
		}
		return true
	})
}

func TestCallLaw(t *testing.T) {
	for _, p := range listPackages(t) {
		for _, name := range p.GoFiles {
			path := filepath.Join(p.Dir, name)
			source, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			breaches, err := sourceBreaches(p.room(), path, source)
			if err != nil {
				t.Fatal(err)
			}
			for _, breach := range breaches {
				t.Error(breach)
			}
		}
	}
}

func TestCallLawFindsBreaches(t *testing.T) {
	const (
		usesHTTP     = "package p\nimport \"net/http\"\n"
		usesFasthttp = "package p\nimport fh \"github.com/valyala/fasthttp\"\n"
		usesFiber    = "package p\nimport \"github.com/gofiber/fiber/v2\"\n"
	)
	cases := []struct {
		name, room, source string
		breaches           int
	}{
		{"convenience call", "services/catalog", usesHTTP + `var _, _ = http.Get("x")`, 1},
		{"shared client", "services/catalog", usesHTTP + `var c = http.DefaultClient`, 1},
		{"shared transport", "services/catalog", usesHTTP + `var c = http.DefaultTransport`, 1},
		{"pointer to a new client", "routes/mcp", usesHTTP + `func f() any { return &http.Client{} }`, 1},
		{"new of a client", "routes/mcp", usesHTTP + `func f() any { return new(http.Client) }`, 1},
		{"client variable", "web", usesHTTP + `func f() { var c http.Client; _ = c }`, 1},
		{"transport", "services/oauthclient", usesHTTP + `var c = http.Transport{}`, 1},
		{"client that was passed as parameter", "services/oauthclient", usesHTTP + `func f(c *http.Client) { _, _ = c.Get("x") }`, 0},
		{"server's request", "web", usesHTTP + `func f(r *http.Request) string { return http.StatusText(200) }`, 0},
		{"guard", "services/egress", usesHTTP + `var c = &http.Client{}`, 0},
		{"package named like it", "services/egressx", usesHTTP + `var c = &http.Client{}`, 1},
		{"command", "cmd/bench", usesHTTP + `var c = &http.Client{}`, 0},
		{"test kit", "services/upstream/upstreamtest", usesHTTP + `var c = &http.Client{}`, 0},
		{"another package called http", "services/catalog", "package p\nimport http \"example/http\"\nvar c = http.Client{}", 0},
		{"fasthttp under another name", "services/upstream", usesFasthttp + `var c = &fh.HostClient{}`, 1},
		{"fasthttp's shared client", "services/upstream", usesFasthttp + `func f() error { return fh.Do(nil, nil) }`, 1},
		{"fiber's client", "routes/api", usesFiber + `func f() any { return fiber.AcquireAgent() }`, 1},
		{"inflating body", "routes/mcp", usesFiber + `func f(c *fiber.Ctx) []byte { return c.Body() }`, 1},
		{"inflating body in web", "web", usesFiber + `func f(ctx *fiber.Ctx) []byte { return ctx.Body() }`, 1},
		{"inflating parser", "routes/admin", usesFiber + `func f(c *fiber.Ctx) error { return c.BodyParser(nil) }`, 1},
		{"peer's address", "routes/admin", usesFiber + `func f(c *fiber.Ctx) string { return c.IP() }`, 1},
		{"forwarded addresses", "web", usesFiber + `func f(c *fiber.Ctx) []string { return c.IPs() }`, 1},
		{"project of a directory", "services/gateway", "package p\nfunc f(x interface{ ProjectByID(string) any }) any { return x.ProjectByID(\"p\") }", 1},
		{"directory of projects", "routes/mcp", "package p\nimport \"example/toolset\"\ntype t struct{ all *toolset.Directory }", 1},
		{"directory in pages", "routes/admin", "package p\nimport \"example/toolset\"\ntype t struct{ all *toolset.Directory }", 0},
		{"raw body", "routes/mcp", usesFiber + `func f(c *fiber.Ctx) []byte { return c.BodyRaw() }`, 0},
		{"response's body field", "routes/mcp", usesHTTP + `func f(r *http.Response) any { return r.Body }`, 0},
		{"body elsewhere", "services/upstream", usesFasthttp + `func f(r *fh.Response) []byte { return r.Body() }`, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			found, err := sourceBreaches(c.room, "p.go", []byte(c.source))
			if err != nil {
				t.Fatal(err)
			}
			if len(found) != c.breaches {
				t.Errorf("found %d breaches, want %d: %q", len(found), c.breaches, found)
			}
		})
	}
}

package main_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "mcpgateway"

// goPackage is the output of `go list -json` for a package. Imports excludes the
// imports of tests, which are listed separately for internal and external tests.
type goPackage struct {
	ImportPath   string
	Name         string
	Dir          string
	Imports      []string
	TestImports  []string
	XTestImports []string
	GoFiles      []string
}

// room returns the package's path in the module, such as "services/egress". The
// module's root is "".
func (p goPackage) room() string {
	return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
}

// importLaw forbids imports in some packages. A room is the path of a package in
// the module.
type importLaw struct {
	rule    string
	tests   bool // applies to imports of tests instead of other files
	binds   func(room string) bool
	forbids func(target string) bool
}

// checkedImports returns the package's imports that the rule applies to.
func (l importLaw) checkedImports(p goPackage) []string {
	if l.tests {
		return slices.Concat(p.TestImports, p.XTestImports)
	}
	return p.Imports
}

// importLaws returns the rules. Test kits, the packages whose name ends in "test",
// are subject only to the rules about test kits: they run in tests and in the demo.
func importLaws() []importLaw {
	return []importLaw{
		{
			rule:    "only tests, test kits, the gateway's demo and the other commands may import a test kit",
			binds:   not(anyOf(in("cmd/gateway/demo", "cmd/mockmcp", "cmd/bench", "cmd/conformance"), isTestKit)),
			forbids: ours(isTestKit),
		},
		{
			rule:    "only the gateway, cmd/mockmcp, tests and test kits may import the demo",
			binds:   not(anyOf(in("cmd/gateway", "cmd/mockmcp"), isTestKit)),
			forbids: ours(in("cmd/gateway/demo")),
		},
		{
			rule:    "services must not import web frameworks, pages or routes",
			binds:   shipped(in("services")),
			forbids: anyOf(library("github.com/gofiber"), library("github.com/a-h/templ"), ours(in("web", "routes", "views", "static", "cmd"))),
		},
		{
			rule:    "services/background, services/fault and services/rawjson must not import packages of this module",
			binds:   shipped(in("services/background", "services/fault", "services/rawjson")),
			forbids: ours(anything),
		},
		{
			rule:    "leaf packages of services may import only leaf packages",
			binds:   shipped(in("services/page", "services/query", "services/secrets", "services/egress")),
			forbids: ours(not(in("services/background", "services/fault", "services/rawjson", "services/page", "services/query", "services/secrets", "services/egress", "services/certificates"))),
		},
		{
			rule:    "services/certificates must not import packages of this module",
			binds:   shipped(in("services/certificates")),
			forbids: ours(anything),
		},
		{
			rule:    "services/membudget may import only services/fault",
			binds:   shipped(in("services/membudget")),
			forbids: ours(not(in("services/fault"))),
		},
		{
			rule:    "services/locks may import only models and services/background",
			binds:   shipped(in("services/locks")),
			forbids: ours(not(in("models", "services/background"))),
		},
		{
			rule:    "services/declaration and services/catalog/sources must not use the database",
			binds:   shipped(in("services/declaration", "services/catalog/sources")),
			forbids: anyOf(isDatabase, ours(in("services/projects", "services/locks", "services/notify"))),
		},
		{
			rule:    "services/catalog/index may import only services/query",
			binds:   shipped(in("services/catalog/index")),
			forbids: ours(not(in("services/query"))),
		},
		{
			rule:    "services/upstream must not import the database, the change feed or projects",
			binds:   shipped(in("services/upstream")),
			forbids: anyOf(isDatabase, ours(not(in("models", "services/background", "services/capabilities", "services/egress", "services/fault", "services/rawjson", "services/redact", "services/schema", "services/secrets", "services/upstream")))),
		},
		{
			rule:  "services/upstream may import none of its subpackages except wire",
			binds: is("services/upstream"),
			forbids: ours(func(room string) bool {
				return in("services/upstream")(room) && room != "services/upstream/wire"
			}),
		},
		{
			rule:    "services/upstream/wire may import only services/fault and services/rawjson",
			binds:   shipped(in("services/upstream/wire")),
			forbids: ours(not(in("services/fault", "services/rawjson"))),
		},
		{
			rule:    "upstream transports must not import sessions or lists",
			binds:   shipped(in("services/upstream/transport", "services/upstream/admission")),
			forbids: ours(in("services/upstream/pool", "services/upstream/listing", "services/upstream/credentials")),
		},
		{
			rule:    "API keys, passwords and second factors must not import services/access",
			binds:   shipped(in("services/access/keys", "services/access/passwords", "services/access/factors")),
			forbids: ours(in("services/access")),
		},
		{
			rule:    "services/oauthclient/authserver must not import databases or other services except egress and secrets",
			binds:   shipped(in("services/oauthclient/authserver")),
			forbids: anyOf(isDatabase, ours(not(in("services/egress", "services/secrets")))),
		},
		{
			rule:    "services/gateway must not import subscriptions",
			binds:   is("services/gateway"),
			forbids: ours(in("services/gateway/subscriptions")),
		},
		{
			rule:    "models must not import other packages of this module",
			binds:   shipped(in("models")),
			forbids: ours(not(in("models"))),
		},
		{
			rule:    "migrations may import only models and services/fault",
			binds:   shipped(in("migrations")),
			forbids: ours(not(in("migrations", "models", "services/fault"))),
		},
		{
			rule:    "views contain props and markup and may import only views and models",
			binds:   shipped(in("views")),
			forbids: anyOf(isDatabase, ours(not(in("views", "models")))),
		},
		{
			rule:    "static must not import packages of this module",
			binds:   shipped(in("static")),
			forbids: ours(not(in("static"))),
		},
		{
			rule:    "web may import only views/ui, static, services/fault, services/rawjson and services/background",
			binds:   shipped(in("web")),
			forbids: anyOf(isDatabase, ours(not(in("web", "views/ui", "static", "services/background", "services/fault", "services/rawjson")))),
		},
		{
			rule:    "package web must not import its subpackages conn, sse, compress, ratelimit and guard",
			binds:   is("web"),
			forbids: ours(in("web/conn", "web/sse", "web/compress", "web/ratelimit", "web/guard")),
		},
		{
			rule:    "web/forwarded must not import packages of this module",
			binds:   shipped(in("web/forwarded")),
			forbids: ours(anything),
		},
		{
			rule:    "routes must not import the database, migrations or commands",
			binds:   shipped(in("routes")),
			forbids: anyOf(isDatabase, ours(in("migrations", "cmd"))),
		},
		{
			rule:    "routes/frame must not import handlers",
			binds:   shipped(in("routes/frame")),
			forbids: ours(in("routes")),
		},
		{
			rule:    "public, API, MCP and OAuth routes must not import routes/admin",
			binds:   shipped(in("routes/public", "routes/api", "routes/mcp", "routes/oauth", "routes/connect")),
			forbids: ours(in("routes/admin")),
		},
		{
			rule:  "subpackages of routes/admin may import only observe of each other, for the names of callers, and live, for the parts that change",
			binds: shipped(in("routes/admin")),
			forbids: ours(func(room string) bool {
				return strings.HasPrefix(room, "routes/admin/") && room != "routes/admin/observe" && room != "routes/admin/live"
			}),
		},
		{
			rule:    "views/paths must not import packages of this module",
			binds:   shipped(in("views/paths")),
			forbids: ours(anything),
		},
		{
			rule:    "tests of routes must not import the ORM",
			tests:   true,
			binds:   in("routes"),
			forbids: library("gorm.io"),
		},
		{
			rule:    "services/schema may import only services/fault and services/nearest",
			binds:   shipped(in("services/schema")),
			forbids: ours(not(in("services/fault", "services/nearest"))),
		},
		{
			rule:    "services/typescript may import only services/schema, services/toolset and services/fault",
			binds:   shipped(in("services/typescript")),
			forbids: ours(not(in("services/schema", "services/toolset", "services/fault"))),
		},
		{
			rule:    "services/sandbox may import only services/background",
			binds:   shipped(in("services/sandbox")),
			forbids: anyOf(isDatabase, ours(not(in("services/background")))),
		},
		{
			rule:    "only services/sandbox may compile and run code",
			binds:   not(in("services/sandbox")),
			forbids: anyOf(library("modernc.org/quickjs"), library("github.com/evanw/esbuild")),
		},
		{
			rule:    "only services/sandbox, services/runner and commands may start processes",
			binds:   not(anyOf(in("services/sandbox", "services/runner", "cmd"), isTestKit)),
			forbids: is("os/exec"),
		},
		{
			rule:    "only the gateway may import services/runner",
			binds:   not(anyOf(in("cmd/gateway", "services/runner"), isTestKit)),
			forbids: ours(in("services/runner")),
		},
		{
			rule:    "only test kits may import a command",
			binds:   not(anyOf(in("cmd"), isTestKit)),
			forbids: ours(in("cmd")),
		},
	}
}

// is matches exactly path.
func is(path string) func(string) bool {
	return func(s string) bool { return s == path }
}

// in matches the rooms and their subpackages.
func in(rooms ...string) func(string) bool {
	return func(room string) bool {
		return slices.ContainsFunc(rooms, func(r string) bool { return room == r || strings.HasPrefix(room, r+"/") })
	}
}

// library matches the imports of a module or of an organization's modules.
func library(path string) func(string) bool { return in(path) }

// ours matches imports of this module with a matching room.
func ours(match func(room string) bool) func(string) bool {
	return func(target string) bool {
		if target == module {
			return match("")
		}
		room, found := strings.CutPrefix(target, module+"/")
		return found && match(room)
	}
}

// isTestKit reports whether an element of a room's path ends in "test".
func isTestKit(room string) bool {
	return slices.ContainsFunc(strings.Split(room, "/"), func(part string) bool { return strings.HasSuffix(part, "test") })
}

func isDatabase(target string) bool {
	return anyOf(library("gorm.io"), library("database/sql"), library("github.com/ncruces/go-sqlite3"), library("github.com/jackc"))(target)
}

func shipped(match func(string) bool) func(string) bool {
	return func(room string) bool { return match(room) && !isTestKit(room) }
}

func not(match func(string) bool) func(string) bool {
	return func(s string) bool { return !match(s) }
}

func anyOf(matches ...func(string) bool) func(string) bool {
	return func(s string) bool {
		return slices.ContainsFunc(matches, func(match func(string) bool) bool { return match(s) })
	}
}

func anything(string) bool { return true }

// importBreaches returns a line for each forbidden import.
func importBreaches(packages []goPackage) []string {
	var breaches []string
	for _, p := range packages {
		for _, law := range importLaws() {
			if !law.binds(p.room()) {
				continue
			}
			for _, target := range law.checkedImports(p) {
				if law.forbids(target) {
					breaches = append(breaches, p.room()+" imports "+target+": "+law.rule)
				}
			}
		}
	}
	return breaches
}

// moduleRoot returns the absolute path of the directory with go.mod.
func moduleRoot(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		t.Fatalf("module root not found: %v", err)
	}
	return root
}

// listPackages returns all packages of the module, from `go list`.
func listPackages(t *testing.T) []goPackage {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-e", "-json=ImportPath,Name,Dir,Imports,TestImports,XTestImports,GoFiles", "./...")
	list.Dir = moduleRoot(t)
	var trouble bytes.Buffer
	list.Stderr = &trouble
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, trouble.String())
	}
	var packages []goPackage
	for stream := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		switch err := stream.Decode(&p); {
		case errors.Is(err, io.EOF):
			return packages
		case err != nil:
			t.Fatalf("go list: %v", err)
		}
		packages = append(packages, p)
	}
}

func TestImportLaw(t *testing.T) {
	packages := listPackages(t)
	if !slices.ContainsFunc(packages, func(p goPackage) bool { return p.room() == "services/fault" }) {
		t.Fatalf("services/fault is not among %d packages of go list", len(packages))
	}
	for _, breach := range importBreaches(packages) {
		t.Error(breach)
	}
}

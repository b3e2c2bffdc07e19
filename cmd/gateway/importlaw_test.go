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
			forbids: ours(not(in("services/background", "services/fault", "services/rawjson", "services/page", "services/query", "services/secrets", "services/egress"))),
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
			forbids: anyOf(isDatabase, ours(not(in("models", "services/background", "services/egress", "services/fault", "services/rawjson", "services/redact", "services/schema", "services/secrets", "services/upstream")))),
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
			rule:    "API keys and passwords must not import services/access",
			binds:   shipped(in("services/access/keys", "services/access/passwords")),
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
			binds:   shipped(in("routes/public", "routes/api", "routes/mcp", "routes/oauth")),
			forbids: ours(in("routes/admin")),
		},
		{
			rule:  "subpackages of routes/admin may import only observe of each other, for the names of callers",
			binds: shipped(in("routes/admin")),
			forbids: ours(func(room string) bool {
				return strings.HasPrefix(room, "routes/admin/") && room != "routes/admin/observe"
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
			rule:    "only services/sandbox and commands may start processes",
			binds:   not(anyOf(in("services/sandbox", "cmd"), isTestKit)),
			forbids: is("os/exec"),
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

func TestImportLawFindsBreaches(t *testing.T) {
	const fiber, templ, gorm = "github.com/gofiber/fiber/v2", "github.com/a-h/templ", "gorm.io/gorm"
	cases := []struct {
		room, target string
		breaches     int
	}{
		{"services/access", fiber, 1},
		{"services/access", "github.com/gofiber/utils", 1},
		{"services/access", templ, 1},
		{"services/access", "mcpgateway/web", 1},
		{"services/access", "mcpgateway/routes/mcp", 1},
		{"services/access", "mcpgateway/views/ui", 1},
		{"services/access", "mcpgateway/services/page", 0},
		{"services/access", "mcpgateway/models", 0},
		{"services/access", gorm, 0},
		{"services/access", "mcpgateway/services/access/keys", 0},
		{"services/access/keys", "mcpgateway/services/access", 1},
		{"services/access/passwords", "mcpgateway/services/access", 1},
		{"services/oauthclient", "mcpgateway/services/oauthclient/authserver", 0},
		{"services/oauthclient/authserver", "mcpgateway/services/secrets", 0},
		{"services/oauthclient/authserver", "mcpgateway/services/oauthclient", 1},
		{"services/oauthclient/authserver", "mcpgateway/models", 1},
		{"services/oauthclient/authserver", gorm, 1},
		{"services", "mcpgateway/services/access", 0},
		{"services", fiber, 1},
		{"services/gateway", "mcpgateway/services/upstream/upstreamtest", 1},
		{"services/gateway", "mcpgateway/services/gateway/subscriptions", 1},
		{"services/gateway/subscriptions", "mcpgateway/services/gateway", 0},
		{"routes/mcp", "mcpgateway/services/upstream/upstreamtest", 1},
		{"cmd/gateway", "mcpgateway/services/upstream/upstreamtest", 1},
		{"cmd/gateway/demo", "mcpgateway/services/upstream/upstreamtest", 0},
		{"cmd/gateway", "mcpgateway/cmd/gateway/demo", 0},
		{"cmd/mockmcp", "mcpgateway/cmd/gateway/demo", 0},
		{"cmd/bench", "mcpgateway/cmd/gateway/demo", 1},
		{"services", "mcpgateway/cmd/gateway/demo", 3},
		{"cmd/mockmcp", "mcpgateway/services/upstream/upstreamtest", 0},
		{"web/webtest", "mcpgateway/services/upstream/upstreamtest", 0},
		{"models/modelstest/cluster", "mcpgateway/models/modelstest", 0},
		{"models/modelstest/cluster", "os/exec", 0},
		{"models/modelstest", "mcpgateway/migrations", 0},
		{"services/upstream/pool", gorm, 1},
		{"services/upstream/pool", "mcpgateway/services/notify", 1},
		{"services/upstream/pool", "mcpgateway/services/upstream/transport", 0},
		{"services/upstream/credentials", "mcpgateway/models", 0},
		{"services/upstream", "mcpgateway/services/upstream/wire", 0},
		{"services/upstream", "mcpgateway/services/upstream/pool", 1},
		{"services/upstream/wire", "mcpgateway/services/upstream", 1},
		{"services/upstream/transport", "mcpgateway/services/upstream", 0},
		{"services/upstream/transport", "mcpgateway/services/upstream/pool", 1},
		{"services/inventory", "mcpgateway/services/upstream/pool", 0},
		{"services/inventory", gorm, 0},
		{"models", "mcpgateway/services/fault", 1},
		{"models", gorm, 0},
		{"migrations", "mcpgateway/models", 0},
		{"migrations", "mcpgateway/services/projects", 1},
		{"services/fault", "mcpgateway/models", 1},
		{"services/fault", "errors", 0},
		{"services/background", "mcpgateway/services/fault", 1},
		{"services/egress", "mcpgateway/services/background", 0},
		{"web", "mcpgateway/services/background", 0},
		{"services/rawjson", "mcpgateway/services/fault", 1},
		{"services/locks", "mcpgateway/services/fault", 1},
		{"services/locks", "mcpgateway/models", 0},
		{"services/declaration", gorm, 1},
		{"services/declaration", "mcpgateway/services/projects", 1},
		{"services/declaration", "mcpgateway/services/clientfile", 0},
		{"services/catalog/sources", gorm, 1},
		{"services/catalog/index", "mcpgateway/models", 1},
		{"services/catalog/index", "mcpgateway/services/query", 0},
		{"services/page", "mcpgateway/services/fault", 0},
		{"services/page", "mcpgateway/services/projects", 1},
		{"services/egress", "mcpgateway/models", 1},
		{"views/admin", "mcpgateway/models", 0},
		{"views/admin", "mcpgateway/views/ui", 0},
		{"views/admin", templ, 0},
		{"views/admin", "mcpgateway/services/fault", 1},
		{"views/admin", gorm, 1},
		{"views/admin", "mcpgateway/web", 1},
		{"static", "mcpgateway/services/fault", 1},
		{"web", "mcpgateway/services/fault", 0},
		{"web", "mcpgateway/views/ui", 0},
		{"web", "mcpgateway/static", 0},
		{"web", "mcpgateway/views/admin", 1},
		{"web", "mcpgateway/routes", 1},
		{"web", "mcpgateway/services/rawjson", 0},
		{"web", "mcpgateway/services/access", 1},
		{"web", gorm, 1},
		{"web", "mcpgateway/web/forwarded", 0},
		{"web", "mcpgateway/web/guard", 1},
		{"web/guard", "mcpgateway/web", 0},
		{"web/guard", "mcpgateway/web/ratelimit", 0},
		{"web/guard", "mcpgateway/services/access", 1},
		{"web/forwarded", "mcpgateway/web", 1},
		{"web/webtest", "mcpgateway/services/access", 0},
		{"routes/admin", gorm, 1},
		{"routes/admin", "database/sql", 1},
		{"routes/admin", "mcpgateway/migrations", 1},
		{"routes/admin", "mcpgateway/views/admin", 0},
		{"routes/public", "mcpgateway/routes/admin", 1},
		{"routes/public", "mcpgateway/routes/frame", 0},
		{"routes/frame", "mcpgateway/routes/admin", 1},
		{"routes/admin", "mcpgateway/routes/admin/tools", 1},
		{"routes/admin/servers", "mcpgateway/routes/admin/tools", 1},
		{"routes/admin/servers", "mcpgateway/routes/admin", 0},
		{"routes/admin/code", "mcpgateway/routes/admin/observe", 0},
		{"views/paths", "mcpgateway/models", 1},
		{"views/ui", "mcpgateway/views/paths", 0},
		{"services/projects", "os/exec", 1},
		{"routes/api", "os/exec", 1},
		{"services/codemode", "os/exec", 1},
		{"services/sandbox", "os/exec", 0},
		{"services/sandbox", "mcpgateway/services/background", 0},
		{"services/sandbox", "mcpgateway/services/fault", 1},
		{"services/sandbox", gorm, 1},
		{"services/sandbox", "modernc.org/quickjs", 0},
		{"services/codemode", "modernc.org/quickjs", 1},
		{"services/schema", "mcpgateway/services/nearest", 0},
		{"services/schema", "mcpgateway/services/toolset", 1},
		{"services/typescript", "mcpgateway/services/toolset", 0},
		{"services/typescript", "mcpgateway/services/codemode", 1},
		{"cmd/gateway", "os/exec", 0},
		{"services/upstream/upstreamtest", "os/exec", 0},
		{"webserver", "mcpgateway/routes", 0},
	}
	for _, c := range cases {
		t.Run(c.room+" imports "+c.target, func(t *testing.T) {
			p := goPackage{ImportPath: module + "/" + c.room, Imports: []string{"fmt", c.target}}
			if found := importBreaches([]goPackage{p}); len(found) != c.breaches {
				t.Errorf("found %d breaches, want %d: %q", len(found), c.breaches, found)
			}
		})
	}
}

func TestImportLawFindsBreachesInTests(t *testing.T) {
	cases := []struct {
		room, target string
		breaches     int
	}{
		{"routes", "gorm.io/gorm", 1},
		{"routes/mcp", "gorm.io/driver/postgres", 1},
		{"routes/routestest", "gorm.io/gorm", 1},
		{"routes/mcp", "mcpgateway/models/modelstest", 0},
		{"routes/mcp", "mcpgateway/migrations", 0},
		{"routes", "database/sql/driver", 0},
		{"routesque", "gorm.io/gorm", 0},
		{"services/access", "gorm.io/gorm", 0},
		{"services/access", "github.com/gofiber/fiber/v2", 0},
		{"cmd/gateway", "gorm.io/gorm", 0},
	}
	for _, c := range cases {
		t.Run("tests of "+c.room+" import "+c.target, func(t *testing.T) {
			path := module + "/" + c.room
			for _, p := range []goPackage{{ImportPath: path, TestImports: []string{"fmt", c.target}}, {ImportPath: path, XTestImports: []string{"fmt", c.target}}} {
				if found := importBreaches([]goPackage{p}); len(found) != c.breaches {
					t.Errorf("found %d breaches, want %d: %q", len(found), c.breaches, found)
				}
			}
		})
	}
}

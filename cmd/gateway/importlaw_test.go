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

// goPackage is the output of `go list -json` for a package. Imports are those
// of the shipped files. Imports of its tests are separate, by the package they
// belong to.
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

// importLaw forbids imports in some rooms.
type importLaw struct {
	says    string
	tests   bool // applies to the rooms' tests instead of the shipped files
	binds   func(room string) bool
	forbids func(target string) bool
}

// checkedImports returns the imports of the package that the law applies to.
func (l importLaw) checkedImports(p goPackage) []string {
	if l.tests {
		return slices.Concat(p.TestImports, p.XTestImports)
	}
	return p.Imports
}

// importLaws are the allowed imports. Test kits, the packages whose name ends
// in "test", are only subject to the first law: they run in tests and in the
// demo.
func importLaws() []importLaw {
	return []importLaw{
		{
			says:    "only tests, other test kits, the gateway's demo and the other commands import a test kit",
			binds:   not(anyOf(in("cmd/gateway/demo", "cmd/mockmcp", "cmd/bench", "cmd/conformance"), isTestKit)),
			forbids: ours(isTestKit),
		},
		{
			says:    "only the gateway, cmd/mockmcp, tests and test kits import the demo",
			binds:   not(anyOf(in("cmd/gateway", "cmd/mockmcp"), isTestKit)),
			forbids: ours(in("cmd/gateway/demo")),
		},
		{
			says:    "services know no web framework, no page and no route",
			binds:   shipped(in("services")),
			forbids: anyOf(library("github.com/gofiber"), library("github.com/a-h/templ"), ours(in("web", "routes", "views", "static", "cmd"))),
		},
		{
			says:    "services/background, services/fault and services/rawjson import nothing of ours",
			binds:   shipped(in("services/background", "services/fault", "services/rawjson")),
			forbids: ours(anything),
		},
		{
			says:    "the leaves of services import only leaves",
			binds:   shipped(in("services/page", "services/query", "services/secrets", "services/egress")),
			forbids: ours(not(in("services/background", "services/fault", "services/rawjson", "services/page", "services/query", "services/secrets", "services/egress"))),
		},
		{
			says:    "the memory of results imports faults alone",
			binds:   shipped(in("services/membudget")),
			forbids: ours(not(in("services/fault"))),
		},
		{
			says:    "locks import the models and the starter of goroutines alone",
			binds:   shipped(in("services/locks")),
			forbids: ours(not(in("models", "services/background"))),
		},
		{
			says:    "the readers of declarations and of the catalog's sources use no database",
			binds:   shipped(in("services/declaration", "services/catalog/sources")),
			forbids: anyOf(isDatabase, ours(in("services/projects", "services/locks", "services/notify"))),
		},
		{
			says:    "the index of the catalog imports queries alone",
			binds:   shipped(in("services/catalog/index")),
			forbids: ours(not(in("services/query"))),
		},
		{
			says:    "what speaks to upstreams knows no database, no change feed and no project",
			binds:   shipped(in("services/upstream")),
			forbids: anyOf(isDatabase, ours(not(in("models", "services/background", "services/egress", "services/fault", "services/rawjson", "services/redact", "services/schema", "services/secrets", "services/upstream")))),
		},
		{
			says:  "the words of upstreams import none of their rooms but the wire",
			binds: is("services/upstream"),
			forbids: ours(func(room string) bool {
				return in("services/upstream")(room) && room != "services/upstream/wire"
			}),
		},
		{
			says:    "the wire imports faults and raw JSON alone",
			binds:   shipped(in("services/upstream/wire")),
			forbids: ours(not(in("services/fault", "services/rawjson"))),
		},
		{
			says:    "transports of upstreams know neither sessions nor lists",
			binds:   shipped(in("services/upstream/transport", "services/upstream/admission")),
			forbids: ours(in("services/upstream/pool", "services/upstream/listing", "services/upstream/credentials")),
		},
		{
			says:    "API keys and passwords are checked without knowing who may do what",
			binds:   shipped(in("services/access/keys", "services/access/passwords")),
			forbids: ours(in("services/access")),
		},
		{
			says:    "requests to authorization servers need no database and no connection",
			binds:   shipped(in("services/oauthclient/authserver")),
			forbids: anyOf(isDatabase, ours(not(in("services/egress", "services/secrets")))),
		},
		{
			says:    "requests are answered without knowing who listens to changes",
			binds:   is("services/gateway"),
			forbids: ours(in("services/gateway/subscriptions")),
		},
		{
			says:    "models import nothing of ours",
			binds:   shipped(in("models")),
			forbids: ours(not(in("models"))),
		},
		{
			says:    "migrations import nothing of ours but models and faults",
			binds:   shipped(in("migrations")),
			forbids: ours(not(in("migrations", "models", "services/fault"))),
		},
		{
			says:    "views are props and markup: no service, no database, nothing of ours but views and models",
			binds:   shipped(in("views")),
			forbids: anyOf(isDatabase, ours(not(in("views", "models")))),
		},
		{
			says:    "static is bytes and imports nothing of ours",
			binds:   shipped(in("static")),
			forbids: ours(not(in("static"))),
		},
		{
			says:    "web is how HTTP is spoken: of ours it imports views/ui, static, faults, raw JSON and the starter of goroutines",
			binds:   shipped(in("web")),
			forbids: anyOf(isDatabase, ours(not(in("web", "views/ui", "static", "services/background", "services/fault", "services/rawjson")))),
		},
		{
			says:    "the shell knows none of the rooms that stand behind it",
			binds:   is("web"),
			forbids: ours(in("web/conn", "web/sse", "web/compress", "web/ratelimit", "web/guard")),
		},
		{
			says:    "addresses behind proxies are read without the shell",
			binds:   shipped(in("web/forwarded")),
			forbids: ours(anything),
		},
		{
			says:    "routes bind, call and answer: no database, no migration, no command",
			binds:   shipped(in("routes")),
			forbids: anyOf(isDatabase, ours(in("migrations", "cmd"))),
		},
		{
			says:    "the frame of the pages imports no handlers",
			binds:   shipped(in("routes/frame")),
			forbids: ours(in("routes")),
		},
		{
			says:    "what is not for administrators imports nothing of the administration",
			binds:   shipped(in("routes/public", "routes/api", "routes/mcp", "routes/oauth")),
			forbids: ours(in("routes/admin")),
		},
		{
			says:  "the rooms of the administration import of each other only observe, which names callers",
			binds: shipped(in("routes/admin")),
			forbids: ours(func(room string) bool {
				return strings.HasPrefix(room, "routes/admin/") && room != "routes/admin/observe"
			}),
		},
		{
			says:    "the paths of the pages import nothing of ours",
			binds:   shipped(in("views/paths")),
			forbids: ours(anything),
		},
		{
			says:    "tests of routes leave the ORM to the product and the test kits",
			tests:   true,
			binds:   in("routes"),
			forbids: library("gorm.io"),
		},
		{
			says:    "schemas are read without anything of ours but faults and near names",
			binds:   shipped(in("services/schema")),
			forbids: ours(not(in("services/fault", "services/nearest"))),
		},
		{
			says:    "TypeScript is written from schemas and tools",
			binds:   shipped(in("services/typescript")),
			forbids: ours(not(in("services/schema", "services/toolset", "services/fault"))),
		},
		{
			says:    "the sandbox knows no tool, no project and no database",
			binds:   shipped(in("services/sandbox")),
			forbids: anyOf(isDatabase, ours(not(in("services/background")))),
		},
		{
			says:    "only the sandbox compiles and runs code",
			binds:   not(in("services/sandbox")),
			forbids: anyOf(library("modernc.org/quickjs"), library("github.com/evanw/esbuild")),
		},
		{
			says:    "only the sandbox and commands start processes",
			binds:   not(anyOf(in("services/sandbox", "cmd"), isTestKit)),
			forbids: is("os/exec"),
		},
		{
			says:    "nothing but test kits imports a command",
			binds:   not(anyOf(in("cmd"), isTestKit)),
			forbids: ours(in("cmd")),
		},
	}
}

// is matches exactly path.
func is(path string) func(string) bool {
	return func(s string) bool { return s == path }
}

// in matches the named rooms and everything below them.
func in(rooms ...string) func(string) bool {
	return func(room string) bool {
		return slices.ContainsFunc(rooms, func(r string) bool { return room == r || strings.HasPrefix(room, r+"/") })
	}
}

// library matches the imports of a module or of an organisation's modules.
func library(path string) func(string) bool { return in(path) }

// ours matches the imports of this module whose room matches.
func ours(match func(room string) bool) func(string) bool {
	return func(target string) bool {
		if target == module {
			return match("")
		}
		room, found := strings.CutPrefix(target, module+"/")
		return found && match(room)
	}
}

// isTestKit reports whether a part of a room's name ends in "test".
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
					breaches = append(breaches, p.room()+" imports "+target+": "+law.says)
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
		t.Fatalf("the module's root is not where this test looks for it: %v", err)
	}
	return root
}

// listPackages returns every package of the module as `go list` sees it.
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

func TestEveryPackageKeepsTheImportLaw(t *testing.T) {
	packages := listPackages(t)
	if !slices.ContainsFunc(packages, func(p goPackage) bool { return p.room() == "services/fault" }) {
		t.Fatalf("go list did not see services/fault, only %d packages", len(packages))
	}
	for _, breach := range importBreaches(packages) {
		t.Error(breach)
	}
}

func TestTheImportLawFindsBreaches(t *testing.T) {
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

func TestTheImportLawFindsBreachesOfTests(t *testing.T) {
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

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
			says:    "only tests, other test kits and commands import a test kit",
			binds:   not(anyOf(in("cmd"), isTestKit)),
			forbids: ours(isTestKit),
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
			says:    "routes bind, call and answer: no database, no migration, no command",
			binds:   shipped(in("routes")),
			forbids: anyOf(isDatabase, ours(in("migrations", "cmd"))),
		},
		{
			says:    "tests of routes leave the ORM to the product and the test kits",
			tests:   true,
			binds:   in("routes"),
			forbids: library("gorm.io"),
		},
		{
			says:    "only code mode's worker and commands start processes",
			binds:   not(anyOf(in("services/codemode", "cmd"), isTestKit)),
			forbids: is("os/exec"),
		},
		{
			says:    "nothing imports a command",
			binds:   not(in("cmd")),
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
		{"services", "mcpgateway/services/access", 0},
		{"services", fiber, 1},
		{"services/gateway", "mcpgateway/services/upstream/upstreamtest", 1},
		{"routes/mcp", "mcpgateway/services/upstream/upstreamtest", 1},
		{"cmd/gateway", "mcpgateway/services/upstream/upstreamtest", 0},
		{"cmd/mockmcp", "mcpgateway/services/upstream/upstreamtest", 0},
		{"web/webtest", "mcpgateway/services/upstream/upstreamtest", 0},
		{"models/modelstest/cluster", "mcpgateway/models/modelstest", 0},
		{"models/modelstest/cluster", "os/exec", 0},
		{"models/modelstest", "mcpgateway/migrations", 0},
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
		{"web/webtest", "mcpgateway/services/access", 0},
		{"routes/admin", gorm, 1},
		{"routes/admin", "database/sql", 1},
		{"routes/admin", "mcpgateway/migrations", 1},
		{"routes/admin", "mcpgateway/views/admin", 0},
		{"services/projects", "os/exec", 1},
		{"routes/api", "os/exec", 1},
		{"services/codemode", "os/exec", 0},
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

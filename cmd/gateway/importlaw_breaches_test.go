package main_test

import (
	"testing"
)

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

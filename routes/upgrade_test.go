package routes_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/pressly/goose/v3"

	"mcpgateway/migrations"
	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/access"
	"mcpgateway/services/artifacts"
	"mcpgateway/services/oauthclient/accounts"
	"mcpgateway/services/projects"
	"mcpgateway/services/secrets"
	"mcpgateway/web/webtest"
)

// TestUpgradeFromEveryVersion fills a database of each schema version, starts
// the current program on it, and checks its data.
func TestUpgradeFromEveryVersion(t *testing.T) {
	old := keep(t)
	for version := int64(1); version <= latest(t); version++ {
		modelstest.EachEmptyDSN(t, func(t *testing.T, dsn string) {
			t.Run(fmt.Sprint("from ", version), func(t *testing.T) {
				fill(t, dsn, version, oldRows(old))
				a := routestest.New(t, dsn)
				checkUpgraded(t, a, version, old)
			})
		})
	}
}

// latest returns the current version of the schema.
func latest(t *testing.T) int64 {
	t.Helper()
	db := modelstest.Open(t, modelstest.SQLite(t))
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	steps, err := migrations.Status(t.Context(), pool, db.Name())
	if err != nil {
		t.Fatal(err)
	}
	return steps[len(steps)-1].Version
}

// fill migrates an empty database to the version and inserts the rows that it
// supports.
func fill(t *testing.T, dsn string, version int64, rows []oldRow) {
	t.Helper()
	db := modelstest.Open(t, dsn)
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	dialect := map[string]goose.Dialect{"sqlite": goose.DialectSQLite3, "postgres": goose.DialectPostgres}[db.Name()]
	p, err := goose.NewProvider(dialect, pool, os.DirFS(filepath.Join("..", "migrations", db.Name())))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.UpTo(t.Context(), version); err != nil {
		t.Fatal(err)
	}
	tx := db.Begin()
	defer tx.Rollback() // no effect after the commit
	for _, row := range rows {
		if row.since > version {
			continue
		}
		if err := tx.Exec(row.statement, row.values...).Error; err != nil {
			t.Fatalf("%s: %v", row.statement, err)
		}
	}
	if err := tx.Commit().Error; err != nil {
		t.Fatal(err)
	}
}

// checkUpgraded reads the data of a database of the version through the
// product.
func checkUpgraded(t *testing.T, a *routestest.App, version int64, old kept) {
	t.Helper()
	program := map[string]string{"Authorization": "Bearer " + routestest.AdminToken}
	client := map[string]string{"Authorization": "Bearer " + old.key}
	person := map[string]string{"Cookie": "sid=" + old.cookie, "Accept": "text/html"}
	if version == 6 { // once is enough: hashing a password is slow
		if _, err := a.Services.People.SignIn(t.Context(), "old@example.com", secrets.NewValue(password), access.Browser{IP: "127.0.0.1"}); err != nil {
			t.Errorf("sign in: %v", err)
		}
	}
	for _, c := range []struct {
		since int64
		webtest.Case
	}{
		{1, webtest.Case{Path: "/api/projects/work", Header: program, WantBody: []string{
			`"name":"Work"`, `"description":"äöü"`, `"authMode":"api_key"`, `"codeMode":{"enabled":true,"timeout":12000,"allowFetch":false}`, `"disabledTools":["up__off"]`, `"perSecond":2.5`,
		}}},
		{1, webtest.Case{Path: "/api/projects/work/servers", Header: program, WantBody: []string{`"alias":"up"`, `"hasAuthBearer":true`, `"denyTools":["no_*"]`, `"syncedAt":"2026-03-01T12:00:00.123Z"`}}},
		{1, webtest.Case{Path: "/api/projects/work/keys", Header: program, WantBody: []string{`"name":"old key"`, `"createdAt":"2026-03-01T12:00:00.123Z"`, `"expiresAt":null`}}},
		{1, webtest.Case{Path: "/api/projects/work/tools", Header: program, WantBody: []string{`"up__echo"`, `"up__off"`, `"up__no_way"`}}},
		{1, webtest.Case{Path: "/v1/mcp/work/request", Header: client, Body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, WantBody: []string{`"up__echo"`}, NotBody: []string{`"up__off"`, `"up__no_way"`}}},
		{3, webtest.Case{Path: "/v1/mcp/work/request", Header: client, Body: `{"jsonrpc":"2.0","id":1,"method":"prompts/list"}`, WantBody: []string{`"up__greet"`}}},
		{4, webtest.Case{Path: "/api/audit", Header: program, WantBody: []string{`"first"`}}},
		{5, webtest.Case{Path: "/api/registry?search=anvils", WantBody: []string{`"Anvils"`, `"Falls down."`}}},
		{6, webtest.Case{Path: "/api/people", Header: program, WantBody: []string{`"old@example.com"`, `"Olga"`}}},
		{6, webtest.Case{Path: "/admin", Header: person, WantBody: []string{"Work"}}},
		{8, webtest.Case{Path: "/me/apps", Header: person, WantBody: []string{"Old client"}}},
		{10, webtest.Case{Path: "/admin/projects/work/code-mode/runs/r1", Header: person, WantBody: []string{"old code"}}},
		{12, webtest.Case{Path: "/api/calls", Header: program, WantBody: []string{`"old-request"`}}},
		{25, webtest.Case{Path: "/invite/" + old.invite, WantBody: []string{"invited@example.com"}}},
		{38, webtest.Case{Path: "/api/destinations/d1", Header: program, WantBody: []string{`"name":"Old"`, `"kind":"slack"`}}},
		{39, webtest.Case{Path: "/api/alerts", Header: program, WantBody: []string{`"The old server is down."`, `"id":"disk_low"`, `"enabled":false`, `"mebibytes":321`}}},
		{40, webtest.Case{Path: "/reset/" + old.reset, WantBody: []string{"reset@example.com"}}},
		{43, webtest.Case{Path: "/api/projects/work/recipes", Header: program, WantBody: []string{`"gateway__old_recipe"`, `"proposed"`}}},
		{43, webtest.Case{Path: "/api/projects/work/recipes/c1", Header: program, WantBody: []string{`"code":"return 1;"`, `"version":2`, `"savedBy":"old@example.com"`}}},
		{1, webtest.Case{Method: "PATCH", Path: "/api/projects/work", Header: program, Body: `{"name":"Changed"}`, WantBody: []string{`"name":"Changed"`}}},
	} {
		if version < c.since {
			continue
		}
		c.Case.Status = 200
		t.Run(c.Path, func(t *testing.T) { webtest.Check(t, c.Case, webtest.Send(t, a.App, c.Case)) })
	}
	if _, err := a.Services.Audit.Verify(t.Context()); err != nil {
		t.Errorf("audit chain: %v", err)
	}
	checkSeals(t, a, version, old)
}

// checkSeals decrypts the secrets of the rows.
func checkSeals(t *testing.T, a *routestest.App, version int64, old kept) {
	t.Helper()
	var server models.Server
	if err := a.Services.DB.First(&server, "id = 's1'").Error; err != nil {
		t.Fatal(err)
	}
	if got, err := a.Services.Config.Keys.Open(server.AuthBearer, projects.BearerRow("s1")); err != nil || got.Reveal() != old.bearer {
		t.Errorf("open bearer token: %v", err)
	}
	if version >= 42 {
		checkArtifact(t, a, old)
	}
	if version < 9 {
		return
	}
	var connection models.Connection
	if err := a.Services.DB.First(&connection, "server_id = 's1'").Error; err != nil {
		t.Fatal(err)
	}
	if got, err := a.Services.Config.Keys.Open(connection.RefreshToken, accounts.ID{ServerID: "s1"}.RefreshTokenRow()); err != nil || got.Reveal() != old.token {
		t.Errorf("open refresh token: %v", err)
	}
}

// checkArtifact reads the artifact of the key.
func checkArtifact(t *testing.T, a *routestest.App, old kept) {
	t.Helper()
	project, err := a.Services.Directory.Project("work")
	if err != nil {
		t.Fatal(err)
	}
	caller, err := a.Services.ProjectAuth.Authenticate(t.Context(), &project.Project, "", "Bearer "+old.key)
	if err != nil {
		t.Fatal(err)
	}
	owner, err := artifacts.OwnerOf(caller)
	if err != nil {
		t.Fatal(err)
	}
	got, err := a.Services.Artifacts.Get(t.Context(), owner, "note")
	if err != nil || string(got.Data) != old.artifact || got.Kind != models.ArtifactText {
		t.Errorf("artifact = %+v, %v", got, err)
	}
}

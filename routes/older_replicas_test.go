package routes_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
)

// TestOlderReplicaIsShown changes settings that a replica of an older version
// ignores, while one is connected to the database and without one.
func TestOlderReplicaIsShown(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		w := routestest.NewAdminOn(t, dsn)
		key, _ := w.Key(t, "p", time.Hour)
		const sentence = "A replica of an older version is still running. "
		pages := map[string]string{
			"/admin/projects/p/settings":                 sentence + "Limits for tools take effect when all replicas run this version.",
			"/admin/projects/p/tools/" + firstTool(t, w): sentence + "Overrides take effect",
			"/admin/projects/p/keys/" + key:              sentence + "Changed tools of the key take effect",
		}
		n := 0
		changes := func() map[string]string { // each is another change
			n++
			return map[string]string{
				"/api/projects/p": fmt.Sprintf(`{"limits":[{"per":"key","perDay":%d}]}`, n),
				"/api/servers/" + w.ServerID(t, "p", "clock"):           fmt.Sprintf(`{"tools":{"a":{"title":"Title %d"}}}`, n),
				"/api/servers/" + w.ServerID(t, "p", "clock") + "?task": fmt.Sprintf(`{"taskTimeout":%d}`, 1000+n),
				"/api/projects/p?card":                                  fmt.Sprintf(`{"instructions":"%d"}`, n),
			}
		}
		check := func(what string, warned bool) {
			t.Helper()
			for path, want := range pages {
				if status, body, _ := w.Send(t, path, nil); status != http.StatusOK || strings.Contains(body, want) != warned || strings.Contains(body, sentence) != warned {
					t.Errorf("%s: %s: status %d, want the warning: %v", what, path, status, warned)
				}
			}
			for path, body := range changes() {
				if status, answer := w.Ask(t, "PATCH", path, body, true); status != http.StatusOK || strings.Contains(answer, "OLDER_REPLICAS") != warned {
					t.Errorf("%s: %s: %d %s, want the warning: %v", what, path, status, answer, warned)
				}
			}
		}
		check("alone", false)
		if strings.HasPrefix(dsn, "sqlite:") {
			return
		}
		config, err := pgx.ParseConfig(dsn)
		if err != nil {
			t.Fatal(err)
		}
		config.RuntimeParams["application_name"] = "gateway change feed"
		older, err := pgx.ConnectConfig(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		check("beside an older replica", true)
		for path, body := range map[string]string{"/api/projects/p": `{"name":"P"}`, "/api/servers/" + w.ServerID(t, "p", "clock"): `{"timeout":5000}`} {
			if status, answer := w.Ask(t, "PATCH", path, body, true); status != http.StatusOK || strings.Contains(answer, "OLDER_REPLICAS") {
				t.Errorf("another change of %s: %d %s", path, status, answer)
			}
		}
		for _, path := range []string{"/admin/projects/p", "/admin/projects/p/toolsets"} {
			if _, body, _ := w.Send(t, path, nil); strings.Contains(body, sentence) {
				t.Errorf("%s has the warning", path)
			}
		}
		if err := older.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		routestest.Eventually(t, "the older replica has ended", func() bool {
			found, err := w.Services.OlderReplicas(t.Context())
			return err == nil && !found
		})
		check("alone again", false)
	})
}

// firstTool returns the name of a tool of the project p.
func firstTool(t *testing.T, w *routestest.Admin) string {
	t.Helper()
	p, err := w.Services.Directory.Project("p")
	if err != nil || len(p.Tools) == 0 {
		t.Fatalf("no tools: %v", err)
	}
	return p.Tools[0].FullName
}

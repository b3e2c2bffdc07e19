package servers_test

import (
	"html"
	"net/url"
	"strings"
	"testing"

	"mcpgateway/routes/routestest"
)

// newCatalog returns the application with the rows in its catalog.
func newCatalog(t *testing.T, rows string) *routestest.Admin {
	t.Helper()
	a := routestest.NewAdmin(t)
	if _, err := a.Services.CatalogStore.ImportFile(t.Context(), []byte(`{"version":1,"items":[`+rows+`]}`), false); err != nil {
		t.Fatal(err)
	}
	return a
}

func TestUnknownSignInIsTestedFirst(t *testing.T) {
	a := newCatalog(t, `{"publisherName":"q","serverName":"unclear","serverType":"http","remoteUrl":"https://unclear.example.com/mcp","authType":"unknown"}`)
	e, err := a.Services.Catalog.EntryByName("q", "unclear")
	if err != nil {
		t.Fatal(err)
	}
	before, err := a.Services.Directory.Project("p")
	if err != nil {
		t.Fatal(err)
	}
	for alias, want := range map[string]string{"": "unclear", "mine & yours": "mine & yours"} {
		status, body, to := a.Send(t, "/admin/catalog/add", url.Values{"id": {e.ID}, "project": {"p"}, "alias": {alias}})
		if status != 303 || !strings.HasPrefix(to, "/admin/projects/p/servers/new?") {
			t.Fatalf("alias %q: %d, to %q: %.300s", alias, status, to, body)
		}
		_, body, _ = a.Send(t, to, nil)
		for _, value := range []string{want, "https://unclear.example.com/mcp"} {
			if !strings.Contains(body, `value="`+html.EscapeString(value)+`"`) {
				t.Errorf("alias %q: the form lacks %q", alias, value)
			}
		}
	}
	if p, err := a.Services.Directory.Project("p"); err != nil || len(p.Servers) != len(before.Servers) {
		t.Errorf("the server was added untested, %v", err)
	}
}

func TestProgramInWizardLeadsToItsPage(t *testing.T) {
	a := newCatalog(t, `{"publisherName":"q","serverName":"runs","serverType":"stdio","packages":[{"type":"npm","identifier":"x"}]},{"publisherName":"q","serverName":"stays","serverType":"stdio"}`)
	_, body, _ := a.Send(t, "/admin/projects/p/servers/new", nil)
	if !strings.Contains(body, `href="/registry/q/runs#run"`) || strings.Contains(body, "/registry/q/stays") || strings.Count(body, "Runs as a program") != 2 {
		t.Error("the list doesn't lead to how to run a program")
	}
	if _, page, _ := a.Send(t, "/registry/q/runs", nil); !strings.Contains(page, `id="run"`) {
		t.Error("the page has no such part")
	}
}

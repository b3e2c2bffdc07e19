package routes_test

import (
	"net/http"
	"strings"
	"testing"

	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
)

// programRows are a remote server, a program with a package and one without.
const programRows = `{"version":1,"items":[
	{"publisherName":"acme","serverName":"remote","serverType":"http","remoteUrl":"https://mcp.example.com/mcp","featured":true},
	{"publisherName":"acme","serverName":"packaged","serverType":"stdio","packageType":"npm","packageIdentifier":"@acme/packaged"},
	{"publisherName":"acme","serverName":"unpackaged","serverType":"stdio"}]}`

func TestCatalogProgramsWorkWithRunner(t *testing.T) {
	t.Parallel()
	w := newProgramWorld(t, modelstest.SQLite(t))
	if _, err := w.admin.Services.CatalogStore.ImportFile(t.Context(), []byte(programRows), false); err != nil {
		t.Fatal(err)
	}
	listed := func(path string) (body string) {
		_, body, _ = w.admin.Send(t, path, nil)
		return body
	}
	routestest.Eventually(t, "the catalog", func() bool { return strings.Contains(listed("/registry"), "1 server that works here, ") })
	if body := listed("/registry?query=acme"); !strings.Contains(body, "2 more run as a program.") || !strings.Contains(body, "Remote, ready to add") {
		t.Error("without a runner programs work here")
	}
	w.connect(t)
	routestest.Eventually(t, "the runner", func() bool { return strings.Contains(listed("/registry"), "2 servers that work here, ") })
	home, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	if err != nil {
		t.Fatal(err)
	}
	if body := w.send(t, home); !strings.Contains(body, "All 2 that work here") {
		t.Error("the start page has another number of servers that work here")
	}
	body := listed("/registry?query=acme")
	if !strings.Contains(body, `href="/registry/acme/packaged"`) || strings.Contains(body, `href="/registry/acme/unpackaged"`) || !strings.Contains(body, "1 more runs as a program.") || strings.Contains(body, "Remote, ready to add") {
		t.Error("with a runner the program without a package works here, or the other one doesn't")
	}
	w.cut()
	routestest.Eventually(t, "the end of the runner", func() bool { return strings.Contains(listed("/registry"), "1 server that works here, ") })
}

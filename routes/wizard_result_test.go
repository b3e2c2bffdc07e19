package routes_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"mcpgateway/cmd/gateway/demo"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/upstream/upstreamtest"
)

// switched starts a server that is unavailable until it is switched on.
func switched(t *testing.T) (address string, on func()) {
	t.Helper()
	target, err := url.Parse(upstreamtest.New(demo.Servers()[0]).Start(t))
	if err != nil {
		t.Fatal(err)
	}
	proxy, available := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: target.Scheme, Host: target.Host}), atomic.Bool{}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !available.Load() {
			http.Error(w, "not yet", http.StatusServiceUnavailable)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		front.Listener.Close() // the application reconnects until it ends
		front.CloseClientConnections()
		front.Close()
	})
	return front.URL + target.Path, func() { available.Store(true) }
}

// partly pastes two working servers, an unavailable one and a command. It
// returns the page after the attempt to add them.
func partly(t *testing.T, a *pasteApp) (page formPage, body string, on func()) {
	t.Helper()
	a.newProject(t, "p")
	clock, text := upstreamtest.New(demo.Servers()[0]).Start(t), upstreamtest.New(demo.Servers()[1]).Start(t)
	later, on := switched(t)
	pasted := fmt.Sprintf(`{"mcpServers":{"clock":{"url":%q,"denyTools":["current_*"]},"text":{"url":%q},"later":{"url":%q,"denyTools":["current_*"],"timeout":5000},"files":{"command":"npx"}}}`, clock, text, later)
	_, body = a.submit(t, "/admin/projects/p/servers/new", url.Values{"pasted": {pasted}})
	status, body := a.submit(t, "/admin/projects/p/servers", readPage(t, body).form)
	if status != 200 {
		t.Fatalf("status %d, want 200: %.400s", status, body)
	}
	return readPage(t, body), body, on
}

func TestWizardShowsPartialSuccess(t *testing.T) {
	a := newPasteApp(t, modelstest.SQLite(t))
	page, body, on := partly(t, a)
	for _, want := range []string{"2 of 3 servers added.", "Couldn't connect to later.", "Retry", "Add anyway", "commands are not supported", "clock", "tools"} {
		if !page.shows(want) {
			t.Errorf("page lacks %q", want)
		}
	}
	if strings.Contains(body, `role="alert"`) || page.shows("Please check") {
		t.Error("partial success appears as an error")
	}
	if !strings.Contains(body, a.ServerID(t, "p", "clock")+"/filters?new=1") {
		t.Error("no link to the tools of an added server")
	}
	on()
	status, _ := a.submit(t, "/admin/projects/p/servers", page.form)
	stored := a.stored(t, "p")
	if later := stored["later"]; status != 303 || len(stored) != 3 || len(later.DenyTools) != 1 || later.Timeout != 5000 {
		t.Errorf("retry: status %d, stored %+v", status, stored)
	}
}

func TestWizardAddsUnreachedServerAnyway(t *testing.T) {
	a := newPasteApp(t, modelstest.SQLite(t))
	page, _, _ := partly(t, a)
	page.form.Set("untested", "all")
	status, _ := a.submit(t, "/admin/projects/p/servers", page.form)
	if later, there := a.stored(t, "p")["later"]; status != 303 || !there || len(later.DenyTools) != 1 {
		t.Errorf("status %d, stored %+v", status, later)
	}
}

func TestWizardDeniesPastedTools(t *testing.T) {
	a := newPasteApp(t, modelstest.SQLite(t))
	partly(t, a)
	p, err := a.Services.Directory.Project("p")
	if err != nil {
		t.Fatal(err)
	}
	visible := map[string]bool{}
	for _, tool := range p.Tools {
		visible[tool.Name] = true
	}
	if visible["clock__current_time"] || !visible["text__hash_text"] {
		t.Errorf("visible tools: %v", visible)
	}
}

func TestWizardRejectsFormWithoutSettings(t *testing.T) {
	a := newPasteApp(t, modelstest.SQLite(t))
	a.newProject(t, "p")
	_, body := a.submit(t, "/admin/projects/p/servers/new", url.Values{"pasted": {`{"a":{"url":"https://a.example","denyTools":["x"]}}`}})
	form := readPage(t, body).form
	form.Set("untested", "all")
	for _, sealed := range []string{"", form.Get("0.sealed")[1:]} {
		form.Set("0.sealed", sealed)
		if status, _ := a.submit(t, "/admin/projects/p/servers", form); status != 400 || len(a.stored(t, "p")) != 0 {
			t.Errorf("sealed %.10q: status %d, stored %v", sealed, status, a.stored(t, "p"))
		}
	}
}

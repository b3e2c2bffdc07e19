package routes_test

import (
	"fmt"
	"maps"
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
	for _, want := range []string{"2 of 3 servers added.", "Couldn't connect", "HTTP 503 from the server", "Retry", "Edit", "Add anyway", "Discard", "files runs on a computer and isn't added.", "clock", "Choose tools", "more tools now"} {
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

func TestWizardTestsEachServer(t *testing.T) {
	a := newPasteApp(t, modelstest.SQLite(t))
	a.newProject(t, "p")
	clock := upstreamtest.New(demo.Servers()[0]).Start(t)
	guarded := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("WWW-Authenticate", `Bearer resource_metadata="http://127.0.0.1:9/x"`)
		rw.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(guarded.Close)
	pasted := fmt.Sprintf(`{"mcpServers":{"a":{"url":%q,"headers":{"Authorization":"Bearer a-long-secret-value-f2"}},"b":{"url":"http://127.0.0.1:9/mcp"},"c":{"url":%q},"d":{"command":"/usr/bin/npx"},"e":{"url":"https://e.example/mcp","headers":{"X-Key":"${E_KEY}"}}}}`, clock, guarded.URL)
	status, body := a.submit(t, "/admin/projects/p/servers/new", url.Values{"pasted": {pasted}})
	page := readPage(t, body)
	if status != 200 || strings.Contains(body, "a-long-secret") {
		t.Fatalf("status %d, or the page shows a secret", status)
	}
	for _, want := range []string{"Add 4 servers", "1 more runs on a computer", "Bearer ••••f2", "X-Key ${E_KEY}", "npx …", "Command", "Runs on a computer", "From your JSON"} {
		if !page.shows(want) {
			t.Errorf("page lacks %q", want)
		}
	}
	for row, wants := range map[string][]string{
		"0": {"5 tools · ", " ms", "Test again"}, "1": {"Connection refused", "Nothing listens on 127.0.0.1:9. Is the server running, and is the port right?"},
		"2": {"Sign-in needed after adding", "You'll sign in at 127.0.0.1 after adding."},
	} {
		status, body := a.submit(t, "/admin/projects/p/servers/new/check?row="+row, page.form)
		part := readPage(t, body)
		for _, want := range wants {
			if status != 200 || !part.shows(want) || strings.Contains(body, "<main") {
				t.Errorf("row %s: status %d, lacks %q: %s", row, status, want, part.text)
			}
		}
		if row == "2" && part.form.Get("2.authType") != "oauth" {
			t.Errorf("authType = %q, want oauth", part.form.Get("2.authType"))
		}
	}
	page.form.Set("test", "all") // without scripts
	_, body = a.submit(t, "/admin/projects/p/servers/new/check", page.form)
	all := readPage(t, body)
	for _, want := range []string{"5 tools · ", "Connection refused", "Sign-in needed after adding", "Add 4 servers"} {
		if !all.shows(want) {
			t.Errorf("page lacks %q", want)
		}
	}
	if len(a.stored(t, "p")) != 0 {
		t.Error("a test stored a server")
	}
}

func TestWizardKeepsWhatIsLeft(t *testing.T) {
	a := newPasteApp(t, modelstest.SQLite(t))
	a.newProject(t, "p")
	clock := upstreamtest.New(demo.Servers()[0]).Start(t)
	pasted := fmt.Sprintf(`{"mcpServers":{"clock":{"url":%q},"x":{"url":"http://127.0.0.1:9/x","headers":{"X-Key":"a-key-of-the-paste"}},"y":{"url":"http://127.0.0.1:9/y"}}}`, clock)
	_, body := a.submit(t, "/admin/projects/p/servers/new", url.Values{"pasted": {pasted}})
	_, body = a.submit(t, "/admin/projects/p/servers", readPage(t, body).form)
	page := readPage(t, body)
	if !page.shows("1 of 3 servers added.") || !page.shows("Nothing listens on 127.0.0.1:9.") {
		t.Fatalf("page = %s", page.text)
	}
	send := func(path, button, row string) (int, formPage) {
		t.Helper()
		form := maps.Clone(page.form)
		form.Set(button, row)
		status, body := a.submit(t, path, form)
		if strings.Contains(body, "a-key-of-the-paste") {
			t.Error("the page shows a secret")
		}
		return status, readPage(t, body)
	}
	if status, edit := send("/admin/projects/p/servers/new/check", "edit", "0"); status != 200 || !edit.shows("Add 2 servers") || edit.form.Get("0.url") != "http://127.0.0.1:9/x" {
		t.Errorf("edit: status %d: %s", status, edit.text)
	}
	if _, again := send("/admin/projects/p/servers", "retry", "1"); !again.shows("1 of 3 servers added.") || !again.shows("Couldn't connect") {
		t.Errorf("retry: %s", again.text)
	}
	if _, again := send("/admin/projects/p/servers", "untested", "0"); !again.shows("2 of 3 servers added.") || again.form.Get("0.alias") != "y" {
		t.Errorf("anyway: %s", again.text)
	}
	if stored := a.stored(t, "p")["x"]; !stored.Enabled || stored.Headers["X-Key"] != "sealed a-key-of-the-paste" {
		t.Errorf("stored %+v", stored)
	}
	if _, rest := send("/admin/projects/p/servers", "discard", "1"); !rest.shows("1 of 2 servers added.") {
		t.Errorf("discard: %s", rest.text)
	}
}

func TestWizardAddsUnreachedServersTurnedOff(t *testing.T) {
	a := newPasteApp(t, modelstest.SQLite(t))
	a.newProject(t, "p")
	_, body := a.submit(t, "/admin/projects/p/servers/new", url.Values{"pasted": {`{"x":{"url":"http://127.0.0.1:9/x"},"y":{"url":"http://127.0.0.1:9/y"}}`}})
	form := readPage(t, body).form
	status, body := a.submit(t, "/admin/projects/p/servers", form)
	if page := readPage(t, body); status != 422 || !page.shows("No server was added.") || page.form.Get("0.url") != "http://127.0.0.1:9/x" || len(a.stored(t, "p")) != 0 {
		t.Errorf("status %d: %s", status, page.text)
	}
	form.Set("anyway", "1")
	status, _ = a.submit(t, "/admin/projects/p/servers", form)
	if stored := a.stored(t, "p"); status != 303 || len(stored) != 2 || stored["x"].Enabled {
		t.Errorf("status %d, stored %+v", status, stored)
	}
}

func TestWizardRequiresConfirmationInOpenProject(t *testing.T) {
	a := newPasteApp(t, modelstest.SQLite(t))
	if status, body := a.request(t, "POST", "/api/projects", "application/json", `{"projectSlug":"p","authMode":"none"}`); status != 201 {
		t.Fatalf("project: %d %s", status, body)
	}
	clock := upstreamtest.New(demo.Servers()[0]).Start(t)
	_, body := a.submit(t, "/admin/projects/p/servers/new", url.Values{"pasted": {fmt.Sprintf(`{"a":{"url":%q,"headers":{"X-Key":"secret"}}}`, clock)}})
	form := readPage(t, body).form
	status, body := a.submit(t, "/admin/projects/p/servers", form)
	if status != 422 || !strings.Contains(body, "leave the credentials out") || len(a.stored(t, "p")) != 0 {
		t.Errorf("status %d, stored %v", status, a.stored(t, "p"))
	}
	form.Set("understood", "on")
	if status, _ = a.submit(t, "/admin/projects/p/servers", form); status != 303 || len(a.stored(t, "p")) != 1 {
		t.Errorf("confirmed: status %d, stored %v", status, a.stored(t, "p"))
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

package main

import (
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const demoCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"clock__current_time","arguments":{"zone":"Europe/Berlin"}}}`

func TestDemoLifecycle(t *testing.T) {
	environ := surroundings(t)
	s := startServing(t, environ)
	code, out, errs := commandLine(t, environ, "", "admin", "setup-link")
	link, err := url.Parse(strings.TrimSpace(out))
	if code != 0 || err != nil {
		t.Fatalf("setup-link: %d %q %q %v", code, out, errs, err)
	}
	visitor := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	page, err := visitor.Get(s.url + link.RequestURI())
	if err != nil {
		t.Fatal(err)
	}
	html, err := io.ReadAll(page.Body)
	page.Body.Close()
	if err != nil || !strings.Contains(string(html), `name="demo"`) {
		t.Fatalf("setup page does not offer the demo: %s, %v", html, err)
	}
	form := url.Values{
		"token": {link.Query().Get("token")}, "email": {"ada@example.com"}, "name": {"Ada"}, "demo": {"1"},
		"password": {"lighthouse keeps its own time"}, "again": {"lighthouse keeps its own time"},
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/setup", strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Origin", s.url)
	made, err := visitor.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	made.Body.Close()
	if to := made.Header.Get("Location"); made.StatusCode != http.StatusSeeOther || to != "/admin/projects/demo" {
		t.Fatalf("setup: %s, redirect to %q", made.Status, to)
	}
	if got, err := s.post(t, "demo", demoCall); err != nil || !strings.Contains(got, `"structuredContent"`) {
		t.Errorf("call to the demo: %s, %v", got, err)
	}
	end(t, s)

	s = startServing(t, environ) // its servers stopped with the process and restart with the next
	if got, err := s.post(t, "demo", demoCall); err != nil || !strings.Contains(got, `"structuredContent"`) {
		t.Errorf("call to the demo after a restart: %s, %v", got, err)
	}
	end(t, s)

	none := filepath.Join(t.TempDir(), "none.json")
	if err := os.WriteFile(none, []byte(`{"projects":{}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := commandLine(t, environ, "", "apply", "-f", none, "--prune"); code != 0 {
		t.Fatalf("apply: %d %q %q", code, out, errs)
	}
	s = startServing(t, environ) // deleted servers don't come back
	if got, err := s.post(t, "demo", demoCall); err != nil || !strings.Contains(got, "NOT_FOUND") {
		t.Errorf("call to the deleted demo: %s, %v", got, err)
	}
	end(t, s)
}

// A second process on the same database uses the demo servers of the first.
func TestDemoRunsInOneProcess(t *testing.T) {
	environ := surroundings(t)
	first := startServing(t, environ, "--demo")
	second := startServing(t, environ)
	third := startServing(t, environ, "--demo")
	for _, s := range []*serving{third, second} {
		if got, err := s.post(t, "demo", demoCall); err != nil || !strings.Contains(got, `"structuredContent"`) {
			t.Errorf("call to the demo with two processes: %s, %v", got, err)
		}
		end(t, s)
	}
	if got, err := first.post(t, "demo", demoCall); err != nil || !strings.Contains(got, `"structuredContent"`) {
		t.Errorf("call to the demo after the first process stopped: %s, %v", got, err)
	}
	end(t, first)
}

// end stops a gateway and waits until it has stopped.
func end(t *testing.T, s *serving) {
	t.Helper()
	s.end()
	if code := <-s.code; code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// A user's project that happens to have the demo's name is unchanged.
func TestDemoKeepsUserProjects(t *testing.T) {
	environ := surroundings(t)
	declared := filepath.Join(t.TempDir(), "own.json")
	const own = "http://127.0.0.1:9/mcp"
	if err := os.WriteFile(declared, []byte(`{"projects":{"demo":{"authMode":"none","mcpServers":{"clock":{"url":"`+own+`","authType":"bearer","authBearer":"my token"}}}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := commandLine(t, environ, "", "apply", "-f", declared); code != 0 {
		t.Fatalf("apply: %d %q %q", code, out, errs)
	}
	s := startServing(t, environ, "--demo")
	end(t, s)
	if strings.Contains(s.out.String(), "demo") {
		t.Errorf("unexpected output: %s", s.out)
	}
	if code, out, errs := commandLine(t, environ, "", "export", "--project", "demo"); code != 0 || !strings.Contains(out, own) {
		t.Errorf("export: %d %q %q", code, out, errs)
	}
}

func TestDemoPrintsOnlyExistingTools(t *testing.T) {
	environ := surroundings(t)
	s := startServing(t, environ, "--demo")
	until(t, "the line is printed", func() bool { return strings.Contains(s.out.String(), "curl") })
	end(t, s)
	kept := filepath.Join(t.TempDir(), "kept.json")
	if err := os.WriteFile(kept, []byte(`{"projects":{"demo":{"mcpServers":{"text":{}}}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := commandLine(t, environ, "", "apply", "-f", kept, "--prune"); code != 0 {
		t.Fatalf("apply: %d %q %q", code, out, errs)
	}
	s = startServing(t, environ, "--demo")
	until(t, "the address is printed", func() bool { return strings.Contains(s.out.String(), "/v1/mcp/demo/request") })
	end(t, s)
	if strings.Contains(s.out.String(), "curl") {
		t.Errorf("unexpected output: %s", s.out)
	}
}

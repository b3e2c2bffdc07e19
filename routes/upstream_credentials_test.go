package routes_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/certificates/certificatestest"
	"mcpgateway/services/upstream/upstreamtest"
)

// callWith calls a tool of a project with headers and returns the response's status
// and body.
func callWith(t *testing.T, a *routestest.App, slug, tool, key string, headers map[string]string) (int, string) {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":{"text":"hello"}}}`
	r := httptest.NewRequest("POST", "/v1/mcp/"+slug+"/request", strings.NewReader(body))
	r.Host = "127.0.0.1:8080"
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	r.Header.Set("Authorization", "Bearer "+key)
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	answer, err := a.Test(r, 30_000)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

func inJSON(text string) string {
	b, _ := json.Marshal(text)
	return string(b)
}

// TestForwardedHeaders forwards headers to a server of each era. Two values share no
// session, and nothing else of the request arrives.
func TestForwardedHeaders(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		a := routestest.New(t, dsn)
		for i, era := range upstreamtest.AllEras() {
			up := upstreamtest.New(upstreamtest.Options{Tools: upstreamtest.Standard(1), Eras: []upstreamtest.Era{era}})
			slug := fmt.Sprintf("p%d", i)
			a.Apply(t, `{"projects":{"`+slug+`":{"recordPayloads":true,"mcpServers":{"s":{"url":"`+up.Start(t)+`","headers":{"X-Shared":"shared-value"},"forwardHeaders":{"X-GitHub-Token":"Authorization","X-Team":"","X-Hop":"","X-Never":"X-Never"}}}}}}`)
			a.Sync(t, slug, "s")
			for _, r := range up.Requests() {
				if r.Header.Get("X-Team") != "" || r.Header.Get("Authorization") != "" {
					t.Errorf("%s: the sync sent %v", era, r.Header)
				}
			}
			_, key := a.Key(t, slug, time.Hour)
			calls := func() []upstreamtest.Recorded { return up.Requests("tools/call") } // the gateway also watches, with a session for itself
			seen := 0
			sessions := map[string]string{}
			for _, round := range []string{"one", "two", "one"} {
				status, body := callWith(t, a, slug, "s__echo", key, map[string]string{
					"X-GitHub-Token": "Bearer gh-canary-" + round, "X-Team": "team-canary-" + round, "X-Hop": "hop-canary", "Connection": "close, X-Hop",
					"X-Never": "with " + key, "Cookie": "c=cookie-canary", "X-Request-Id": "12345678", "X-Other": "other-canary",
				})
				if status != http.StatusOK || !strings.Contains(body, "hello") {
					t.Fatalf("%s: %d %s", era, status, body)
				}
				for _, r := range calls()[seen:] {
					all := fmt.Sprint(r.Header)
					if r.Header.Get("Authorization") != "Bearer gh-canary-"+round || r.Header.Get("X-Team") != "team-canary-"+round || r.Header.Get("X-Shared") != "shared-value" {
						t.Errorf("%s, %s: %s %s has %v", era, round, r.HTTPMethod, r.Method, r.Header)
					}
					for _, secret := range []string{key, "hop-canary", "cookie-canary", "12345678", "other-canary"} {
						if strings.Contains(all, secret) {
							t.Errorf("%s: %q arrived: %v", era, secret, r.Header)
						}
					}
					if id := r.Header.Get("Mcp-Session-Id"); id != "" {
						if sessions[id] != "" && sessions[id] != round {
							t.Errorf("%s: session %s of %s has calls of %s", era, id, sessions[id], round)
						}
						sessions[id] = round
					}
				}
				seen = len(calls())
			}
			if n := len(sessions); n != 2 && era != upstreamtest.Era20241105 && !era.Stateless() {
				t.Errorf("%s: %d sessions, want 2", era, n)
			}
			// The limit is 8 KiB together.
			for n, want := range map[int]bool{8191: true, 8192: true, 8193: false} {
				half := strings.Repeat("x", n/2)
				_, body := callWith(t, a, slug, "s__echo", key, map[string]string{"X-GitHub-Token": half, "X-Team": strings.Repeat("y", n-n/2)})
				if ok := strings.Contains(body, "hello"); ok != want || !want && !strings.Contains(body, "INVALID_PARAMETER") || strings.Contains(body, "xxxx") {
					t.Errorf("%s: %d bytes: %.200s", era, n, body)
				}
			}
			if n := len(calls()) - seen; n != 2 {
				t.Errorf("%s: %d calls were sent, want 2", era, n)
			}
			for _, r := range up.Requests() {
				if all := fmt.Sprint(r.Header); strings.Contains(all, key) || strings.Contains(all, "cookie-canary") {
					t.Errorf("%s: a credential arrived: %v", era, r.Header)
				}
			}
		}
		text := a.Log.String()
		var calls, payloads []map[string]any
		if err := a.Services.DB.Table("calls").Find(&calls).Error; err != nil {
			t.Fatal(err)
		}
		if err := a.Services.DB.Table("call_payloads").Find(&payloads).Error; err != nil {
			t.Fatal(err)
		}
		for _, where := range []string{text, fmt.Sprint(calls), fmt.Sprint(payloads)} {
			if strings.Contains(where, "canary") || strings.Contains(where, "yyyyyyyyyy") {
				t.Errorf("a forwarded value was stored or logged: %.300s", where[max(0, strings.Index(where, "canary")-200):])
			}
		}
	})
}

// TestForwardedValueInError has a server that repeats what it receives.
func TestForwardedValueInError(t *testing.T) {
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "no access with "+r.Header.Get("X-Team"), http.StatusInternalServerError)
	}))
	defer echo.Close()
	a := routestest.New(t, modelstest.SQLite(t))
	up := upstreamtest.New(upstreamtest.Options{Tools: upstreamtest.Standard(1)})
	a.Apply(t, `{"projects":{"p":{"recordPayloads":true,"mcpServers":{"s":{"url":"`+up.Start(t)+`","forwardHeaders":["X-Team"]}}}}}`)
	a.Sync(t, "p", "s")
	_, key := a.Key(t, "p", time.Hour)
	a.Apply(t, `{"projects":{"p":{"mcpServers":{"s":{"url":"`+echo.URL+`"}}}}}`)
	routestest.Eventually(t, "the changed URL", func() bool {
		p, err := a.Services.Directory.Project("p")
		return err == nil && p.Server("s").Config.URL == echo.URL
	})
	_, body := callWith(t, a, "p", "s__echo", key, map[string]string{"X-Team": "team-canary"})
	if !strings.Contains(body, "UPSTREAM_") || strings.Contains(body, "canary") || strings.Contains(a.Log.String(), "canary") {
		t.Errorf("answer %s", body)
	}
}

// TestServerCertificates calls a server with a private CA that requires a client
// certificate, whose key is in a file.
func TestServerCertificates(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		ours, theirs := certificatestest.New(t), certificatestest.New(t)
		folder, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		keyFile, tokenFile := filepath.Join(folder, "key.pem"), filepath.Join(folder, "token")
		certificate, key := ours.Issue(t)
		write := func(path, text string) {
			t.Helper()
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write(keyFile, key)
		write(tokenFile, "token-one\n")
		up := upstreamtest.New(upstreamtest.Options{Tools: upstreamtest.Standard(1)})
		t.Cleanup(up.Close)
		url := ours.Serve(t, up, ours, 0) + "/mcp"
		a := routestest.New(t, dsn, "GATEWAY_SECRET_DIRS="+folder)
		server := func(ca, more string) {
			t.Helper()
			a.Apply(t, `{"projects":{"p":{"mcpServers":{"s":{"url":"`+url+`","authType":"bearer","authBearer":"${file:`+tokenFile+`}","tls":{"ca":`+inJSON(ca)+more+`}}}}}}`)
		}
		failed := func(want string) {
			t.Helper()
			_, err := a.Services.Syncer.Sync(t.Context(), a.ServerID(t, "p", "s"))
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Fatalf("sync: %v, want %q", err, want)
			}
		}
		both := `,"cert":` + inJSON(certificate) + `,"key":"${file:` + keyFile + `}"`
		server(ours.PEM, "")
		failed("certificate")
		server(theirs.PEM, both)
		failed("certificate is not trusted")
		server(ours.PEM, both)
		a.Sync(t, "p", "s")
		_, caller := a.Key(t, "p", time.Hour)
		call := func() (token, body string) {
			t.Helper()
			_, body = callWith(t, a, "p", "s__echo", caller, nil)
			requests := up.Requests("tools/call")
			if len(requests) == 0 {
				return "", body
			}
			return requests[len(requests)-1].Header.Get("Authorization"), body
		}
		if token, body := call(); token != "Bearer token-one" || !strings.Contains(body, "hello") {
			t.Fatalf("token %q: %s", token, body)
		}

		// A changed file is used within a second; a link out is refused.
		write(tokenFile, "token-two")
		changed := time.Now()
		routestest.Eventually(t, "the changed token", func() bool { token, _ := call(); return token == "Bearer token-two" })
		if took := time.Since(changed); took > 5*time.Second { // 1 s is guaranteed; the machine may be busy
			t.Errorf("the changed token was used after %v", took)
		}
		outside := filepath.Join(t.TempDir(), "token")
		write(outside, "token-outside")
		if err := os.Remove(tokenFile); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(outside, tokenFile); err != nil {
			t.Fatal(err)
		}
		routestest.Eventually(t, "the refused link", func() bool {
			_, body := call()
			return strings.Contains(body, "UPSTREAM_UNAUTHORIZED") && strings.Contains(body, "link out")
		})
		for _, r := range up.Requests() {
			if strings.Contains(r.Header.Get("Authorization"), "outside") {
				t.Error("the secret outside was sent")
			}
		}
	})
}

package routes_test

import (
	"compress/gzip"
	"io"
	"maps"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/static"
	"mcpgateway/web/webtest"
)

// allEncodings is the Accept-Encoding header of browsers.
const allEncodings = "gzip, deflate, br, zstd"

// fetch requests a page with the cookies of the browser.
func (b *browser) fetch(t *testing.T, path string, header map[string]string) webtest.Response {
	t.Helper()
	all := map[string]string{"Accept": "text/html", "Sec-Fetch-Site": "same-origin"}
	var cookies []string
	for name, value := range b.cookies {
		cookies = append(cookies, name+"="+value)
	}
	all["Cookie"] = strings.Join(cookies, "; ")
	maps.Copy(all, header)
	return webtest.Send(t, b.App.App, webtest.Case{Path: path, Header: all})
}

// fetchBoth requests a page without and with an encoding. Pages contain current
// states, times and numbers, so it repeats both until the uncompressed page is
// the same before and after the compressed one.
func (b *browser) fetchBoth(t *testing.T, path, encoding string) (plain, compressed webtest.Response) {
	t.Helper()
	plain = b.fetch(t, path, nil)
	routestest.Eventually(t, path+" without changes between requests", func() bool {
		before := plain
		compressed = b.fetch(t, path, map[string]string{"Accept-Encoding": encoding})
		plain = b.fetch(t, path, nil)
		return equalMasked(before.Body, plain.Body)
	})
	return plain, compressed
}

func decompressed(t *testing.T, encoding, body string) string {
	t.Helper()
	var from io.Reader = strings.NewReader(body)
	switch encoding {
	case "br":
		from = brotli.NewReader(from)
	case "gzip":
		r, err := gzip.NewReader(from)
		if err != nil {
			t.Fatal(err)
		}
		from = r
	case "zstd":
		r, err := zstd.NewReader(from)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		from = r
	}
	raw, err := io.ReadAll(from)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// masks matches the tokens and cursors that differ in every response.
var masks = regexp.MustCompile(`name="csrf" value="[^"]*"|cursor=[^"&]*|"nextCursor":"[^"]*"`)

// equalMasked reports whether two pages differ in masks only.
func equalMasked(a, b string) bool {
	return a == b || masks.ReplaceAllString(a, "") == masks.ReplaceAllString(b, "")
}

func TestCompressedResponses(t *testing.T) {
	w := newFormWorld(t)
	for _, path := range []string{
		"/", "/registry", "/templates", "/sitemap.xml", "/login", static.URL("css/app.css"), static.URL("vendor/htmx.min.js"), static.URL("icons.svg"),
		"/api/registry", "/api/templates", "/v0.1/servers", "/api/openapi.json", "/admin/projects/p/tools", "/admin/audit", "/api/projects/p/tools",
	} {
		b := w.browser
		if path == "/login" || path == "/" { // signed-in users are redirected
			b = &browser{App: w.App}
		}
		for _, encoding := range []string{"zstd", "br", "gzip"} {
			plain, a := b.fetchBoth(t, path, encoding)
			if plain.Status != http.StatusOK || plain.Header.Get("Content-Encoding") != "" || !strings.Contains(strings.Join(plain.Header.Values("Vary"), ","), "Accept-Encoding") {
				t.Fatalf("%s: %d %v", path, plain.Status, plain.Header)
			}
			if got := a.Header.Get("Content-Encoding"); got != encoding {
				t.Fatalf("%s: Content-Encoding = %q, want %s", path, got, encoding)
			}
			if !equalMasked(decompressed(t, encoding, a.Body), plain.Body) {
				t.Errorf("%s: body differs in %s", path, encoding)
			}
			if !strings.Contains(strings.Join(a.Header.Values("Vary"), ","), "Accept-Encoding") || len(a.Body) > len(plain.Body)*2/3 {
				t.Errorf("%s in %s: %d bytes of %d, %v", path, encoding, len(a.Body), len(plain.Body), a.Header)
			}
			t.Logf("%s: %d bytes, %d in %s", path, len(plain.Body), len(a.Body), encoding)
			if tag := a.Header.Get("ETag"); tag != "" {
				again := b.fetch(t, path, map[string]string{"Accept-Encoding": encoding, "If-None-Match": tag})
				if again.Status != http.StatusNotModified || again.Body != "" || again.Header.Get("ETag") != tag || tag != "W/"+plain.Header.Get("ETag") {
					t.Errorf("%s in %s again: %d %v, not %s", path, encoding, again.Status, again.Header, tag)
				}
			}
		}
	}
}

func TestMCPNeverCompressed(t *testing.T) {
	w := newFormWorld(t)
	w.Apply(t, `{"projects":{"big":{"authMode":"none","codeMode":{"enabled":true}}}}`)
	for name, c := range map[string]webtest.Case{
		"request":        {Path: "/v1/mcp/big/request", Body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`},
		"events":         {Path: "/v1/mcp/big/sse", Body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"listTools","arguments":{}}}`},
		"wrong endpoint": {Path: "/v1/mcp/other/request", Body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`},
		"error page":     {Path: "/v1/mcp/big/request"},
	} {
		c.Header = map[string]string{"Accept": "application/json, text/event-stream", "Accept-Encoding": allEncodings}
		a := webtest.Send(t, w.App.App, c)
		if a.Header.Get("Content-Encoding") != "" || strings.Contains(a.Header.Get("Vary"), "Accept-Encoding") {
			t.Errorf("%s: %d %v", name, a.Status, a.Header)
		}
		if (name == "request" || name == "events") && (a.Status != 200 || name == "request" && len(a.Body) < 1024 || name == "events" && a.Header.Get("Content-Type") != "text/event-stream") {
			t.Errorf("%s: %d with %d bytes, too few for compression: %s", name, a.Status, len(a.Body), a.Body)
		}
	}
}

func TestNewSecretsNeverCompressed(t *testing.T) {
	w := newFormWorld(t)
	plain := func(what string, a webtest.Response, secret string) {
		t.Helper()
		if a.Header.Get("Content-Encoding") != "" || strings.Contains(strings.Join(a.Header.Values("Vary"), ","), "Accept-Encoding") || !strings.Contains(a.Body, secret) {
			t.Errorf("%s: %d %v", what, a.Status, a.Header)
		}
	}
	accept := map[string]string{"Accept-Encoding": allEncodings}
	made := w.post(t, keysForm, newKeyForm())
	plain("page of a new key", w.fetch(t, made.Location, accept), "gwk_")
	delete(w.cookies, "once")
	if later := w.fetch(t, made.Location, accept); later.Header.Get("Content-Encoding") != "zstd" {
		t.Errorf("page without the key: %v", later.Header)
	}

	program := map[string]string{"Accept-Encoding": allEncodings, "Authorization": "Bearer " + routestest.AdminToken}
	created := webtest.Send(t, w.App.App, webtest.Case{Path: "/api/projects/p/keys", Body: `{"name":"` + strings.Repeat("n", 60) + `"}`, Header: program})
	plain("new key of the API", created, `"key":"gwk_`)
	id := regexp.MustCompile(`"id":"([^"]+)"`).FindStringSubmatch(created.Body)
	if id == nil {
		t.Fatalf("no key: %s", created.Body)
	}
	plain("rotated key of the API", webtest.Send(t, w.App.App, webtest.Case{Path: "/api/keys/" + id[1] + "/rotate", Body: `{}`, Header: program}), `"key":"gwk_`)
	plain("registered client", webtest.Send(t, w.App.App, webtest.Case{Path: "/oauth/register", Header: accept,
		Body: `{"redirect_uris":["https://client.example/callback"],"token_endpoint_auth_method":"client_secret_basic","client_name":"` + strings.Repeat("n", 60) + `"}`}), "gwcs_")

	visitor := &browser{App: w.App}
	plain("sign-in with a stored form", visitor.fetch(t, "/login?form=abcdef", accept), "abcdef")
	plain("confirming", w.fetch(t, "/login/again?form=abcdef", accept), "")
	empty := &browser{App: routestest.New(t, modelstest.SQLite(t))}
	plain("setup", empty.fetch(t, "/setup?token=onetimecode", accept), "onetimecode")
}

func TestTokensMaskedInPages(t *testing.T) {
	w := newFormWorld(t)
	token := regexp.MustCompile(`name="csrf" value="([^"]+)"`)
	var given []string
	for range 2 {
		a := w.fetch(t, "/admin/projects/p/tools", map[string]string{"Accept-Encoding": "gzip"})
		found := token.FindStringSubmatch(decompressed(t, a.Header.Get("Content-Encoding"), a.Body))
		if a.Header.Get("Content-Encoding") != "gzip" || found == nil {
			t.Fatalf("no form: %d %v", a.Status, a.Header)
		}
		given = append(given, found[1])
	}
	if given[0] == given[1] {
		t.Error("two pages have the same mask")
	}
	for _, csrf := range given {
		w.csrf = csrf
		if got := w.post(t, keysForm, newKeyForm()); got.Status != http.StatusSeeOther {
			t.Errorf("mask of a page: status %d", got.Status)
		}
	}
	w.csrf = given[0][:len(given[0])-2] + strings.Repeat(string(given[0][0]^1), 2)
	if got := w.post(t, keysForm, newKeyForm()); got.Status != http.StatusForbidden {
		t.Errorf("changed mask: status %d", got.Status)
	}
}

func TestUserPagesCachedPerSession(t *testing.T) {
	w := newFormWorld(t)
	const path = "/registry/asana/asana"
	tag := ""
	routestest.Eventually(t, "the same page twice, after the first syncs", func() bool {
		first := w.fetch(t, path, nil)
		tag = first.Header.Get("ETag")
		if !strings.Contains(first.Body, `name="csrf"`) || tag == "" {
			t.Fatalf("no form: %v", first.Header)
		}
		return w.fetch(t, path, map[string]string{"If-None-Match": tag}).Status == http.StatusNotModified
	})
	if other := newBrowser(t, w.App).fetch(t, path, map[string]string{"If-None-Match": tag}); other.Status != http.StatusOK {
		t.Errorf("another session: status %d", other.Status)
	}
}

package card_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/routes/mcp/card"
	"mcpgateway/routes/routestest"
	"mcpgateway/web/webtest"
)

const versions = `["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"]`

func TestServerCard(t *testing.T) {
	a := routestest.New(t, modelstest.SQLite(t))
	a.Apply(t, `{"projects":{
		"open":{"name":"Öpen \"1\"","description":"Line\n  break","authMode":"none","serverCard":true,"toolsets":{"reader":{"description":"Reads."},"writer":{"name":"Writer"}}},
		"keys":{"name":"","serverCard":true},
		"long":{"authMode":"oauth","serverCard":true,"description":"`+strings.Repeat("é", 101)+`"},
		"hidden":{"authMode":"none"}}}`)
	base := a.Services.Config.PublicURL.String()
	remote := func(path, more string) string {
		return `"remotes":[{"type":"streamable-http","url":"` + base + `/v1/mcp/` + path + `/request",` + more + `"supportedProtocolVersions":` + versions + `}]}`
	}
	const head = `{"$schema":"https://static.modelcontextprotocol.io/schemas/v2/server-card.schema.json","name":"127.0.0.1/`
	for path, want := range map[string]string{
		"open":                 head + `open","version":"test","description":"Line break","title":"Öpen \"1\"",` + remote("open", ""),
		"open/toolsets/reader": head + `open.reader","version":"test","description":"Reads.","title":"Öpen \"1\", reader",` + remote("open/toolsets/reader", ""),
		"open/toolsets/writer": head + `open.writer","version":"test","description":"Line break","title":"Öpen \"1\", Writer",` + remote("open/toolsets/writer", ""),
		"keys":                 head + `keys","version":"test","description":"keys",` + remote("keys", `"headers":[{"name":"Authorization","description":"Bearer and a key of the project","isRequired":true,"isSecret":true}],`),
		"long":                 head + `long","version":"test","description":"` + strings.Repeat("é", 99) + `…","title":"long",` + remote("long", ""),
	} {
		webtest.Check(t, webtest.Case{
			WantJSON: want, WantHeader: map[string]string{"Content-Type": "application/mcp-server-card+json", "Access-Control-Allow-Origin": "*", "Cache-Control": "public, max-age=3600"},
		}, webtest.Send(t, a.App, webtest.Case{Path: "/v1/mcp/" + path + "/request/server-card", Header: map[string]string{"Origin": "https://other.example"}}))
	}
	preflight := webtest.Send(t, a.App, webtest.Case{Method: "OPTIONS", Path: "/v1/mcp/open/request/server-card", Header: map[string]string{"Origin": "https://other.example", "Access-Control-Request-Method": "GET"}})
	webtest.Check(t, webtest.Case{WantHeader: map[string]string{"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Methods": "GET, HEAD, OPTIONS"}}, preflight)

	// Without the key, the response is that for an unknown project.
	for _, path := range []string{"hidden", "unknown", "open/toolsets/none", "hidden/toolsets/none"} {
		slug, _, _ := strings.Cut(path, "/")
		answer := webtest.Send(t, a.App, webtest.Case{Path: "/v1/mcp/" + path + "/request/server-card"})
		if answer.Status != http.StatusNotFound || !strings.Contains(answer.Body, `There is no Server Card \"`+slug+`\".`) {
			t.Errorf("%s: %d %s", path, answer.Status, answer.Body)
		}
	}
	for _, path := range []string{"/v1/mcp/open/sse/server-card", "/.well-known/mcp", "/.well-known/mcp.json", "/.well-known/mcp/server-card.json", "/.well-known/mcp/catalog.json"} {
		if answer := webtest.Send(t, a.App, webtest.Case{Path: path}); answer.Status != http.StatusNotFound {
			t.Errorf("%s: %d %s", path, answer.Status, answer.Body)
		}
	}
	a.Apply(t, `{"projects":{"open":{"serverCard":false}}}`)
	if answer := webtest.Send(t, a.App, webtest.Case{Path: "/v1/mcp/open/request/server-card"}); answer.Status != http.StatusNotFound {
		t.Errorf("turned off: %d %s", answer.Status, answer.Body)
	}
}

// TestServerCardNames checks the names of cards by the host of the public URL.
func TestServerCardNames(t *testing.T) {
	a := routestest.New(t, modelstest.SQLite(t))
	a.Apply(t, `{"projects":{"p":{"serverCard":true,"authMode":"`+string(models.AuthNone)+`"}}}`)
	for origin, want := range map[string]string{
		"https://mcp.gateway.example.com":      "com.example.gateway.mcp/p",
		"https://mcp.gateway.example.com:8443": "com.example.gateway.mcp/p",
		"http://localhost:8080":                "localhost/p",
		"http://192.0.2.7":                     "192.0.2.7/p",
		"http://[2001:db8::1]:8080":            "2001-db8--1/p",
	} {
		at, err := url.Parse(origin)
		if err != nil {
			t.Fatal(err)
		}
		app := fiber.New()
		app.Get("/:projectSlug", card.New(at, "1", a.Services.Views).Serve)
		answer, err := app.Test(httptest.NewRequest(http.MethodGet, "/p", nil))
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Name    string
			Remotes []struct{ URL string }
		}
		err = json.NewDecoder(answer.Body).Decode(&got)
		if answer.Body.Close(); err != nil || got.Name != want || got.Remotes[0].URL != origin+"/v1/mcp/p/request" {
			t.Errorf("%s: %+v, %v, want %s", origin, got, err, want)
		}
	}
}

package routes_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/upstream/upstreamtest"
	"mcpgateway/web/webtest"
)

// unusedGolden has the responses of the last release with the schema version
// lastUnused to the requests of this file. It had no toolsets, grants, groups or
// personal keys, and wrote the file itself. The file may change only by hand,
// together with an intended change for all installations.
const (
	unusedGolden = "testdata/unused.txt"
	lastUnused   = 25
)

// unusedIDs matches what differs in every response.
var unusedIDs = regexp.MustCompile(`"requestId":"[^"]+"`)

// unused is an upgraded installation that uses nothing new, with the responses
// to its clients.
type unused struct {
	*routestest.App
	old       kept
	upstream  string // URL
	responses strings.Builder
}

// newUnused fills a database of the old schema and starts the program on it.
func newUnused(t *testing.T, dsn string, old kept) *unused {
	t.Helper()
	tool := func(name, properties string) upstreamtest.Tool {
		return upstreamtest.Tool{Definition: `{"name":"` + name + `","description":"Does ` + name + `.","inputSchema":{"type":"object","properties":` + properties + `}}`}
	}
	up := upstreamtest.New(upstreamtest.Options{
		Name: "old", Version: "1", Instructions: "Be old.", Capabilities: `{"tools":{},"prompts":{},"resources":{"subscribe":true},"completions":{}}`,
		Tools: []upstreamtest.Tool{upstreamtest.Echo(), tool("off", `{}`), tool("no_way", `{}`), tool("erase", `{"path":{"type":"string"}}`)},
		Methods: map[string]upstreamtest.Handler{
			"prompts/list": respond(`{"prompts":[{"name":"greet"}]}`), "prompts/get": respond(`{"messages":[]}`),
			"resources/list": respond(`{"resources":[{"uri":"old://doc","name":"doc"}]}`), "resources/read": respond(`{"contents":[]}`),
			"resources/templates/list": respond(`{"resourceTemplates":[{"uriTemplate":"old://{id}","name":"docs"}]}`),
			"resources/subscribe":      respond(`{}`), "completion/complete": respond(`{"completion":{"values":["old"]}}`),
		},
	})
	w := &unused{old: old, upstream: up.Start(t)}
	rows := append(oldRows(old), unusedRows()...)
	for i := range rows {
		rows[i].statement = strings.NewReplacer("http://127.0.0.1:1/mcp", w.upstream, "2.5, 7,", "2.5, 7000,").Replace(rows[i].statement) // no call is limited
	}
	fill(t, dsn, lastUnused, rows)
	w.App = routestest.New(t, dsn)
	for _, slug := range []string{"work", "team", "open"} {
		w.Sync(t, slug, "up")
	}
	return w
}

func respond(result string) upstreamtest.Handler {
	return func(context.Context, *upstreamtest.Call) upstreamtest.Result { return upstreamtest.JSON(result) }
}

// send sends a request and records the response.
func (w *unused) send(t *testing.T, what string, c webtest.Case) webtest.Response {
	t.Helper()
	a := webtest.Send(t, w.App.App, c)
	w.record(what, fmt.Sprint(a.Status, " ", a.Header.Get("WWW-Authenticate"), " ", unusedIDs.ReplaceAllString(a.Body, `"requestId":""`)))
	return a
}

func (w *unused) record(what, text string) {
	text = strings.NewReplacer(w.upstream, "UPSTREAM").Replace(text)
	fmt.Fprintf(&w.responses, "# %s\n%s\n", what, strings.TrimSpace(text))
}

// rpc sends a JSON-RPC request of a client of the version.
func (w *unused) rpc(t *testing.T, slug, credential, version, method, params string, headers ...string) webtest.Response {
	t.Helper()
	h := map[string]string{"Authorization": "Bearer " + credential, "Accept": "application/json", "MCP-Protocol-Version": version}
	if version >= "2026-07-28" {
		h["Mcp-Method"] = method
		var named struct{ Name, URI string }
		if err := json.Unmarshal([]byte(params), &named); err != nil {
			t.Fatal(err)
		}
		if name := named.Name + named.URI; name != "" {
			h["Mcp-Name"] = name
		}
		params = strings.Replace(`{"_meta":{"io.modelcontextprotocol/protocolVersion":"`+version+`","io.modelcontextprotocol/clientCapabilities":{}},`+params[1:], ",}", "}", 1)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		h[headers[i]] = headers[i+1]
	}
	return w.send(t, slug+" "+version+" "+method+" "+params, webtest.Case{
		Method: http.MethodPost, Path: "/v1/mcp/" + slug + "/request", Header: h, Body: `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`,
	})
}

// use sends the requests of the clients of a project.
func (w *unused) use(t *testing.T, slug, credential string) {
	t.Helper()
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		hello := [2]string{"initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`}
		if version >= "2026-07-28" {
			hello = [2]string{"server/discover", `{}`}
		}
		for _, r := range [][2]string{
			hello, {"ping", `{}`}, {"tools/list", `{}`}, {"prompts/list", `{}`}, {"resources/list", `{}`}, {"resources/templates/list", `{}`},
			{"tools/call", `{"name":"up__echo","arguments":{"text":"hi"}}`}, {"tools/call", `{"name":"up__off","arguments":{}}`}, {"tools/call", `{"name":"up__no_way","arguments":{}}`},
			{"tools/call", `{"name":"up__never","arguments":{}}`}, {"tools/call", `{"name":"never__was","arguments":{}}`}, {"tools/call", `{"name":"echo","arguments":{"text":"hi"}}`},
			{"tools/call", `{"name":"gateway_listTools","arguments":{}}`}, {"tools/call", `{"name":"gateway_listTools","arguments":{"filter":"echo"}}`},
			{"tools/call", `{"name":"gateway_searchMcpForTask","arguments":{"task":"echo a text"}}`}, {"tools/call", `{"name":"gateway_searchMcpForTask","arguments":{"query":"server:up"}}`},
			{"tools/call", `{"name":"gateway_searchMcpForTask","arguments":{"query":"server:never"}}`}, {"tools/call", `{"name":"gateway_executeTool","arguments":{"name":"up__echo","arguments":{"text":"hi"}}}`},
			{"prompts/get", `{"name":"up__greet"}`}, {"prompts/get", `{"name":"up__never"}`}, {"resources/read", `{"uri":"old://doc"}`}, {"resources/read", `{"uri":"never://doc"}`},
			{"completion/complete", `{"ref":{"type":"ref/prompt","name":"up__greet"},"argument":{"name":"a","value":""}}`},
		} {
			w.rpc(t, slug, credential, version, r[0], r[1])
		}
	}
	for _, credential := range []string{credential, "unknown", ""} {
		w.send(t, slug+" bridge", webtest.Case{
			Path: "/v1/mcp/" + slug + "/sse", Header: map[string]string{"Authorization": "Bearer " + credential}, Body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"up__echo","arguments":{"text":"hi"}}}`,
		})
		w.rpc(t, slug, credential, "2025-03-26", "tools/list", `{}`)
	}
	for _, kind := range []string{"request", "sse", "other"} {
		w.send(t, "metadata", webtest.Case{Path: "/.well-known/oauth-protected-resource/v1/mcp/" + slug + "/" + kind})
	}
}

// useSession uses a session that was opened before the upgrade.
func (w *unused) useSession(t *testing.T, projectID, slug, principal, credential string) {
	t.Helper()
	plain := fmt.Sprintf(`{"p":%q,"c":%q,"v":"2025-11-25","k":{"roots":{}},"i":%d,"n":"nonce"}`+"\n", projectID, principal, time.Now().Unix())
	id := w.Services.Config.Keys.SealToken("mcp session", []byte(plain))
	w.rpc(t, slug, credential, "2025-11-25", "resources/subscribe", `{"uri":"old://doc"}`, "Mcp-Session-Id", id)
	w.send(t, slug+" end of the session", webtest.Case{Method: http.MethodDelete, Path: "/v1/mcp/" + slug + "/request", Header: map[string]string{"Authorization": "Bearer " + credential, "Mcp-Session-Id": id}})
	w.rpc(t, slug, credential, "2025-11-25", "ping", `{}`, "Mcp-Session-Id", id)
}

// renew exchanges a secret at the token endpoint, and lists tools with the new
// access token.
func (w *unused) renew(t *testing.T, slug string, form url.Values) {
	t.Helper()
	form.Set("client_id", "o1")
	a := webtest.Send(t, w.App.App, webtest.Case{Path: "/oauth/token", Body: form.Encode(), Header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}})
	var got struct {
		Access    string `json:"access_token"`
		Type      string `json:"token_type"`
		ExpiresIn int    `json:"expires_in"`
		Refresh   string `json:"refresh_token"`
		Scope     string `json:"scope"`
	}
	if err := json.Unmarshal([]byte(a.Body), &got); err != nil || got.Access == "" || got.Refresh == "" {
		t.Fatalf("%s %s: %d %s", slug, form.Get("grant_type"), a.Status, a.Body)
	}
	w.record("token", fmt.Sprint(a.Status, " ", got.Type, " ", got.ExpiresIn, " ", got.Scope))
	w.rpc(t, slug, got.Access, "2025-11-25", "tools/list", `{}`)
}

// TestNothingChangesUnused upgrades an installation that has rows of each kind,
// and compares its export and the responses to its clients with those of the
// release before.
func TestNothingChangesUnused(t *testing.T) {
	old := keep(t)
	golden, err := os.ReadFile(unusedGolden)
	if err != nil {
		t.Fatal(err)
	}
	modelstest.EachEmptyDSN(t, func(t *testing.T, dsn string) {
		w := newUnused(t, dsn, old)
		for _, slug := range []string{"work", "team", "open", ""} {
			file, err := w.Services.Projects.Export(t.Context(), slug)
			if err != nil {
				t.Fatal(err)
			}
			w.record("export "+slug, string(file))
		}
		w.use(t, "work", old.key)
		w.use(t, "team", secretOf("gwat_", "t"))
		w.rpc(t, "open", secretOf("gwat_", "o"), "2025-11-25", "tools/list", `{}`)
		w.rpc(t, "open", secretOf("gwat_", "o"), "2026-07-28", "tools/call", `{"name":"up__echo","arguments":{"text":"hi"}}`)
		w.rpc(t, "open", secretOf("gwat_", "t"), "2025-11-25", "tools/list", `{}`)
		w.rpc(t, "team", old.key, "2025-11-25", "tools/list", `{}`)
		w.useSession(t, "p1", "work", "key:k1", old.key)
		w.useSession(t, "p2", "team", "user:u2", secretOf("gwat_", "t"))
		w.renew(t, "team", url.Values{"grant_type": {"refresh_token"}, "refresh_token": {secretOf("gwrt_", "t")}})
		w.renew(t, "open", url.Values{"grant_type": {"refresh_token"}, "refresh_token": {secretOf("gwrt_", "o")}})
		w.renew(t, "team", url.Values{"grant_type": {"authorization_code"}, "code": {secretOf("gwac_", "c")}, "redirect_uri": {unusedCallback}, "code_verifier": {unusedVerifier}})
		for path, part := range map[string]string{"/admin": "Work", "/admin/projects/work/tools": "up__echo", "/me/apps": "Old client"} {
			webtest.Check(t, webtest.Case{Status: 200, WantBody: []string{part}}, webtest.Send(t, w.App.App, webtest.Case{Path: path, Header: map[string]string{"Cookie": "sid=" + old.cookie, "Accept": "text/html"}}))
		}
		checkSeals(t, w.App, lastUnused, old)
		if d := cmp.Diff(strings.Split(string(golden), "\n"), strings.Split(w.responses.String(), "\n")); d != "" {
			t.Errorf("responses (-before +now):\n%s", d)
		}
	})
}

package mcp_test

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/access"
	"mcpgateway/services/upstream/upstreamtest"
	"mcpgateway/web/webtest"
)

// offering returns the options of a server with tools, a prompt and a resource.
func offering(name, instructions string, tools ...string) upstreamtest.Options {
	o := upstreamtest.Options{
		Name: name, Instructions: instructions, Answer: upstreamtest.AnswerJSON,
		Capabilities: `{"tools":{"listChanged":true},"prompts":{},"resources":{"subscribe":true},"completions":{}}`,
		Methods:      map[string]upstreamtest.Handler{},
	}
	for _, tool := range tools {
		o.Tools = append(o.Tools, upstreamtest.Tool{Definition: fmt.Sprintf(`{"name":%q,"description":"Handles the %s of a %s.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}`, tool, tool, name)})
	}
	for method, result := range map[string]string{
		"prompts/list":             `{"prompts":[{"name":"brief","description":"from ` + name + `"}]}`,
		"resources/list":           `{"resources":[{"uri":"` + name + `://doc","name":"doc"},{"uri":"ui://` + name + `/app","name":"app"}]}`,
		"resources/templates/list": `{"resourceTemplates":[{"uriTemplate":"` + name + `://{id}","name":"docs"}]}`,
		"prompts/get":              `{"messages":[]}`,
		"resources/read":           `{"contents":[]}`,
		"resources/subscribe":      `{}`,
		"completion/complete":      `{"completion":{"values":["` + name + `"]}}`,
	} {
		o.Methods[method] = func(context.Context, *upstreamtest.Call) upstreamtest.Result { return upstreamtest.JSON(result) }
	}
	return o
}

// parity has project p with more than its toolset reader has, and project twin
// with only that.
type parity struct {
	*routestest.App
	reader string
	hidden *upstreamtest.Server // of p, outside of the toolset
	shared *upstreamtest.Server // of p, with tools in and outside of the toolset
	person string
}

func newParity(t *testing.T) *parity {
	t.Helper()
	w := &parity{App: routestest.New(t, "sqlite:"+filepath.Join(t.TempDir(), "gateway.db"))}
	w.hidden = upstreamtest.New(offering("vault", "Vault instructions.", "open", "seal"))
	w.shared = upstreamtest.New(offering("docs", "Instructions of everything.", "read", "find", "erase"))
	twin := upstreamtest.New(func() upstreamtest.Options {
		o := offering("docs", "", "read", "find")
		o.Capabilities = `{"tools":{"listChanged":true}}`
		o.Methods = nil
		return o
	}())
	w.Apply(t, fmt.Sprintf(`{"projects":{
		"p":{"authMode":"api_key","codeMode":{"enabled":true},"mcpServers":{"vault":{"url":%q},"docs":{"url":%q},"off":{"url":%q,"enabled":false}}},
		"twin":{"authMode":"api_key","codeMode":{"enabled":true},"mcpServers":{"docs":{"url":%q}}}}}`, w.hidden.Start(t), w.shared.Start(t), w.hidden.Start(t), twin.Start(t)))
	w.Sync(t, "p", "vault", "docs")
	w.Sync(t, "twin", "docs")
	w.reader = w.Toolset(t, "p", models.Toolset{Slug: "reader", Name: "Reader", Query: "server:docs", Exclude: models.StringList{"*__erase"}})
	user, err := w.Services.People.Create(t.Context(), access.NewUser{Email: "ann@example.com", Role: models.RoleMember})
	if err != nil {
		t.Fatal(err)
	}
	w.person = user.ID
	w.hidden.ForgetRequests()
	w.shared.ForgetRequests()
	return w
}

// callers returns the keys and paths of p that lead to the view of the toolset.
func (w *parity) callers(t *testing.T) map[string][2]string {
	t.Helper()
	bound, boundText := w.Key(t, "p", 0)
	w.Bind(t, "p", bound, w.reader)
	_, whole := w.Key(t, "p", 0)
	personal, personalText := w.Key(t, "p", 0)
	w.Own(t, "p", personal, w.person)
	w.Grant(t, "p", models.ProjectGrant{SubjectKind: models.SubjectPerson, SubjectID: w.person, ToolsetID: w.reader, Role: models.GrantUse})
	return map[string][2]string{
		"bound key":                   {boundText, "/v1/mcp/p"},
		"bound key at the toolset":    {boundText, "/v1/mcp/p/toolsets/reader"},
		"whole key at the toolset":    {whole, "/v1/mcp/p/toolsets/reader"},
		"personal key":                {personalText, "/v1/mcp/p"},
		"personal key at the toolset": {personalText, "/v1/mcp/p/toolsets/reader"},
	}
}

// viewProbes are requests as method and params. They name tools, prompts and
// resources of p that are not in the view, those in it, and such that never
// existed.
func viewProbes() [][2]string {
	probes := [][2]string{
		{"tools/list", `{}`}, {"prompts/list", `{}`}, {"resources/list", `{}`}, {"resources/templates/list", `{}`},
		{"prompts/get", `{"name":"vault__brief"}`}, {"prompts/get", `{"name":"docs__brief"}`}, {"prompts/get", `{"name":"brief"}`},
		{"resources/read", `{"uri":"vault://doc"}`}, {"resources/read", `{"uri":"docs://doc"}`}, {"resources/read", `{"uri":"vault://1"}`}, {"resources/read", `{"uri":"ui://vault/app"}`},
		{"resources/subscribe", `{"uri":"vault://doc"}`}, {"resources/subscribe", `{"uri":"docs://doc"}`},
		{"completion/complete", `{"ref":{"type":"ref/prompt","name":"vault__brief"},"argument":{"name":"a","value":""}}`},
		{"completion/complete", `{"ref":{"type":"ref/resource","uri":"vault://{id}"},"argument":{"name":"id","value":""}}`},
		{"tools/call", `{"name":"docs__read","arguments":{"text":"x"}}`},
	}
	tool := func(name, arguments string) {
		probes = append(probes, [2]string{"tools/call", `{"name":"` + name + `","arguments":` + arguments + `}`})
	}
	for _, name := range []string{"vault__open", "docs__erase", "off__open", "VAULT__OPEN", "open", "erase", "vault", "docs__", "vault__open__x"} {
		tool(name, `{}`)
		tool("gateway_executeTool", `{"name":"`+name+`"}`)
		tool("gateway_executeTool", `{"name":"docs__read","arguments":{"text":"`+name+`"}}`)
	}
	for _, code := range []string{
		`return await vault.open({})`, `return await vault[\"open\"]({})`, `return await docs.erase({})`, `return await docs[\"er\" + \"ase\"]({})`,
		`return [typeof vault, typeof docs, typeof docs.erase, typeof off]`, `return Object.keys(docs)`, `return await docs.read({text: \"x\"})`,
		`const s = globalThis[\"va\" + \"ult\"]; return await s.open({})`,
	} {
		tool("gateway_executeTool", `{"code":"`+code+`"}`)
	}
	for _, arguments := range []string{
		`{}`, `{"filter":"open"}`, `{"filter":"erase"}`, `{"query":"server:vault"}`, `{"query":"name:erase"}`, `{"query":"vault"}`, `{"query":"docs","limit":1}`,
	} {
		tool("gateway_listTools", arguments)
	}
	for _, arguments := range []string{
		`{"task":"open the vault"}`, `{"task":"erase docs"}`, `{"task":"find a document","server":"vault"}`, `{"task":"find a document","server":"docs"}`, `{"task":"read","limit":20}`,
		`{"query":"vault"}`, `{"query":"server:vault"}`, `{"query":"server:off"}`, `{"query":"erase"}`, `{"query":"server:vaul"}`, `{"query":"docs","limit":1}`,
	} {
		tool("gateway_searchMcpForTask", arguments)
	}
	return probes
}

// TestViewParity sends requests to a view and to a project that never had more
// than the view, and compares the bytes. What the view doesn't have must occur
// in no response, and its servers must receive nothing.
func TestViewParity(t *testing.T) {
	w := newParity(t)
	_, twinKey := w.Key(t, "twin", 0)
	callers := w.callers(t)
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		probes := append(viewProbes(), handshakeOf(version))
		want := make([]string, len(probes))
		for i, probe := range probes {
			want[i] = w.response(t, twinKey, "/v1/mcp/twin", version, probe)
		}
		for name, caller := range callers {
			t.Run(name+" "+version, func(t *testing.T) {
				for i, probe := range probes {
					if d := cmp.Diff(want[i], w.response(t, caller[0], caller[1], version, probe)); d != "" {
						t.Errorf("%s %s (-without the others +view):\n%s", probe[0], probe[1], d)
					}
				}
			})
		}
	}
	for _, r := range w.hidden.Requests() {
		if forClients(r) {
			t.Errorf("the hidden server received %s", r.Body)
		}
	}
	for _, r := range w.shared.Requests() {
		if forClients(r) && (r.Method != "tools/call" || strings.Contains(string(r.Body), `"name":"erase"`)) {
			t.Errorf("the shared server received %s", r.Body)
		}
	}
}

// handshakeOf returns the request whose response describes the endpoint.
func handshakeOf(version string) [2]string {
	if version >= "2026-07-28" {
		return [2]string{"server/discover", `{}`}
	}
	return [2]string{"initialize", `{"protocolVersion":"` + version + `","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`}
}

// response returns the status and the body of the response to a request.
func (w *parity) response(t *testing.T, key, path, version string, probe [2]string) string {
	t.Helper()
	method, params := probe[0], probe[1]
	header := map[string]string{"Authorization": "Bearer " + key, "MCP-Protocol-Version": version, "Accept": "application/json, text/event-stream"}
	if version >= "2026-07-28" {
		header["Mcp-Method"] = method
		if name := named.FindStringSubmatch(params); name != nil && (method == "tools/call" || method == "prompts/get" || method == "resources/read") {
			header["Mcp-Name"] = name[1]
		}
		params = `{"_meta":{"io.modelcontextprotocol/protocolVersion":"` + version + `","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}` +
			strings.Replace(","+params[1:], ",}", "}", 1)
	}
	a := webtest.Send(t, w.App.App, webtest.Case{
		Method: http.MethodPost, Path: path + "/request", Header: header, Body: `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`,
	})
	return fmt.Sprint(a.Status, " ", variable.ReplaceAllString(a.Body, "$1"))
}

// named matches the name of a request. variable matches what differs in every
// response after its name: request ids, cursors and durations.
var (
	named    = regexp.MustCompile(`^\{"(?:name|uri)":"([^"]*)"`)
	variable = regexp.MustCompile(`("requestId":|\\?"nextCursor\\?":|\\?"(?:ms|cpuMs|startMs|memoryBytes|durationMs)\\?":|"runId":)(?:\\?"[^"]+"|[0-9.]+)`)
)

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
	"mcpgateway/services/access/groups"
	"mcpgateway/services/rawjson"
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
	shared := offering("docs", "Instructions of everything.", "read", "find", "erase")
	shared.Tools[1].Definition = strings.Replace(shared.Tools[1].Definition, `{"name":"find"`, `{"name":"seek"`, 1) // find is its new name
	w.shared = upstreamtest.New(shared)
	twin := upstreamtest.New(func() upstreamtest.Options {
		o := offering("docs", "", "read", "find")
		o.Capabilities = `{"tools":{"listChanged":true}}`
		o.Methods = nil
		return o
	}())
	w.Apply(t, fmt.Sprintf(`{"projects":{
		"p":{"authMode":"api_key","codeMode":{"enabled":true},"mcpServers":{"vault":{"url":%q},"docs":{"url":%q,"tools":{"seek":{"as":"find"}}},"off":{"url":%q,"enabled":false}}},
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

// caller is a credential of project p and an endpoint that lead to the view of
// the toolset.
type caller struct{ name, credential, path string }

const endpointOfP, endpointOfReader, endpointOfTwin = "/v1/mcp/p", "/v1/mcp/p/toolsets/reader", "/v1/mcp/twin"

// keyCallers returns the callers with API keys.
func (w *parity) keyCallers(t *testing.T) []caller {
	t.Helper()
	bound, boundText := w.Key(t, "p", 0)
	w.Bind(t, "p", bound, w.reader)
	_, whole := w.Key(t, "p", 0)
	personal, personalText := w.Key(t, "p", 0)
	w.Own(t, "p", personal, w.person)
	w.Grant(t, "p", models.ProjectGrant{SubjectKind: models.SubjectPerson, SubjectID: w.person, ToolsetID: w.reader, Role: models.GrantUse})
	member, memberText := w.Key(t, "p", 0)
	w.Own(t, "p", member, w.member(t))
	return []caller{
		{"bound key", boundText, endpointOfP}, {"bound key at the toolset", boundText, endpointOfReader},
		{"whole key at the toolset", whole, endpointOfReader},
		{"personal key", personalText, endpointOfP}, {"personal key at the toolset", personalText, endpointOfReader},
		{"key of a group's member", memberText, endpointOfP}, {"key of a group's member at the toolset", memberText, endpointOfReader},
	}
}

// member returns a person whose group holds the toolset.
func (w *parity) member(t *testing.T) (userID string) {
	t.Helper()
	user, err := w.Services.People.Create(t.Context(), access.NewUser{Email: "bob@example.com", Role: models.RoleMember})
	noError(t, err)
	name := "Readers"
	group, err := w.Services.Groups.Create(t.Context(), groups.Fields{Name: &name})
	noError(t, err)
	noError(t, w.Services.Groups.AddMember(t.Context(), group.ID, user.ID))
	w.Grant(t, "p", models.ProjectGrant{SubjectKind: models.SubjectGroup, SubjectID: group.ID, ToolsetID: w.reader, Role: models.GrantUse})
	return user.ID
}

// tokenCallers changes p to a project of access tokens and returns the callers
// with tokens of the person who holds the toolset.
func (w *parity) tokenCallers(t *testing.T) []caller {
	t.Helper()
	w.Apply(t, `{"projects":{"p":{"authMode":"oauth","oauthAccess":"members"}}}`)
	return []caller{
		{"access token", w.Token(t, w.person, endpointOfP+"/request"), endpointOfP},
		{"access token of the toolset", w.Token(t, w.person, endpointOfReader+"/request"), endpointOfReader},
	}
}

// foreignCode is code that reaches for tools in every way, and returns what each
// attempt returns or throws.
const foreignCode = `
	const found = [];
	for (const attempt of [
		() => vault.open({}), () => vault["open"]({}), () => docs.erase({}), () => docs["er" + "ase"]({}), () => docs.seek({}), () => off.open({}),
		() => globalThis["va" + "ult"].open({}), () => gateway.call("vault__open", {}), () => gateway.call("docs__erase", {}), () => gateway.call("docs__read", {text: "x"}),
		() => gateway.search("open the vault"), () => gateway.search({query: "server:vault"}), () => gateway.search({task: "erase docs", limit: 20}),
		() => [typeof vault, typeof docs, typeof docs.erase, typeof off], () => Object.keys(docs), () => "erase" in docs, () => Object.keys(globalThis),
	]) {
		try { found.push(await attempt()) } catch (e) { found.push([e.name, e.message]) }
	}
	return found`

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
	for _, name := range []string{"vault__open", "docs__erase", "docs__seek", "off__open", "VAULT__OPEN", "Docs__read", "seek", "find", "open", "erase", "vault", "docs__", "vault__open__x"} {
		tool(name, `{}`)
		tool("gateway_executeTool", `{"name":"`+name+`"}`)
		tool("gateway_executeTool", `{"name":"docs__read","arguments":{"text":"`+name+`"}}`)
	}
	for _, code := range []string{`return await vault.open({})`, `return await docs.read({text: "x"})`, foreignCode} {
		tool("gateway_executeTool", `{"code":`+string(rawjson.Quote(code))+`}`)
	}
	for _, arguments := range []string{
		`{}`, `{"filter":"open"}`, `{"filter":"erase"}`, `{"filter":"seek"}`, `{"query":"server:vault"}`, `{"query":"name:erase"}`, `{"query":"vault"}`, `{"query":"docs","limit":1}`,
	} {
		tool("gateway_listTools", arguments)
	}
	for _, arguments := range []string{
		`{"task":"open the vault"}`, `{"task":"erase docs"}`, `{"task":"seek"}`, `{"task":"find a document","server":"vault"}`, `{"task":"find a document","server":"docs"}`, `{"task":"read","limit":20}`,
		`{"query":"vault"}`, `{"query":"server:vault"}`, `{"query":"server:off"}`, `{"query":"erase"}`, `{"query":"server:vaul"}`, `{"query":"docs","limit":1}`,
	} {
		tool("gateway_searchMcpForTask", arguments)
	}
	return probes
}

// probe is a request that any caller can send. send returns the response.
type probe struct {
	name string
	send func(t *testing.T, credential, path string) string
}

// probes returns the requests of clients of both eras, and unusual ones.
func (w *parity) probes() (probes []probe) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		for _, p := range append(viewProbes(), handshakeOf(version)) {
			probes = append(probes, probe{version + " " + p[0] + " " + p[1], func(t *testing.T, credential, path string) string {
				t.Helper()
				return w.response(t, credential, path, version, p)
			}})
		}
	}
	return append(probes, w.unusualProbes()...)
}

// TestViewParity sends requests to a view and to a project that never had more
// than the view, and compares the bytes. What the view doesn't have must occur
// in no response, and its servers must receive nothing.
func TestViewParity(t *testing.T) {
	w := newParity(t)
	_, twinKey := w.Key(t, "twin", 0)
	probes := w.probes()
	want := make([]string, len(probes))
	for i, p := range probes {
		want[i] = p.send(t, twinKey, endpointOfTwin)
	}
	for _, callers := range []func(*testing.T) []caller{w.keyCallers, w.tokenCallers} {
		for _, c := range callers(t) {
			t.Run(c.name, func(t *testing.T) {
				for i, p := range probes {
					if d := cmp.Diff(want[i], p.send(t, c.credential, c.path)); d != "" {
						t.Errorf("%s (-without the others +view):\n%s", p.name, d)
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
	w.checkMetrics(t)
}

// checkMetrics checks that the metrics have no label of a caller, a toolset or a
// tool that was named in vain.
func (w *parity) checkMetrics(t *testing.T) {
	t.Helper()
	metrics := webtest.Send(t, w.App.App, webtest.Case{Path: "/metrics"})
	if metrics.Status != http.StatusOK || !strings.Contains(metrics.Body, `gateway_tool_calls_total{outcome="ok",project="p",server="docs"}`) {
		t.Fatalf("metrics: %d %s", metrics.Status, metrics.Body)
	}
	for _, name := range append(foreignNames(), "docs__seek", w.reader, w.person, `reader"`, "key:", "user:") {
		if strings.Contains(metrics.Body, name) {
			t.Errorf("the metrics have %q", name)
		}
	}
	if label := regexp.MustCompile(`[{,](toolset|person|user|group|key|principal|caller)=`).FindString(metrics.Body); label != "" {
		t.Errorf("the metrics have the label %s", label)
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
// response after its name: request ids, cursors, durations and the name of the
// project.
var (
	named    = regexp.MustCompile(`^\{"(?:name|uri)":"([^"]*)"`)
	variable = regexp.MustCompile(`("requestId":|\\?"nextCursor\\?":|\\?"(?:ms|cpuMs|startMs|memoryBytes|durationMs)\\?":|"runId":|serverInfo":)(?:\\?"[^"]+"|[0-9.]+|\{"name":"(?:p|twin)","title":"(?:p|twin)")`)
)

package pool_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"mcpgateway/services/fault"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/upstreamtest"
)

// sent returns the one request that the upstream received for a method.
func sent(t *testing.T, s *upstreamtest.Server, method string) (params string, h http.Header) {
	t.Helper()
	got := s.Requests(method)
	if len(got) != 1 {
		t.Fatalf("upstream received %d requests %s, want 1", len(got), method)
	}
	var m struct{ Params json.RawMessage }
	if err := json.Unmarshal(got[0].Body, &m); err != nil {
		t.Fatal(err)
	}
	return string(m.Params), got[0].Header
}

const triple = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"gateway","version":"1.2.3"},"io.modelcontextprotocol/clientCapabilities":`

func TestRequestMetadata(t *testing.T) {
	for _, tc := range []struct {
		name         string
		params       string
		capabilities string
		stateless    string
		handshake    string
	}{
		{"none", ``, ``, `{"_meta":{` + triple + `{}}}`, ``},
		{"empty", `{}`, ``, `{"_meta":{` + triple + `{}}}`, `{}`},
		{"layout and numbers", `{ "a" : 1e400 }`, `{"roots":{}}`, `{ "a" : 1e400,"_meta":{` + triple + `{"roots":{}}} }`, `{ "a" : 1e400 }`},
		{"metadata of another revision",
			`{"_meta":{"io.modelcontextprotocol/protocolVersion":"x","io.modelcontextprotocol/clientInfo":1,"io.modelcontextprotocol/clientCapabilities":{"sampling":{}}},"a":1}`, ``,
			`{"_meta":{` + triple + `{}},"a":1}`, `{"a":1}`},
		{"metadata of the request",
			`{"_meta":{"progressToken":7,"traceparent":"00-1","io.modelcontextprotocol/logLevel":"info","tracestate":"a=b","baggage":"c","com.example/x":[1]}}`, ``,
			`{"_meta":{"progressToken":7,"traceparent":"00-1","io.modelcontextprotocol/logLevel":"info","tracestate":"a=b","baggage":"c","com.example/x":[1],` + triple + `{}}}`,
			`{"_meta":{"progressToken":7,"traceparent":"00-1","tracestate":"a=b","baggage":"c","com.example/x":[1]}}`},
		{"escaped name", `{"_meta":{"io.model\u0063ontextprotocol/protocolVersion":"x"},"b":2}`, ``,
			`{"_meta":{"io.model\u0063ontextprotocol/protocolVersion":"2026-07-28",` + triple[strings.Index(triple, `"io.modelcontextprotocol/clientInfo"`):] + `{}},"b":2}`, `{"b":2}`},
		{"empty _meta", `{"_meta":{}}`, ``, `{"_meta":{` + triple + `{}}}`, `{"_meta":{}}`},
	} {
		for era, want := range map[upstreamtest.Era]string{upstreamtest.Era20260728: tc.stateless, upstreamtest.Era20251125: tc.handshake} {
			t.Run(string(era)+"/"+tc.name, func(t *testing.T) {
				answer := func(context.Context, *upstreamtest.Call) upstreamtest.Result { return upstreamtest.JSON(`{}`) }
				s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{era}, Methods: map[string]upstreamtest.Handler{"x/y": answer}})
				r := &upstream.Request{Method: "x/y"}
				if tc.params != "" {
					r.Params = []byte(tc.params)
				}
				if tc.capabilities != "" {
					r.Client.Capabilities = []byte(tc.capabilities)
				}
				mustCall(t, newPool(t), target(s.Start(t)), r)
				if got, _ := sent(t, s, "x/y"); got != want {
					t.Errorf("params =\n%s, want\n%s", got, want)
				}
			})
		}
	}
}

func TestNonObjectParamsAreRejected(t *testing.T) {
	for _, params := range []string{`[1]`, `"x"`, `{"_meta":3}`, `{"a":`} {
		s := upstreamtest.New(upstreamtest.Options{})
		_, err := newPool(t).Call(testContext(t), target(s.Start(t)), &upstream.Request{Method: "x/y", Params: []byte(params)})
		if !fault.Is(err, fault.CodeInvalidParameter) {
			t.Errorf("params %s: %v", params, err)
		}
	}
}

func TestNameHeader(t *testing.T) {
	for _, tc := range []struct{ method, params, want string }{
		{"tools/call", `{"name":"get weather"}`, "get weather"},
		{"prompts/get", `{"name":"p"}`, "p"},
		{"resources/read", `{"uri":"file:///a","name":"no"}`, "file:///a"},
		{"tools/list", `{"name":"no"}`, ""},
		{"tools/call", `{"name":"gr\u00fc\u00df"}`, "=?base64?Z3LDvMOf?="},
		{"tools/call", `{"name":" x"}`, "=?base64?IHg=?="},
		{"tools/call", `{"name":"x "}`, "=?base64?eCA=?="},
		{"tools/call", `{"name":"a\nb"}`, "=?base64?YQpi?="},
		{"tools/call", `{"name":"=?base64?eA==?="}`, "=?base64?PT9iYXNlNjQ/ZUE9PT89?="},
		{"tools/call", `{"name":7}`, ""},
	} {
		var got http.Header
		url := handmade(t, "2026-07-28", func(w http.ResponseWriter, r *http.Request, m rpc) {
			got = r.Header
			writeJSON(w, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":{}}`)
		})
		mustCall(t, newPool(t), target(url), &upstream.Request{Method: tc.method, Params: []byte(tc.params)})
		if got.Get("Mcp-Name") != tc.want || got.Get("Mcp-Method") != tc.method || got.Get("MCP-Protocol-Version") != "2026-07-28" {
			t.Errorf("%s %s: got %v", tc.method, tc.params, got)
		}
	}
}

func TestProtocolHeadersOverrideConfigured(t *testing.T) {
	for _, era := range []upstreamtest.Era{upstreamtest.Era20251125, upstreamtest.Era20260728} {
		s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{era}, Tools: upstreamtest.Standard(1)})
		to := target(s.Start(t))
		to.Headers = func(context.Context) (http.Header, error) {
			return http.Header{
				"x-team": {"a"}, "mcp-name": {"other"}, "Mcp-Session-Id": {"mine"}, "mcp-protocol-version": {"1"}, "Mcp-Method": {"no"},
				"Mcp-Param-Region": {"eu"}, "content-type": {"text/plain"}, "Accept": {"*/*"}, "Last-Event-Id": {"3"}, "accept-encoding": {"gzip"},
			}, nil
		}
		mustCall(t, newPool(t), to, echo("x"))
		_, h := sent(t, s, "tools/call")
		if h.Get("X-Team") != "a" || h.Get("Accept") != "application/json, text/event-stream" || h.Get("Content-Type") != "application/json" || h.Get("Accept-Encoding") != "identity" {
			t.Errorf("%s: got %v", era, h)
		}
		if h.Get("Mcp-Param-Region")+h.Get("Last-Event-Id") != "" || h.Get("Mcp-Session-Id") == "mine" || h.Get("Mcp-Protocol-Version") != string(era) {
			t.Errorf("%s: reserved header was sent: %v", era, h)
		}
		if wantName := map[bool]string{true: "echo"}[era.Stateless()]; h.Get("Mcp-Name") != wantName {
			t.Errorf("%s: Mcp-Name = %q, want %q", era, h.Get("Mcp-Name"), wantName)
		}
	}
}

func TestHandshakeDeclaresCapabilities(t *testing.T) {
	s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{upstreamtest.Era20250618}, Tools: upstreamtest.Standard(1)})
	p, to := newPool(t), target(s.Start(t))
	for range 2 {
		r := echo("x")
		r.Client.Capabilities = []byte(`{"elicitation":{}}`)
		mustCall(t, p, to, r)
	}
	params, h := sent(t, s, "initialize")
	if want := `{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"gateway","version":"1.2.3"}}`; params != want {
		t.Errorf("got %s, want %s", params, want)
	}
	if _, marked := h["X-Idempotency-Key"]; marked || h.Get("Mcp-Protocol-Version") != "" || h.Get("User-Agent") != "gateway/1.2.3" {
		t.Errorf("header of handshake = %v", h)
	}
	if _, h := sent(t, s, "notifications/initialized"); h.Get("Mcp-Session-Id") == "" || h.Get("Mcp-Protocol-Version") != "2025-06-18" {
		t.Errorf("header of session = %v", h)
	}
	mustCall(t, p, to, echo("y")) // other capabilities, so another session
	if n := len(s.Requests("initialize")); n != 2 {
		t.Errorf("%d handshakes for two sets of capabilities", n)
	}
}

func TestParamHeaders(t *testing.T) {
	tool := `{"name":"q","inputSchema":{"type":"object","properties":{
		"region":{"type":"string","x-mcp-header":"Region"},"dry":{"type":"boolean","x-mcp-header":"dry-run"},
		"opt":{"type":"object","properties":{"limit":{"type":"integer","x-mcp-header":"Limit"}}},"free":{"type":"string"}}}}`
	bindings, err := upstream.ParseParamHeaders([]byte(tool))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		arguments string
		want      map[string]string
	}{
		{`{"region":"eu","dry":true,"opt":{"limit":10},"free":"z"}`, map[string]string{"Region": "eu", "Dry-Run": "true", "Limit": "10"}},
		{`{"region":"\u00fc","dry":false,"opt":{"limit":1.0}}`, map[string]string{"Region": "=?base64?w7w=?=", "Dry-Run": "false", "Limit": "1"}},
		{`{"region":null,"opt":{"limit":null}}`, nil},
		{`{}`, nil},
		{`{"region":5,"dry":"true","opt":[1]}`, nil},
		{`{"opt":{"limit":9007199254740991}}`, map[string]string{"Limit": "9007199254740991"}},
		{`{"opt":{"limit":9007199254740992}}`, nil},
		{`{"opt":{"limit":1.5}}`, nil},
		{`{"opt":{"limit":-3}}`, map[string]string{"Limit": "-3"}},
	} {
		for _, revision := range []string{"2026-07-28", "2025-11-25"} {
			var got http.Header
			url := handmade(t, revision, func(w http.ResponseWriter, r *http.Request, m rpc) {
				if m.Method == "tools/call" {
					got = r.Header
				}
				writeJSON(w, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":{}}`)
			})
			mustCall(t, newPool(t), target(url), &upstream.Request{
				Method: "tools/call", Params: []byte(`{"name":"q","arguments":` + tc.arguments + `}`), ParamHeaders: bindings,
			})
			for _, name := range []string{"Region", "Dry-Run", "Limit"} {
				want := tc.want[name]
				if revision != "2026-07-28" {
					want = ""
				}
				if got.Get("Mcp-Param-"+name) != want {
					t.Errorf("%s %s: Mcp-Param-%s = %q, want %q", revision, tc.arguments, name, got.Get("Mcp-Param-"+name), want)
				}
			}
		}
	}
}

func TestInvalidHeaderAnnotations(t *testing.T) {
	property := func(p string) string { return `{"name":"q","inputSchema":{"properties":{"a":` + p + `}}}` }
	deep := func(n int) string {
		return `{"name":"q","inputSchema":` + strings.Repeat(`{"not":`, n-1) + `{"x-mcp-header":1}` + strings.Repeat(`}`, n-1) + `}`
	}
	for _, tc := range []struct{ name, tool, problem string }{
		{"none", `{"name":"q","description":"x-mcp-header"}`, ""},
		{"valid", property(`{"type":"integer","x-mcp-header":"A!#$%&'*+-.^_|~9"}`), ""},
		{"property of that name", `{"name":"q","inputSchema":{"properties":{"x-mcp-header":{"type":"string"}}}}`, ""},
		{"annotation in default", property(`{"type":"object","default":{"x-mcp-header":1}}`), ""},
		{"escaped", `{"name":"q","inputSchema":{"properties":{"a":{"x-mcp-\u0068eader":""}}}}`, "not a valid name"},
		{"empty", property(`{"type":"string","x-mcp-header":""}`), "not a valid name"},
		{"no string", property(`{"type":"string","x-mcp-header":1}`), "not a valid name"},
		{"space", property(`{"type":"string","x-mcp-header":"a b"}`), "character"},
		{"line end", property(`{"type":"string","x-mcp-header":"a\r\nb"}`), "character"},
		{"not ASCII", property(`{"type":"string","x-mcp-header":"\u00fc"}`), "character"},
		{"number", property(`{"type":"number","x-mcp-header":"A"}`), "type"},
		{"object", property(`{"type":"object","x-mcp-header":"A"}`), "type"},
		{"several types", property(`{"type":["string","null"],"x-mcp-header":"A"}`), "type"},
		{"no type", property(`{"x-mcp-header":"A"}`), "type"},
		{"duplicate", `{"name":"q","inputSchema":{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}}`, "duplicate"},
		{"in items", property(`{"type":"array","items":{"type":"string","x-mcp-header":"A"}}`), "no argument"},
		{"in anyOf", property(`{"anyOf":[{"type":"string","x-mcp-header":"A"}]}`), "no argument"},
		{"in $defs", `{"name":"q","inputSchema":{"$defs":{"d":{"type":"string","x-mcp-header":"A"}}}}`, "no argument"},
		{"at the root", `{"name":"q","inputSchema":{"type":"string","x-mcp-header":"A"}}`, "no argument"},
		{"63 levels", deep(63), "not a valid name"},
		{"64 levels", deep(64), "not a valid name"},
		{"65 levels", deep(65), "deeper than 64"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := upstream.ParseParamHeaders([]byte(tc.tool))
			if (err == nil) != (tc.problem == "") || err != nil && !strings.Contains(err.Error(), tc.problem) {
				t.Errorf("got %v, want %q", err, tc.problem)
			}
		})
	}
}

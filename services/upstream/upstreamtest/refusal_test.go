package upstreamtest_test

import (
	"net/http"
	"strings"
	"testing"

	"mcpgateway/services/upstream/upstreamtest"
)

const ping = `{"jsonrpc":"2.0","id":2,"method":"ping"}`

func TestStreamableRefusals(t *testing.T) {
	_, all := serve(t, upstreamtest.Options{Tools: upstreamtest.Standard(3)})
	_, old := serve(t, upstreamtest.Options{Eras: []upstreamtest.Era{upstreamtest.Era20250326, upstreamtest.Era20250618, upstreamtest.Era20251125}})
	_, events := serve(t, upstreamtest.Options{Answer: upstreamtest.AnswerSSE})
	_, first := serve(t, upstreamtest.Options{Tools: upstreamtest.Standard(5), Eras: []upstreamtest.Era{upstreamtest.Era20250326}})
	_, quiet := serve(t, upstreamtest.Options{Eras: []upstreamtest.Era{upstreamtest.Era20251125}, NoStream: true})
	_, sessionless := serve(t, upstreamtest.Options{Eras: []upstreamtest.Era{upstreamtest.Era20251125}, Sessionless: true})
	_, sse := serve(t, upstreamtest.Options{Eras: []upstreamtest.Era{upstreamtest.Era20241105}})
	_, guarded := serve(t, upstreamtest.Options{Token: "s3cret", Challenge: `Bearer resource_metadata="x"`})
	sid, sidOld, sidFirst := session(t, all), session(t, old), session(t, first)
	unknown := "Mcp-Session-Id: nobody"

	for _, tc := range []struct {
		name   string
		x      pendingRequest
		status int
		body   string // substring
		header string // "Name: value" in the response
	}{
		{"session missing", pendingRequest{url: all, body: ping}, 400, "Mcp-Session-Id header is required", ""},
		{"session unknown", pendingRequest{url: all, body: ping, headers: []string{unknown}}, 404, `"code":-32001`, ""},
		{"session known", pendingRequest{url: all, body: ping, headers: []string{sid}}, 200, `{"jsonrpc":"2.0","id":2,"result":{}}`, "Content-Type: application/json"},
		{"notification in unknown session", pendingRequest{url: all, body: `{"jsonrpc":"2.0","method":"notifications/initialized"}`, headers: []string{unknown}}, 404, "", ""},
		{"response", pendingRequest{url: all, body: `{"jsonrpc":"2.0","id":"x","result":{}}`, headers: []string{sid}}, 202, "", ""},
		{"supported version", pendingRequest{url: all, body: ping, headers: []string{sid, "Mcp-Protocol-Version: 2025-06-18"}}, 200, `"result":{}`, ""},
		{"unsupported version", pendingRequest{url: old, body: ping, headers: []string{sidOld, "Mcp-Protocol-Version: 2024-01-01"}}, 400, "Unsupported protocol version", ""},
		{"unsupported version, dual era", pendingRequest{url: all, body: ping, headers: []string{sid, "Mcp-Protocol-Version: 2024-01-01"}}, 400, `"code":-32022`, ""},
		{"modern request to an old server", modern(old, "server/discover", "", ""), 400, "Unsupported protocol version", ""},
		{"unknown method", pendingRequest{url: all, body: `{"jsonrpc":"2.0","id":"a","method":"no/such"}`, headers: []string{sid}}, 200, `{"jsonrpc":"2.0","id":"a","error":{"code":-32601`, ""},
		{"modern method in a session", pendingRequest{url: all, body: `{"jsonrpc":"2.0","id":1,"method":"server/discover"}`, headers: []string{sid}}, 200, `-32601`, ""},
		{"unknown tool", pendingRequest{url: all, body: call("nothing", "{}"), headers: []string{sid}}, 200, `-32602`, ""},
		{"arguments not an object", pendingRequest{url: all, body: call("echo", "[]"), headers: []string{sid}}, 200, `-32602`, ""},
		{"invalid cursor", pendingRequest{url: all, body: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}`, headers: []string{sid}}, 200, `-32602`, ""},
		{"cursor not a string", pendingRequest{url: all, body: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":1}}`, headers: []string{sid}}, 200, `-32602`, ""},
		{"invalid JSON", pendingRequest{url: all, body: `{"jsonrpc":`, headers: []string{sid}}, 400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700`, ""},
		{"duplicate member", pendingRequest{url: all, body: `{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, headers: []string{sid}}, 400, `-32700`, ""},
		{"nested 512 deep", pendingRequest{url: all, body: deep(512), headers: []string{sid}}, 200, `"result":{}`, ""},
		{"nested 513 deep", pendingRequest{url: all, body: deep(513), headers: []string{sid}}, 400, `-32700`, ""},
		{"no jsonrpc", pendingRequest{url: all, body: `{"id":1,"method":"ping"}`, headers: []string{sid}}, 400, `{"jsonrpc":"2.0","id":1,"error":{"code":-32600`, ""},
		{"null ID", pendingRequest{url: all, body: `{"jsonrpc":"2.0","id":null,"method":"ping"}`, headers: []string{sid}}, 400, `-32600`, ""},
		{"params an array", pendingRequest{url: all, body: `{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}`, headers: []string{sid}}, 400, `-32602`, ""},
		{"neither request nor response", pendingRequest{url: all, body: `{"jsonrpc":"2.0","id":1}`, headers: []string{sid}}, 400, `-32600`, ""},
		{"initialize without version", pendingRequest{url: all, body: `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`}, 200, `-32602`, ""},
		{"initialize with an unknown version", pendingRequest{url: old, body: strings.Replace(initialize, "2025-11-25", "1999-01-01", 1)}, 200, `"protocolVersion":"2025-11-25"`, ""},
		{"initialize with a modern version", pendingRequest{url: all, body: strings.Replace(initialize, "2025-11-25", "2026-07-28", 1)}, 200, `"protocolVersion":"2025-11-25"`, ""},
		{"initialize with an older version", pendingRequest{url: all, body: strings.Replace(initialize, "2025-11-25", "2025-03-26", 1)}, 200, `"protocolVersion":"2025-03-26"`, ""},
		{"batch, 2025-03-26", pendingRequest{url: first, body: `[` + ping + `,{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":3,"method":"no"},5]`, headers: []string{sidFirst}}, 200, `[{"jsonrpc":"2.0","id":2,"result":{}},{"jsonrpc":"2.0","id":3,"error":{"code":-32601`, ""},
		{"batch with a call", pendingRequest{url: first, body: `[{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"progress","arguments":{"n":1},"_meta":{"progressToken":1}}}]`, headers: []string{sidFirst}}, 200, `[{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"sent 1"}]}}]`, ""},
		{"initialize in a batch", pendingRequest{url: first, body: `[` + initialize + `]`, headers: []string{sidFirst}}, 200, `-32600`, ""},
		{"broken batch", pendingRequest{url: first, body: `[` + ping, headers: []string{sidFirst}}, 400, `-32700`, ""},
		{"modern error among events", modern(events, "no/such", "", ""), 404, `-32601`, "Content-Type: application/json"},
		{"batch of notifications", pendingRequest{url: first, body: `[{"jsonrpc":"2.0","method":"notifications/x"}]`, headers: []string{sidFirst}}, 202, "", ""},
		{"empty batch", pendingRequest{url: first, body: `[]`, headers: []string{sidFirst}}, 400, `-32600`, ""},
		{"batch of 100", pendingRequest{url: first, body: batch(100), headers: []string{sidFirst}}, 200, `"result":{}`, ""},
		{"batch of 101", pendingRequest{url: first, body: batch(101), headers: []string{sidFirst}}, 400, `-32600`, ""},
		{"batch, later version", pendingRequest{url: all, body: `[` + ping + `]`, headers: []string{sid}}, 400, `-32600`, ""},
		{"content type", pendingRequest{url: all, body: ping, headers: []string{sid, "Content-Type: text/plain"}}, 415, "", ""},
		{"content type with charset", pendingRequest{url: all, body: ping, headers: []string{sid, "Content-Type: application/json; charset=utf-8"}}, 200, "", ""},
		{"accepts JSON only", pendingRequest{url: all, body: ping, headers: []string{sid, "Accept: application/json"}}, 406, "", ""},
		{"accepts anything", pendingRequest{url: all, body: ping, headers: []string{sid, "Accept: */*"}}, 200, "", ""},
		{"external origin", pendingRequest{url: all, body: ping, headers: []string{sid, "Origin: https://evil.example"}}, 403, "", ""},
		{"own origin", pendingRequest{url: all, body: ping, headers: []string{sid, "Origin: http://localhost:3000"}}, 200, "", ""},
		{"other path", pendingRequest{url: all + "/x", body: ping, headers: []string{sid}}, 404, "", ""},
		{"PUT", pendingRequest{method: "PUT", url: all}, 405, "", "Allow: GET, POST, DELETE"},
		{"GET without a session", pendingRequest{method: "GET", url: old}, 400, "", ""},
		{"GET of an unknown session", pendingRequest{method: "GET", url: old, headers: []string{unknown}}, 404, "", ""},
		{"GET without events", pendingRequest{method: "GET", url: old, headers: []string{sidOld, "Accept: application/json"}}, 406, "", ""},
		{"GET of a modern client", pendingRequest{method: "GET", url: all, headers: []string{"Mcp-Protocol-Version: 2026-07-28"}}, 405, "", "Allow: POST"},
		{"GET without streams", pendingRequest{method: "GET", url: quiet}, 405, "", "Allow: POST, DELETE"},
		{"DELETE without a session", pendingRequest{method: "DELETE", url: all}, 400, "", ""},
		{"DELETE of an unknown session", pendingRequest{method: "DELETE", url: all, headers: []string{unknown}}, 404, "", ""},
		{"DELETE without sessions", pendingRequest{method: "DELETE", url: sessionless}, 405, "", "Allow: GET, POST"},
		{"DELETE of a modern client", pendingRequest{method: "DELETE", url: all, headers: []string{"Mcp-Protocol-Version: 2026-07-28"}}, 405, "", "Allow: POST"},
		{"sessionless ping", pendingRequest{url: sessionless, body: ping, headers: []string{unknown}}, 200, `"result":{}`, ""},
		{"POST to HTTP+SSE server", pendingRequest{url: sse, body: initialize}, 405, "", "Allow: GET"},
		{"POST to an unknown HTTP+SSE session", pendingRequest{url: sse + "?sessionId=x", body: ping}, 404, "", ""},
		{"no token", pendingRequest{url: guarded, body: initialize}, 401, "", `WWW-Authenticate: Bearer resource_metadata="x"`},
		{"wrong token", pendingRequest{url: guarded, body: initialize, headers: []string{"Authorization: Bearer s3cre"}}, 401, "", ""},
		{"other scheme", pendingRequest{url: guarded, body: initialize, headers: []string{"Authorization: Basic s3cret"}}, 401, "", ""},
		{"token", pendingRequest{url: guarded, body: initialize, headers: []string{"Authorization: bearer s3cret"}}, 200, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) { check(t, tc.x, tc.status, tc.body, tc.header) })
	}
}

func check(t *testing.T, x pendingRequest, status int, body, header string) {
	t.Helper()
	a := x.do(t)
	if a.status != status || !strings.Contains(a.body, body) {
		t.Errorf("got %d %q, want %d with %q", a.status, a.body, status, body)
	}
	if name, value, ok := strings.Cut(header, ": "); ok && a.header.Get(name) != value {
		t.Errorf("%s = %q, want %q", name, a.header.Get(name), value)
	}
}

// deep returns a ping whose nesting is n levels.
func deep(n int) string {
	return `{"jsonrpc":"2.0","id":2,"method":"ping","params":{"a":` + strings.Repeat("[", n-2) + strings.Repeat("]", n-2) + `}}`
}

func batch(n int) string { return "[" + strings.Repeat(ping+",", n-1) + ping + "]" }

func TestStatelessRefusals(t *testing.T) {
	tools := append(upstreamtest.Standard(3), upstreamtest.Routed(), upstreamtest.Tool{Definition: `{"name":"naïve ","inputSchema":{"type":"object"}}`},
		upstreamtest.Tool{Definition: `{"name":"typed","inputSchema":{"type":"object","properties":{"o":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"}}},"b":{"type":"boolean","x-mcp-header":"B"}}}}`})
	_, all := serve(t, upstreamtest.Options{Tools: tools})
	_, only := serve(t, upstreamtest.Options{Eras: []upstreamtest.Era{upstreamtest.Era20260728}})
	_, authorized := serve(t, upstreamtest.Options{Eras: []upstreamtest.Era{upstreamtest.Era20260728}, Authorize: func(*http.Request) bool { return true }})
	with := func(x pendingRequest, headers ...string) pendingRequest {
		x.headers = append(x.headers[:len(x.headers):len(x.headers)], headers...)
		return x
	}
	list := modern(all, "tools/list", "", "")
	edit := func(x pendingRequest, old, new string) pendingRequest {
		x.body = strings.Replace(x.body, old, new, 1)
		return x
	}
	echo := modern(all, "tools/call", "echo", `"name":"echo","arguments":{"text":"x"}`)
	routed := modern(all, "tools/call", "routed", `"name":"routed","arguments":{"region":"eu"}`)
	typed := modern(all, "tools/call", "typed", `"name":"typed","arguments":{"o":{"n":42},"b":true}`)

	for _, tc := range []struct {
		name   string
		x      pendingRequest
		status int
		body   string
		header string
	}{
		{"list", list, 200, `"result":{"resultType":"complete","ttlMs":0,"cacheScope":"public","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"upstreamtest","version":"1.0.0"}},"tools":[`, ""},
		{"list by authorization", modern(authorized, "tools/list", "", ""), 200, `"cacheScope":"private"`, ""},
		{"discover", modern(only, "server/discover", "", ""), 200, `"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}}`, ""},
		{"call", echo, 200, `"result":{"content":[{"type":"text","text":"x"}],"resultType":"complete","_meta":{`, ""},
		{"ignored session ID", with(list, "Mcp-Session-Id: nobody"), 200, "", "Mcp-Session-Id: "},
		{"no version header", with(list, "Mcp-Protocol-Version: "), 400, `"code":-32020`, ""},
		{"different version", with(list, "Mcp-Protocol-Version: 2026-07-29"), 400, `"code":-32020`, ""},
		{"unknown version", with(edit(list, "2026-07-28", "2099-01-01"), "Mcp-Protocol-Version: 2099-01-01"), 400, `"data":{"supported":["2024-11-05","2025-03-26","2025-06-18","2025-11-25","2026-07-28"],"requested":"2099-01-01"}`, ""},
		{"no version in _meta", edit(list, "protocolVersion", "x"), 400, `"code":-32602`, ""},
		{"no capabilities in _meta", edit(list, "clientCapabilities", "x"), 400, `"code":-32602`, ""},
		{"no params", pendingRequest{url: all, headers: list.headers, body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`}, 400, `"code":-32602`, ""},
		{"no method header", with(list, "Mcp-Method: "), 400, `"code":-32020`, ""},
		{"different method", with(list, "Mcp-Method: tools/call"), 400, `"code":-32020`, ""},
		{"no name header", with(echo, "Mcp-Name: "), 400, `"code":-32020`, ""},
		{"different name", with(echo, "Mcp-Name: Echo"), 400, `"code":-32020`, ""},
		{"name in Base64", with(modern(all, "tools/call", "", `"name":"naïve "`), "Mcp-Name: =?base64?bmHDr3ZlIA==?="), 200, `"content":[]`, ""},
		{"name in broken Base64", with(modern(all, "tools/call", "", `"name":"naïve "`), "Mcp-Name: =?base64?bmH?="), 400, `"code":-32020`, ""},
		{"no parameter header", routed, 400, `"code":-32020`, ""},
		{"parameter header", with(routed, "Mcp-Param-Region: eu"), 200, `"text":"eu"`, ""},
		{"different parameter header", with(routed, "Mcp-Param-Region: us"), 400, `"code":-32020`, ""},
		{"parameter absent", modern(all, "tools/call", "routed", `"name":"routed"`), 200, `"text":""`, ""},
		{"parameter null, header present", with(edit(routed, `"eu"`, "null"), "Mcp-Param-Region: eu"), 400, `"code":-32020`, ""},
		{"typed parameters", with(typed, "Mcp-Param-N: 42", "Mcp-Param-B: true"), 200, `"content":[]`, ""},
		{"different typed parameter", with(typed, "Mcp-Param-N: 43", "Mcp-Param-B: true"), 400, `"code":-32020`, ""},
		{"different boolean parameter", with(typed, "Mcp-Param-N: 42", "Mcp-Param-B: True"), 400, `"code":-32020`, ""},
		{"unknown method", modern(all, "no/such", "", ""), 404, `{"jsonrpc":"2.0","id":"m1","error":{"code":-32601`, ""},
		{"ping", modern(all, "ping", "", ""), 404, `-32601`, ""},
		{"initialize", modern(all, "initialize", "", ""), 404, `-32601`, ""},
		{"unknown tool", modern(all, "tools/call", "nope", `"name":"nope"`), 200, `-32602`, ""},
		{"empty cursor", modern(all, "tools/list", "", `"cursor":""`), 200, `-32602`, ""},
		{"notification", pendingRequest{url: all, headers: list.headers, body: `{"jsonrpc":"2.0","method":"notifications/x"}`}, 202, "", ""},
		{"response", pendingRequest{url: all, headers: list.headers, body: `{"jsonrpc":"2.0","id":1,"result":{}}`}, 400, `-32600`, ""},
		{"batch", pendingRequest{url: all, headers: list.headers, body: `[` + ping + `]`}, 400, `-32600`, ""},
		{"listen without a filter", modern(all, "subscriptions/listen", "", ""), 200, `-32602`, ""},
		{"GET", pendingRequest{method: "GET", url: only}, 405, "", "Allow: POST"},
		{"DELETE", pendingRequest{method: "DELETE", url: only}, 405, "", "Allow: POST"},
		{"handshake with stateless server", pendingRequest{url: only, body: initialize}, 400, `"code":-32022`, ""},
		{"old request to stateless server", pendingRequest{url: only, body: ping}, 400, `"code":-32020`, ""},
		{"old version to stateless server", pendingRequest{url: only, body: ping, headers: []string{"Mcp-Protocol-Version: 2025-11-25"}}, 400, `"code":-32022`, ""},
	} {
		t.Run(tc.name, func(t *testing.T) { check(t, tc.x, tc.status, tc.body, tc.header) })
	}
}

func TestSessionEndsWithDelete(t *testing.T) {
	s, url := serve(t, upstreamtest.Options{})
	sid := session(t, url)
	if n := s.Stats().Sessions; n != 1 {
		t.Fatalf("%d sessions", n)
	}
	check(t, pendingRequest{method: "DELETE", url: url, headers: []string{sid}}, 204, "", "")
	check(t, pendingRequest{url: url, body: ping, headers: []string{sid}}, 404, "", "")
	check(t, pendingRequest{method: "DELETE", url: url, headers: []string{sid}}, 404, "", "")
	sid = session(t, url)
	if n := s.DropSessions(); n != 1 {
		t.Errorf("dropped %d sessions", n)
	}
	check(t, pendingRequest{url: url, body: ping, headers: []string{sid}}, 404, "", "")
}

func TestRequestBodyLimit(t *testing.T) {
	_, url := serve(t, upstreamtest.Options{Record: -1})
	sid := session(t, url)
	const limit = 16 << 20
	for size, status := range map[int]int{limit - 1: 200, limit: 200, limit + 1: 413} {
		body := ping + strings.Repeat(" ", size-len(ping))
		check(t, pendingRequest{url: url, body: body, headers: []string{sid}}, status, "", "")
	}
}

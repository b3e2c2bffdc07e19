package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"mcpgateway/routes/routestest"
	"mcpgateway/services/upstream/upstreamtest"
)

// payments starts servers that ask the user to open a URL before their tool pay
// runs: one reports it with an error, the other with an input request. open ends
// the first one's question.
func payments(t *testing.T) (declaration string, handshake *upstreamtest.Server, open func()) {
	t.Helper()
	var paid atomic.Bool
	tool := upstreamtest.Tool{Definition: `{"name":"pay","inputSchema":{"type":"object"}}`, Call: func(_ context.Context, c *upstreamtest.Call) upstreamtest.Result {
		if answer := c.Input("e1"); answer != nil {
			return upstreamtest.Text("after " + string(answer))
		}
		if paid.CompareAndSwap(true, false) {
			return upstreamtest.Text("paid")
		}
		return c.OpenURL("e1", "https://pay.example/1?a=b&c", "Pay \"now\"")
	}}
	start := func(era upstreamtest.Era) (*upstreamtest.Server, string) {
		up := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{era}, Tools: []upstreamtest.Tool{tool}})
		return up, up.Start(t)
	}
	handshake, older := start(upstreamtest.Era20251125)
	_, newer := start(upstreamtest.Era20260728)
	declaration = fmt.Sprintf(`{"projects":{"p":{"authMode":"none","mcpServers":{"u25":{"url":%q},"u26":{"url":%q}}}}}`, older, newer)
	return declaration, handshake, func() {
		paid.Store(true)
		routestest.Eventually(t, "the elicitation completes", func() bool {
			return handshake.Notify("notifications/elicitation/complete", []byte(`{"elicitationId":"e1"}`)) > 0
		})
	}
}

const (
	requestedURL = `{"mode":"url","url":"https://pay.example/1?a=b&c","message":"Pay \"now\"`
	urlAsText    = `{"content":[{"type":"text","text":"Pay \"now\"\nOpen https://pay.example/1?a=b&c and call again."}],"isError":true`
	urlError     = `{"jsonrpc":"2.0","id":7,"error":{"code":-32042,"message":"open a URL first","data":{"elicitations":[{"mode":"url","url":"https://pay.example/1?a=b&c","message":"Pay \"now\"","elicitationId":"e1"}]}}}`
	withURL      = `{"elicitation":{"form":{},"url":{}}}`
	formOnly     = `{"elicitation":{"form":{}}}`
)

// initialized returns the headers of a session of a client with the protocol
// version and capabilities.
func (s *server) initialized(t *testing.T, version, capabilities string) map[string]string {
	t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":%q,"capabilities":%s,"clientInfo":{"name":"raw","version":"1"}}}`, version, capabilities)
	_, h, _ := s.get(t, request{body: body, header: legacyHeader()})
	return legacyHeader("Mcp-Session-Id", h.Get("Mcp-Session-Id"))
}

func payCall(server, more string) string {
	return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"` + server + `__pay"` + more + `}}`
}

// modernPay returns a call of a stateless client.
func modernPay(server, capabilities, more string) request {
	return request{
		body:   payCall(server, more+`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":`+capabilities+`}`),
		header: modernHeader("tools/call", "Mcp-Name", server+"__pay"),
	}
}

// TestURLNeverLost calls tools that ask the user to open a URL, with every kind
// of client.
func TestURLNeverLost(t *testing.T) {
	declaration, _, open := payments(t)
	s := serve(t, declaration, nil)
	s.Sync(t, "p", "u25", "u26")
	opens := s.initialized(t, "2025-11-25", withURL)
	silent := map[string]string{"Accept": "application/json", "Mcp-Session-Id": opens["Mcp-Session-Id"]}
	for _, c := range []struct {
		name     string
		u25, u26 string // the response of either server
		request  func(server string) request
	}{
		{"2025-11-25, no stream", urlError, urlAsText, func(server string) request { return request{body: payCall(server, ""), header: silent} }},
		{"2025-11-25, no URLs", urlAsText, urlAsText, func(server string) request {
			return request{body: payCall(server, ""), header: s.initialized(t, "2025-11-25", formOnly)}
		}},
		{"2025-11-25, no capabilities", urlAsText, urlAsText, func(server string) request {
			return request{body: payCall(server, ""), header: s.initialized(t, "2025-11-25", "{}")}
		}},
		{"2025-06-18", urlAsText, urlAsText, func(server string) request {
			return request{body: payCall(server, ""), header: s.initialized(t, "2025-06-18", withURL)}
		}},
		{"plain", urlAsText, urlAsText, func(server string) request { return request{body: payCall(server, "")} }},
		{"2026-07-28, no URLs", urlAsText, urlAsText, func(server string) request { return modernPay(server, formOnly, "") }},
		{"2026-07-28", `"inputRequests":{"e1":{"method":"elicitation/create","params":` + requestedURL, `"inputRequests":{"e1":{"method":"elicitation/create","params":` + requestedURL,
			func(server string) request { return modernPay(server, withURL, "") }},
	} {
		for server, want := range map[string]string{"u25": c.u25, "u26": c.u26} {
			_, _, body := s.get(t, c.request(server))
			if !strings.Contains(body, want) || strings.Contains(body, "resultType") != strings.HasPrefix(c.name, "2026") {
				t.Errorf("%s, %s: got %s, want %s", c.name, server, body, want)
			}
		}
	}
	if _, _, body := s.get(t, request{body: payCall("u25", ""), header: opens}); body != urlError {
		t.Errorf("2025-11-25 with a stream: got %s, want %s", body, urlError)
	}
	t.Run("input request to 2025-11-25", func(t *testing.T) { questionThenComplete(t, s, opens) })
	t.Run("error to 2026-07-28", func(t *testing.T) { continueAfterURL(t, s, open) })
}

// questionThenComplete checks that a handshake client receives the URL of a
// stateless server as a question, and its completion before the result.
func questionThenComplete(t *testing.T, s *server, opens map[string]string) {
	for _, action := range []string{"accept", "decline"} {
		stream := s.stream(t, request{body: payCall("u26", ""), header: opens})
		question := stream.next()
		var received struct {
			Method string
			Params struct{ ElicitationID string }
		}
		if json.Unmarshal([]byte(question), &received) != nil || !strings.Contains(question, requestedURL) || received.Params.ElicitationID == "" {
			t.Fatalf("the client received %s", question)
		}
		s.get(t, request{body: `{"jsonrpc":"2.0","id":` + idOf(t, question) + `,"result":{"action":"` + action + `"}}`, header: opens})
		if action == "accept" {
			stream.want(`{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"` + received.Params.ElicitationID + `"}}`)
		}
		if got := stream.next(); !strings.Contains(got, `"id":7`) || !strings.Contains(got, `after {\"action\":\"`+action+`\"}`) {
			t.Errorf("%s: the result is %s", action, got)
		}
	}
}

// stateOf returns the raw requestState of a result.
func stateOf(t *testing.T, body string) string {
	t.Helper()
	var m struct {
		Result struct{ RequestState json.RawMessage }
	}
	if err := json.Unmarshal([]byte(body), &m); err != nil || m.Result.RequestState == nil {
		t.Fatalf("no requestState in %s", body)
	}
	return string(m.Result.RequestState)
}

// continueAfterURL checks that a stateless client continues the call of a
// handshake server after the user opened its URL.
func continueAfterURL(t *testing.T, s *server, open func()) {
	_, _, first := s.get(t, modernPay("u25", withURL, ""))
	more := func(action string) string {
		return `,"requestState":` + stateOf(t, first) + `,"inputResponses":{"e1":{"action":"` + action + `"}}`
	}
	if _, _, body := s.get(t, modernPay("u25", withURL, more("decline"))); !strings.Contains(body, `"isError":true`) || !strings.Contains(body, `"resultType":"complete"`) {
		t.Errorf("declined: %s", body)
	}
	if _, _, body := s.get(t, modernPay("u26", withURL, more("accept"))); strings.Contains(body, "paid") {
		t.Errorf("with the state of another tool: %s", body)
	}
	result := make(chan string, 1)
	go func() {
		_, _, body := s.get(t, modernPay("u25", withURL, more("accept")))
		result <- body
	}()
	open()
	if body := <-result; !strings.Contains(body, `"text":"paid"`) || !strings.Contains(body, `"resultType":"complete"`) {
		t.Errorf("accepted: %s", body)
	}
}

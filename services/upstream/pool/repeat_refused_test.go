package pool_test

import (
	"net/http"
	"testing"

	"mcpgateway/services/upstream/upstreamtest"
)

// TestRejectedCallsRetryIfUnprocessed rejects one call in every way that can
// mean a lost session, and counts the calls. A call whose tool is read-only or
// idempotent is always retried.
func TestRejectedCallsRetryIfUnprocessed(t *testing.T) {
	rpcError := func(id, code, message string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":` + code + `,"message":"` + message + `"}}`
	}
	const (
		legacy, session, stateless = upstreamtest.Era20241105, upstreamtest.Era20251125, upstreamtest.Era20260728
		sessionless                = "2025-11-25 without a session"
	)
	for _, tc := range []struct {
		name        string
		era         upstreamtest.Era
		status      int
		body        string
		unprocessed bool // so every call is retried
		answer      bool // a response of the tool: no call is retried
	}{
		{name: "404 for lost session", era: session, status: 404, unprocessed: true},
		{name: "404 with text", era: session, status: 404, body: "Session not found", unprocessed: true},
		{name: "404 of the TypeScript SDK", era: session, status: 404, body: rpcError("null", "-32001", "Session not found"), unprocessed: true},
		{name: "404 of the Python SDK", era: session, status: 404, body: rpcError(`"server-error"`, "-32600", "Session not found"), unprocessed: true},
		{name: "404 after processing", era: session, status: 404, body: rpcError("$ID", "-32603", "there is no such order"), answer: false},
		{name: "400", era: session, status: 400},
		{name: "400 with the request ID", era: session, status: 400, body: rpcError("$ID", "-32000", "the order is too large")},
		{name: "400 without an ID", era: session, status: 400, body: rpcError("null", "-32600", "the order is too large")},
		{name: "400 of the TypeScript SDK", era: session, status: 400, body: rpcError("null", "-32000", "Bad Request: No valid session ID provided"), unprocessed: true},
		{name: "400 of server-everything", era: session, status: 400, body: rpcError("$ID", "-32000", "Bad Request: No valid session ID provided"), unprocessed: true},
		{name: "400 for unsupported revision", era: session, status: 400, body: rpcError("null", "-32000", "Bad Request: Unsupported protocol version"), unprocessed: true},
		{name: "400 with tool response", era: session, status: 400, body: rpcError("$ID", "-32602", "no session"), answer: true},
		{name: "405", era: session, status: 405, unprocessed: true},
		{name: "410", era: session, status: 410},
		{name: "stateless error with 200", era: session, status: 200, body: rpcError("$ID", "-32022", "boom")},
		{name: "stateless error with 400", era: session, status: 400, body: rpcError("$ID", "-32020", "Header mismatch"), unprocessed: true},
		{name: "missing capability", era: session, status: 400, body: rpcError("$ID", "-32021", "sampling")},

		{name: "404", era: sessionless, status: 404},
		{name: "400", era: sessionless, status: 400},
		{name: "400 for missing session", era: sessionless, status: 400, body: rpcError("null", "-32000", "Bad Request: Mcp-Session-Id header is required"), unprocessed: true},
		{name: "405", era: sessionless, status: 405, unprocessed: true},
		{name: "410", era: sessionless, status: 410},

		{name: "404", era: stateless, status: 404},
		{name: "404 with tool response", era: stateless, status: 404, body: rpcError("$ID", "-32601", "no"), answer: true},
		{name: "400", era: stateless, status: 400},
		{name: "405", era: stateless, status: 405, unprocessed: true},
		{name: "410", era: stateless, status: 410},
		{name: "unsupported revision", era: stateless, status: 400, body: rpcError("$ID", "-32022", "Unsupported protocol version"), unprocessed: true},
		{name: "unsupported revision with 200", era: stateless, status: 200, body: rpcError("$ID", "-32022", "boom")},
		{name: "400 of the TypeScript SDK", era: stateless, status: 400, body: rpcError("null", "-32000", "Bad Request: Server not initialized"), unprocessed: true},

		{name: "404", era: legacy, status: 404, unprocessed: true},
		{name: "400", era: legacy, status: 400},
		{name: "400 of the TypeScript SDK", era: legacy, status: 400, body: "No transport found for sessionId", unprocessed: true},
		{name: "410", era: legacy, status: 410},
	} {
		for _, repeatable := range []bool{false, true} {
			name := string(tc.era) + ", " + tc.name
			if repeatable {
				name += ", repeatable"
			}
			t.Run(name, func(t *testing.T) {
				options := upstreamtest.Options{Eras: []upstreamtest.Era{tc.era}, Tools: upstreamtest.Standard(1)}
				if tc.era == sessionless {
					options.Eras, options.Sessionless = []upstreamtest.Era{session}, true
				}
				s := upstreamtest.New(options)
				p, to := newPool(t), target(s.Start(t))
				mustCall(t, p, to, echo("well"))
				f := upstreamtest.Fault{On: upstreamtest.OnCall, Kind: upstreamtest.Raw, Status: tc.status, Body: tc.body, Times: 1}
				if tc.era == legacy {
					f.Kind = upstreamtest.Status
				}
				if tc.body != "" && tc.body[0] != '{' {
					f.Header = http.Header{"Content-Type": {"text/plain"}}
				}
				s.SetFault(f)
				r := echo("x")
				r.Repeatable = repeatable
				resp, err := p.Call(testContext(t), to, r)
				calls, succeeds := 2, true
				if !tc.unprocessed && !repeatable || tc.answer {
					calls, succeeds = 1, false
				}
				if n := len(s.Requests("tools/call")) - 1; n != calls {
					t.Errorf("call was sent %d times, want %d", n, calls)
				}
				if (err == nil && resp.Error == nil) != succeeds {
					t.Errorf("got %+v, %v", resp, err)
				}
				mustCall(t, p, to, echo("afterwards"))
			})
		}
	}
}

// TestRepeatableCallsAreRetried resets the connection after the call was sent.
func TestRepeatableCallsAreRetried(t *testing.T) {
	for _, repeatable := range []bool{false, true} {
		s := upstreamtest.New(upstreamtest.Options{Tools: upstreamtest.Standard(1)})
		p, to := newPool(t), target(s.Start(t))
		mustCall(t, p, to, echo("well"))
		s.SetFault(upstreamtest.Fault{On: upstreamtest.OnCall, Kind: upstreamtest.Reset, Times: 1})
		r := echo("x")
		r.Repeatable = repeatable
		if _, err := p.Call(testContext(t), to, r); (err == nil) != repeatable {
			t.Errorf("repeatable %t: %v", repeatable, err)
		}
	}
}

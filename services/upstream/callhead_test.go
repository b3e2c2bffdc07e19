package upstream_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/upstreamtest"
)

// poolOver returns a pool whose requests net/http sends. It ends with the test.
func poolOver(t *testing.T, over *http.Transport) *upstream.Pool {
	t.Helper()
	p := upstream.NewPool(&http.Client{Transport: over}, "1.2.3")
	t.Cleanup(func() {
		p.Close()
		over.CloseIdleConnections()
	})
	return p
}

// TestCallsCarryTheSameHeadersHoweverTheyAreSent compares what the gateway's
// client sends as lines with what net/http makes of the same header.
func TestCallsCarryTheSameHeadersHoweverTheyAreSent(t *testing.T) {
	bindings, err := upstream.ParseParamHeaders([]byte(`{"name":"echo","inputSchema":{"type":"object","properties":{"text":{"type":"string","x-mcp-header":"Text"}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, configured := range map[string]http.Header{
		"none":               nil,
		"ordinary":           {"x-team": {"a", "b"}, "Authorization": {"Bearer c"}, "X-Empty": {""}},
		"of the protocol":    {"mcp-name": {"other"}, "Mcp-Param-Text": {"y"}, "accept": {"*/*"}, "content-type": {"text/plain"}, "User-Agent": {"me"}},
		"of a trace":         {"traceparent": {"00-1"}, "Tracestate": {"x=y"}},
		"of a repetition":    {"idempotency-key": {"k"}},
		"what net/http sets": {"Host": {"other.example"}, "Te": {"trailers"}},
	} {
		for client, from := range map[string]upstream.Client{
			"nobody":        {},
			"a trace":       {TraceParent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
			"a whole trace": {TraceParent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", TraceState: "a=b"},
		} {
			for _, era := range []upstreamtest.Era{upstreamtest.Era20251125, upstreamtest.Era20260728} {
				var got [2]http.Header
				for way, pool := range []*upstream.Pool{newPool(t), poolOver(t, http.DefaultTransport.(*http.Transport).Clone())} {
					s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{era}, Tools: upstreamtest.Standard(1), Answer: upstreamtest.AnswerJSON})
					to := target(s.Start(t))
					to.Headers = func(context.Context) (http.Header, error) { return configured, nil }
					r := echo("ü")
					r.Client, r.ParamHeaders = from, bindings
					mustCall(t, pool, to, r)
					_, got[way] = sent(t, s, "tools/call")
					got[way].Del("Mcp-Session-Id") // of each server its own
				}
				if diff := cmp.Diff(got[1], got[0]); diff != "" {
					t.Errorf("%s, %s, %s (-net/http +lines):\n%s", name, client, era, diff)
				}
			}
		}
	}
}

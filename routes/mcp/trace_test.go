package mcp_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/upstream/upstreamtest"
)

// TestTracePropagation checks that the trace context of a client is in the
// upstream call and in the log (W3C Trace Context).
func TestTracePropagation(t *testing.T) {
	const id, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	for name, options := range map[string]upstreamtest.Options{
		"handshake": {Eras: []upstreamtest.Era{upstreamtest.Era20251125}}, "stateless": {Eras: []upstreamtest.Era{upstreamtest.Era20260728}}, "HTTP+SSE": {Eras: []upstreamtest.Era{upstreamtest.Era20241105}},
	} {
		t.Run(name, func(t *testing.T) {
			options.Name, options.Tools = "up", upstreamtest.Standard(1)
			up := upstreamtest.New(options)
			a := routestest.New(t, modelstest.SQLite(t))
			a.Apply(t, `{"projects":{"p":{"authMode":"none","mcpServers":{"up":{"url":"`+up.Start(t)+`","headers":{"Traceparent":"configured"}}}}}}`)
			a.Sync(t, "p", "up")
			call := func(header map[string]string) (sent http.Header, requestID string) {
				t.Helper()
				up.ForgetRequests()
				r := httptest.NewRequest(http.MethodPost, "/v1/mcp/p/request", strings.NewReader(echoCall))
				r.Host = "127.0.0.1:8080"
				r.Header.Set("Content-Type", "application/json")
				for name, value := range header {
					r.Header.Set(name, value)
				}
				answer, err := a.Test(r, 10_000)
				if err != nil {
					t.Fatal(err)
				}
				_ = answer.Body.Close()
				got, err := up.WaitForRequests(t.Context(), "tools/call", 1)
				if err != nil || answer.StatusCode != 200 {
					t.Fatal(answer.StatusCode, err)
				}
				return got[0].Header, answer.Header.Get("X-Request-Id")
			}
			sent, _ := call(map[string]string{"traceparent": "00-" + id + "-" + parent + "-01", "tracestate": "vendor=1"})
			if got := sent.Get("Traceparent"); !regexp.MustCompile(`^00-`+id+`-[0-9a-f]{16}-01$`).MatchString(got) || strings.Contains(got, parent) {
				t.Errorf("the upstream got traceparent %q", got)
			}
			if got := sent.Values("Tracestate"); len(got) != 1 || got[0] != "vendor=1" {
				t.Errorf("the upstream got tracestate %q", got)
			}
			logged(t, a, id)
			sent, requestID := call(nil)
			fresh := strings.ReplaceAll(requestID, "-", "")
			if got := sent.Get("Traceparent"); !regexp.MustCompile(`^00-` + fresh + `-[0-9a-f]{16}-00$`).MatchString(got) {
				t.Errorf("without a trace of the client the upstream got %q, want the trace %s", got, fresh)
			}
			if got := sent.Values("Tracestate"); len(got) != 0 {
				t.Errorf("the upstream got tracestate %q", got)
			}
			logged(t, a, fresh)
		})
	}
}

// logged waits for the log line of the trace.
func logged(t *testing.T, a *routestest.App, id string) {
	t.Helper()
	line := regexp.MustCompile(`"trace_id":"` + id + `".*"rpc":"tools/call"`)
	routestest.Eventually(t, "the line of the trace "+id, func() bool { return line.MatchString(a.Log.String()) })
}

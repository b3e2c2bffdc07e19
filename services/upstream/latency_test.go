package upstream_test

import (
	"crypto/x509"
	"fmt"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"mcpgateway/services/egress"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/upstreamtest"
)

// TestLatencyWithManyClients calls a server that answers after 20 ms from 512
// clients at once, several times each. None of the calls fails, and connections
// are reused.
func TestLatencyWithManyClients(t *testing.T) {
	const clients, each = 512, 4
	for _, scheme := range []string{"http", "https"} {
		for _, answer := range []upstreamtest.AnswerMode{upstreamtest.AnswerJSON, upstreamtest.AnswerSSE} {
			t.Run(fmt.Sprint(scheme, " ", answer), func(t *testing.T) {
				s := upstreamtest.New(upstreamtest.Options{Tools: upstreamtest.Standard(1), Answer: answer, Record: 2 * clients * each})
				s.SetFault(upstreamtest.Fault{On: upstreamtest.OnCall, Kind: upstreamtest.Delay, Latency: 20 * time.Millisecond})
				srv := httptest.NewUnstartedServer(s)
				roots := x509.NewCertPool()
				if scheme == "https" {
					srv.StartTLS()
					roots.AddCert(srv.Certificate())
				} else {
					srv.Start()
				}
				outbound := egress.NewClients(egress.NewGuard(egress.DefaultAllow(true)), egress.WithRootCAs(roots))
				p := upstream.NewPool(outbound.MCP(), "1")
				t.Cleanup(func() {
					p.Close()
					outbound.Close()
					s.Close()
					srv.Close()
				})
				to := target(srv.URL + "/mcp")
				mustCall(t, p, to, echo("warm"))
				var all sync.WaitGroup
				for client := range clients {
					all.Go(func() {
						for i := range each {
							r := echo(fmt.Sprint(client, " ", i))
							r.Client.Caller = "one key"
							if _, err := p.Call(t.Context(), to, r); err != nil {
								t.Errorf("client %d, call %d: %v", client, i, err)
								return
							}
						}
					})
				}
				all.Wait()
				if n := len(s.Requests("tools/call")); n != 1+clients*each {
					t.Errorf("the server received %d calls, want %d", n, 1+clients*each)
				}
			})
		}
	}
}

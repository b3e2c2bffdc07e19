package pool_test

import (
	"crypto/x509"
	"fmt"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mcpgateway/services/egress"
	"mcpgateway/services/upstream/pool"
	"mcpgateway/services/upstream/upstreamtest"
)

// TestLatencyWithManyClients calls a server that responds after 20 ms, from up
// to 512 concurrent clients, several times each. No call may fail.
func TestLatencyWithManyClients(t *testing.T) {
	const clients, each = 512, 4
	const handshakes = 16 // concurrently; a busy machine completes few per second
	for _, scheme := range []string{"http", "https"} {
		for _, answer := range []upstreamtest.ResponseMode{upstreamtest.AnswerJSON, upstreamtest.AnswerSSE} {
			t.Run(fmt.Sprint(scheme, " ", answer), func(t *testing.T) {
				s := upstreamtest.New(upstreamtest.Options{Tools: upstreamtest.Standard(1), Answer: answer, Record: -1})
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
				p := pool.New(outbound.MCP(), "1")
				t.Cleanup(func() {
					p.Close()
					outbound.Close()
					s.Close()
					srv.Close()
				})
				to := target(srv.URL + "/mcp")
				mustCall(t, p, to, echo("warm"))
				var all sync.WaitGroup
				var begun atomic.Int64
				var most atomic.Int64
				first := make(chan struct{}, handshakes)
				for client := range clients {
					all.Go(func() {
						first <- struct{}{}
						for i := 0; i < each || begun.Load() < clients; i++ {
							r := echo(fmt.Sprint(client, " ", i))
							r.Client.Caller = "one key"
							_, err := p.Call(t.Context(), to, r)
							if i == 0 {
								begun.Add(1)
								<-first
							}
							if err != nil {
								t.Errorf("client %d, call %d: %v", client, i, err)
								return
							}
							most.Store(max(most.Load(), int64(p.Health("srv").Active)))
						}
					})
				}
				all.Wait()
				t.Logf("up to %d concurrent calls", most.Load())
			})
		}
	}
}

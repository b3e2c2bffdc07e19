package pool_test

import (
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"mcpgateway/services/egress"
	"mcpgateway/services/fault"
	"mcpgateway/services/upstream/pool"
	"mcpgateway/services/upstream/upstreamtest"
)

func TestSecureUpstreams(t *testing.T) {
	for _, h2 := range []bool{false, true} {
		s := upstreamtest.New(upstreamtest.Options{Tools: upstreamtest.Standard(1), Answer: upstreamtest.AnswerSSE})
		srv := httptest.NewUnstartedServer(s)
		srv.EnableHTTP2 = h2
		srv.StartTLS()
		roots := x509.NewCertPool()
		roots.AddCert(srv.Certificate())
		clients := egress.NewClients(egress.NewGuard(egress.DefaultAllow(true)), egress.WithRootCAs(roots))
		p := pool.New(clients.MCP(), "1")
		to := target(srv.URL + "/mcp")
		for i := range 5 {
			mustCall(t, p, to, echo(fmt.Sprint(i)))
		}
		if !h2 {
			srv.CloseClientConnections()
			mustCall(t, p, to, echo("on another connection"))
		}
		p.Close()
		clients.Close()
		s.Close()
		srv.Close()
	}
}

func TestUntrustedCertificates(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.NotFoundHandler())
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	defer srv.Close()
	_, err := newPool(t).Describe(testContext(t), target(srv.URL))
	wantFault(t, err, fault.CodeUpstreamUnavailable, "certificate")
}

func TestFirstCallAfterRestartSucceeds(t *testing.T) {
	for _, era := range upstreamtest.AllEras() {
		t.Run(string(era), func(t *testing.T) {
			opts := upstreamtest.Options{Eras: []upstreamtest.Era{era}, Tools: upstreamtest.Standard(1)}
			first := upstreamtest.New(opts)
			at, err := first.Listen(context.Background(), "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			p, to := newPool(t), target(at)
			for range 3 {
				mustCall(t, p, to, echo("before"))
				addr := hostOf(at)
				first.Close()
				next := upstreamtest.New(opts)
				if err := retry(func() error { _, err := next.Listen(context.Background(), addr); return err }); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(next.Close)
				mustCall(t, p, to, echo("after"))
				first = next
			}
		})
	}
}

func TestUpstreamRecovers(t *testing.T) {
	for _, era := range upstreamtest.AllEras() {
		opts := upstreamtest.Options{Eras: []upstreamtest.Era{era}, Tools: upstreamtest.Standard(1)}
		first := upstreamtest.New(opts)
		at, err := first.Listen(context.Background(), "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		p, to := newPool(t), target(at)
		mustCall(t, p, to, echo("before"))
		first.Close()
		for range 2 {
			if _, err := p.Call(testContext(t), to, echo("x")); !fault.Is(err, fault.CodeUpstreamUnavailable) {
				t.Errorf("%s: %v", era, err)
			}
		}
		next := upstreamtest.New(opts)
		if err := retry(func() error { _, err := next.Listen(context.Background(), hostOf(at)); return err }); err != nil {
			t.Fatal(err)
		}
		mustCall(t, p, to, echo("after"))
		p.Close()
		next.Close()
	}
}

func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return raw
	}
	return u.Host
}

// retry repeats try for a while, such as listening on a port that was in use.
func retry(try func() error) (err error) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); <-tick.C {
		if err = try(); err == nil {
			return nil
		}
	}
	return err
}

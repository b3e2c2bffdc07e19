package egress_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"mcpgateway/services/egress"
)

// TestProtocols calls servers of all kinds twice with a body. Each request
// arrives once, over HTTP/1.1 if the server supports it.
func TestProtocols(t *testing.T) {
	offering := func(protocols ...string) func(*tls.Config) {
		return func(c *tls.Config) { c.NextProtos = protocols }
	}
	for name, tt := range map[string]struct {
		configure func(*tls.Config)
		want      string
	}{
		"HTTP/1.1 only":             {offering("http/1.1"), "HTTP/1.1"},
		"both, HTTP/2 preferred":    {offering("h2", "http/1.1"), "HTTP/1.1"},
		"both, HTTP/1.1 preferred":  {offering("http/1.1", "h2"), "HTTP/1.1"},
		"HTTP/2 only, accepts all":  {offering("h2"), "HTTP/2.0"},
		"HTTP/2 only, sends alerts": {refusingHTTP1, "HTTP/2.0"},
		"no negotiation":            {withoutNegotiation, "HTTP/1.1"},
		"TLS 1.2":                   {func(c *tls.Config) { c.MaxVersion, c.NextProtos = tls.VersionTLS12, []string{"http/1.1"} }, "HTTP/1.1"},
		"TLS 1.2, HTTP/2 only":      {func(c *tls.Config) { c.MaxVersion, c.NextProtos = tls.VersionTLS12, []string{"h2"} }, "HTTP/2.0"},
	} {
		t.Run(name, func(t *testing.T) {
			var served atomic.Int64
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				served.Add(1)
				body, _ := io.ReadAll(r.Body)
				fmt.Fprint(w, r.Proto, " ", string(body))
			}))
			s.EnableHTTP2 = true
			s.Config.ErrorLog = log.New(io.Discard, "", 0)
			s.StartTLS()
			tt.configure(s.TLS)
			t.Cleanup(s.Close)
			c := local(t)
			for range 2 {
				if _, text, err := send(t.Context(), c, "POST", s.URL, "body"); err != nil || text != tt.want+" body" {
					t.Errorf("got %q, %v, want %q", text, err, tt.want+" body")
				}
			}
			if n := served.Load(); n != 2 {
				t.Errorf("%d requests arrived, want 2", n)
			}
		})
	}
}

// refusingHTTP1 configures a server to send the alert no_application_protocol
// to clients without HTTP/2.
func refusingHTTP1(c *tls.Config) {
	base := c.Clone()
	c.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		own := base.Clone()
		if own.NextProtos = []string{"h2"}; !slices.Contains(hello.SupportedProtos, "h2") {
			own.NextProtos = []string{"other"}
		}
		return own, nil
	}
}

func withoutNegotiation(c *tls.Config) {
	base := c.Clone()
	base.NextProtos = nil
	c.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return base, nil }
}

// TestServerEndsAfterHandshake closes connections without reading a request.
func TestServerEndsAfterHandshake(t *testing.T) {
	for _, protocols := range [][]string{{"http/1.1"}, nil} {
		s := newServer(t, secure(protocols...), func(_ int64, c net.Conn, _ *bufio.Reader) {
			_ = c.(*tls.Conn).HandshakeContext(t.Context())
		})
		if _, text, err := send(t.Context(), local(t), "POST", s.url, "{}"); err == nil {
			t.Errorf("%q: got %q", protocols, text)
		}
	}
}

func TestTLSSessionsAreResumed(t *testing.T) {
	resumed := make(chan bool, 3)
	s := newServer(t, secure("http/1.1"), func(_ int64, c net.Conn, in *bufio.Reader) {
		if r, _ := read(in); r != nil {
			resumed <- c.(*tls.Conn).ConnectionState().DidResume
			_, _ = io.WriteString(c, strings.Replace(plainAnswer, "\r\n", "\r\nConnection: close\r\n", 1))
		}
	})
	c := local(t)
	for i := range 3 {
		if _, _, err := send(t.Context(), c, "POST", s.url, "{}"); err != nil {
			t.Fatal(err)
		}
		if got := <-resumed; got != (i > 0) {
			t.Errorf("connection %d: resumed = %t", i+1, got)
		}
	}
}

// TestHalfClosedConnectionsAreReplaced closes the server's side of one
// connection and leaves another one open.
func TestHalfClosedConnectionsAreReplaced(t *testing.T) {
	for scheme, config := range map[string]*tls.Config{"http": nil, "https": secure("http/1.1")} {
		closed := make(chan struct{}, 3)
		s := newServer(t, config, func(_ int64, c net.Conn, in *bufio.Reader) {
			if r, _ := read(in); r == nil {
				return
			}
			_, _ = io.WriteString(c, plainAnswer)
			if secure, ok := c.(*tls.Conn); ok {
				_ = secure.CloseWrite()
				c = secure.NetConn()
			}
			_ = c.(*net.TCPConn).CloseWrite()
			closed <- struct{}{}
			if r, _ := read(in); r != nil {
				t.Errorf("%s: request arrived on a half-closed connection", scheme)
			}
		})
		c := local(t)
		for range 3 {
			if _, text, err := send(t.Context(), c, "POST", s.url, "{}"); err != nil || text != "{}" {
				t.Fatalf("%s: got %q, %v", scheme, text, err)
			}
			<-closed
		}
		if n := s.conns.Load(); n != 3 {
			t.Errorf("%s: %d connections, want 3", scheme, n)
		}
	}
}

func TestSlowResponses(t *testing.T) {
	const response = "HTTP/1.1 200 OK\r\nTrailer: X\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\nX: y\r\n\r\n"
	for scheme, config := range map[string]*tls.Config{"http": nil, "https": secure("http/1.1")} {
		s := newServer(t, config, func(_ int64, c net.Conn, in *bufio.Reader) {
			for r, _ := read(in); r != nil; r, _ = read(in) {
				for i := range len(response) {
					_, _ = io.WriteString(c, response[i:i+1])
				}
			}
		})
		c := local(t)
		for range 2 {
			req, err := http.NewRequestWithContext(t.Context(), "POST", s.url, strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := c.MCP().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(resp.Body)
			if _ = resp.Body.Close(); err != nil || string(text) != "{}" || resp.Trailer.Get("X") != "y" {
				t.Errorf("%s: got %q, %v and the trailer %v", scheme, text, err, resp.Trailer)
			}
		}
		if n := s.conns.Load(); n != 1 {
			t.Errorf("%s: %d connections, want 1", scheme, n)
		}
	}
}

// TestRestIsRead reads the start of a body and leaves the rest to
// CloseAfterRest.
func TestRestIsRead(t *testing.T) {
	const limit = 64 << 10
	for rest, reused := range map[int]bool{0: true, 1: true, limit - 1: true, limit: true, limit + 1: false} {
		for _, cancelled := range []bool{false, true} {
			proceed := make(chan struct{})
			ended := make(chan error, 1)
			s := newServer(t, secure("http/1.1"), func(n int64, c net.Conn, in *bufio.Reader) {
				if r, _ := read(in); r == nil {
					return
				}
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n")
				<-proceed
				if rest > 0 {
					_, _ = fmt.Fprintf(c, "%x\r\n%s\r\n", rest, strings.Repeat("x", rest))
				}
				_, _ = io.WriteString(c, "0\r\n\r\n")
				_, err := in.ReadByte()
				ended <- err
			})
			c := local(t)
			ctx, cancel := contextOf(t)
			req, err := http.NewRequestWithContext(ctx, "POST", s.url, strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := c.MCP().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(resp.Body, make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			if cancelled {
				cancel()
			}
			egress.CloseAfterRest(nil, resp.Body)
			cancel() // no longer relevant
			close(proceed)
			want := 1
			if cancelled || !reused {
				<-ended
				want = 0
			} else {
				waitFor(t, func() bool { return egress.Idle(c) == 1 })
			}
			if n := egress.Idle(c); n != want {
				t.Errorf("%d bytes, cancelled %t: %d idle connections, want %d", rest, cancelled, n, want)
			}
		}
	}
}

func TestIdleConnectionsAreLimited(t *testing.T) {
	const perHost, total = egress.IdleConnsPerHost, egress.IdleConnsTotal
	for _, tt := range []struct{ hosts, each, want int }{
		{1, perHost - 1, perHost - 1}, {1, perHost, perHost}, {1, perHost + 1, perHost},
		{total - 1, 1, total - 1}, {total, 1, total}, {total + 1, 1, total},
	} {
		if got := egress.PutIdle(tt.hosts, tt.each); got != tt.want {
			t.Errorf("%d connections to each of %d hosts: %d are idle, want %d", tt.each, tt.hosts, got, tt.want)
		}
	}
}

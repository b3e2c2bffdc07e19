package egress_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"mcpgateway/services/egress"
)

// scripted is a server that runs a function per connection with the
// connection's number, starting at 1.
type scripted struct {
	url   string
	conns atomic.Int64
}

func newScripted(t *testing.T, play func(n int64, c net.Conn, in *bufio.Reader)) *scripted {
	t.Helper()
	return newServer(t, nil, play)
}

// newServer returns a scripted server, with https if it has a configuration.
func newServer(t *testing.T, config *tls.Config, play func(n int64, c net.Conn, in *bufio.Reader)) *scripted {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &scripted{url: "http://" + l.Addr().String() + "/mcp?a=b%20c"}
	if config != nil {
		l, s.url = tls.NewListener(l, config), "https"+strings.TrimPrefix(s.url, "http")
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			n := s.conns.Add(1)
			all.Go(func() {
				defer c.Close()
				play(n, c, bufio.NewReader(c))
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		all.Wait()
	})
	return s
}

// schemes are the configurations of servers of http and https.
func schemes() map[string]*tls.Config {
	return map[string]*tls.Config{"http": nil, "https": secure("http/1.1"), "https without negotiation": secure()}
}

// certificate is the certificate of package httptest.
var certificate = sync.OnceValue(func() *x509.Certificate {
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	identity = s.TLS.Certificates
	return s.Certificate()
})

var identity []tls.Certificate

// secure returns the configuration of a server that supports the protocols.
func secure(protocols ...string) *tls.Config {
	certificate()
	return &tls.Config{Certificates: identity, NextProtos: protocols}
}

// read returns the next request with its body, or nil when there is none.
func read(in *bufio.Reader) (*http.Request, string) {
	r, err := http.ReadRequest(in)
	if err != nil {
		return nil, ""
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, ""
	}
	return r, string(body)
}

const plainAnswer = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"

// respondWith responds to every request on a connection with the text.
func respondWith(text string) func(int64, net.Conn, *bufio.Reader) {
	return func(_ int64, c net.Conn, in *bufio.Reader) {
		for {
			if r, _ := read(in); r == nil {
				return
			}
			if _, err := io.WriteString(c, text); err != nil {
				return
			}
		}
	}
}

func local(t *testing.T) *egress.Clients {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(certificate())
	c := clients(t, egress.DefaultAllow(true), egress.WithRootCAs(roots))
	t.Cleanup(c.Close) // before servers wait for their connections
	return c
}

func send(ctx context.Context, c *egress.Clients, method, url, body string) (int, string, error) {
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, reader)
	if err != nil {
		return 0, "", err
	}
	resp, err := c.MCP().Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}

func TestConnectionsAreReused(t *testing.T) {
	for scheme, config := range schemes() {
		for name, tt := range map[string]struct {
			response, method string
			want             string
			conns            int64 // after two requests
		}{
			"length":           {plainAnswer, "POST", "200 {}", 1},
			"chunks":           {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n", "POST", "200 {}", 1},
			"trailer":          {"HTTP/1.1 200 OK\r\nTrailer: X\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX: y\r\n\r\n", "POST", "200 {}", 1},
			"no body":          {"HTTP/1.1 204 No Content\r\n\r\n", "DELETE", "204 ", 1},
			"length 0":         {"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n", "POST", "202 ", 1},
			"HEAD":             {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", "HEAD", "200 ", 1},
			"early hints":      {strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", 4) + plainAnswer, "POST", "200 {}", 1},
			"connection close": {"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}", "POST", "200 {}", 2},
			"HTTP/1.0":         {"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}", "POST", "200 {}", 2},
			"extra bytes":      {plainAnswer + "more", "POST", "200 {}", 2},
		} {
			t.Run(scheme+" "+name, func(t *testing.T) {
				s := newServer(t, config, respondWith(tt.response))
				c := local(t)
				for range 2 {
					body := ""
					if tt.method == "POST" {
						body = "{}"
					}
					status, text, err := send(t.Context(), c, tt.method, s.url, body)
					if got := fmt.Sprintf("%d %s", status, text); err != nil || got != tt.want {
						t.Errorf("got %q, %v, want %q", got, err, tt.want)
					}
				}
				want := tt.conns
				if scheme == "https without negotiation" {
					want++ // the HTTP/2 check, once
				}
				if n := s.conns.Load(); n != want {
					t.Errorf("%d connections, want %d", n, want)
				}
			})
		}
	}
}

func TestRequestsArriveUnchanged(t *testing.T) {
	seen := make(chan string, 1)
	s := newScripted(t, func(_ int64, c net.Conn, in *bufio.Reader) {
		r, body := read(in)
		if r == nil {
			return
		}
		seen <- fmt.Sprint(r.Method, " ", r.RequestURI, " ", r.Header["X-A"], r.Header["X-Idempotency-Key"], len(r.Header), " ", r.ContentLength, " ", body)
		_, _ = io.WriteString(c, plainAnswer)
	})
	req, err := http.NewRequestWithContext(t.Context(), "POST", s.url, strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header["X-A"] = []string{"1", "two words"}
	req.Header["X-Idempotency-Key"] = nil // marks a request for net/http and is not sent
	req.Header["User-Agent"] = nil
	resp, err := local(t).MCP().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if got, want := <-seen, "POST /mcp?a=b%20c [1 two words] [] 2 4 body"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestInvalidRequestsAreNotSent(t *testing.T) {
	s := newScripted(t, respondWith(plainAnswer))
	for name, edit := range map[string]func(*http.Request){
		"header name":  func(r *http.Request) { r.Header["X A"] = []string{"1"} },
		"header value": func(r *http.Request) { r.Header["X-A"] = []string{"1\r\nX-B: s3cret"} },
		"host":         func(r *http.Request) { r.Host = "a\r\nX-B: 1" },
		"query":        func(r *http.Request) { r.URL.RawQuery = "a b" },
		"method":       func(r *http.Request) { r.Method = "PO ST" },
		"length":       func(r *http.Request) { r.ContentLength++ },
	} {
		req, err := http.NewRequestWithContext(t.Context(), "POST", s.url, strings.NewReader("body"))
		if err != nil {
			t.Fatal(err)
		}
		edit(req)
		resp, err := local(t).MCP().Transport.RoundTrip(req)
		if err == nil {
			_ = resp.Body.Close()
			t.Errorf("%s: request was sent", name)
		} else if strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: error contains a header value: %v", name, err)
		}
	}
	if n := s.conns.Load(); n != 0 {
		t.Errorf("%d connections", n)
	}
}

func TestInvalidResponses(t *testing.T) {
	header := func(size int) string {
		const before, after = "HTTP/1.1 200 OK\r\nX-Long: ", "\r\nContent-Length: 0\r\n\r\n"
		return before + strings.Repeat("x", size-len(before)-len(after)) + after
	}
	const limit = 64 << 10
	for name, tc := range map[string]struct {
		answer string
		fails  bool
	}{
		"header below limit":     {header(limit - 1), false},
		"header at limit":        {header(limit), false},
		"header over limit":      {header(limit + 1), true},
		"no HTTP":                {"hello\r\n\r\n", true},
		"another protocol":       {"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", true},
		"only early hints":       {strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 5) + plainAnswer, true},
		"shorter than announced": {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{}", true},
		"broken chunks":          {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{}", true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScripted(t, func(_ int64, c net.Conn, in *bufio.Reader) {
				if r, _ := read(in); r != nil {
					_, _ = io.WriteString(c, tc.answer)
				}
			})
			if _, text, err := send(t.Context(), local(t), "POST", s.url, "{}"); (err != nil) != tc.fails {
				t.Errorf("got %q, %v", text, err)
			}
			if n := s.conns.Load(); n != 1 {
				t.Errorf("%d connections", n)
			}
		})
	}
}

// TestRequestsAreSentOnce closes an idle connection before or after the next
// request is written to it. Only unwritten requests are sent again.
func TestRequestsAreSentOnce(t *testing.T) {
	for scheme, config := range schemes() {
		for _, method := range []string{"POST", "GET", "DELETE"} {
			for _, before := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s %s, closed before %t", scheme, method, before), func(t *testing.T) {
					closed := make(chan struct{})
					var served, opened atomic.Int64
					s := newServer(t, config, func(_ int64, c net.Conn, in *bufio.Reader) {
						if r, _ := read(in); r == nil {
							return // it was the HTTP/2 check
						}
						served.Add(1)
						_, _ = io.WriteString(c, plainAnswer)
						if opened.Add(1) > 1 {
							_, _ = read(in)
							return
						}
						if !before {
							if r, _ := read(in); r != nil {
								served.Add(1)
							}
						}
						_ = c.Close()
						close(closed)
					})
					c := local(t)
					if _, _, err := send(t.Context(), c, "POST", s.url, "{}"); err != nil {
						t.Fatal(err)
					}
					if before {
						<-closed
					}
					_, _, err := send(t.Context(), c, method, s.url, "")
					if (err == nil) != before {
						t.Errorf("got %v", err)
					}
					if n := served.Load(); n != 2 {
						t.Errorf("server received %d requests, want 2", n)
					}
				})
			}
		}
	}
}

func TestEarlyRejectionIsRead(t *testing.T) {
	s := newScripted(t, func(_ int64, c net.Conn, in *bufio.Reader) {
		_, _ = in.ReadString('\n')
		_, _ = io.WriteString(c, "HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n")
		// The response must arrive although the rest is never read.
		_ = c.(*net.TCPConn).CloseWrite()
		_, _ = io.CopyN(io.Discard, c, 1<<20)
	})
	status, _, err := send(t.Context(), local(t), "POST", s.url, strings.Repeat("x", 4<<20))
	if status != http.StatusRequestEntityTooLarge {
		t.Errorf("got %d, %v", status, err)
	}
}

func TestCancellationEndsRequest(t *testing.T) {
	for _, inBody := range []bool{false, true} {
		t.Run(fmt.Sprintf("in the body %t", inBody), func(t *testing.T) {
			asked, ended := make(chan struct{}), make(chan struct{})
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if inBody {
					_, _ = io.WriteString(w, "data")
					_ = http.NewResponseController(w).Flush()
				}
				close(asked)
				<-r.Context().Done()
				close(ended)
			}))
			defer s.Close()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			req, err := http.NewRequestWithContext(ctx, "GET", s.URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			if !inBody {
				go func() {
					<-asked
					cancel()
				}()
			}
			resp, err := local(t).MCP().Do(req)
			if inBody {
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				if _, err = io.ReadFull(resp.Body, make([]byte, 4)); err != nil {
					t.Fatal(err)
				}
				cancel()
				_, err = resp.Body.Read(make([]byte, 1))
			}
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
			<-ended // the server noticed, or the test times out
		})
	}
}

func TestAbandonedBodyClosesConnection(t *testing.T) {
	s := newScripted(t, respondWith(plainAnswer))
	c := local(t)
	for n := int64(1); n <= 2; n++ {
		req, err := http.NewRequestWithContext(t.Context(), "GET", s.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.MCP().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		_ = resp.Body.Close() // a second call does nothing
		if _, err := resp.Body.Read(make([]byte, 1)); err == nil || err == io.EOF {
			t.Errorf("further read: %v", err)
		}
		if s.conns.Load() != n {
			t.Errorf("%d connections, want %d", s.conns.Load(), n)
		}
	}
}

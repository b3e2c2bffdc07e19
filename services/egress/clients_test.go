package egress_test

import (
	"compress/gzip"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mcpgateway/services/background/leaktest"
	"mcpgateway/services/egress"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func clients(t *testing.T, allow []netip.Prefix, options ...egress.Option) *egress.Clients {
	t.Helper()
	c := egress.NewClients(egress.NewGuard(allow), options...)
	t.Cleanup(c.Close)
	return c
}

// serve starts a server with handle that is closed with the test.
func serve(t *testing.T, handle http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(handle)
	t.Cleanup(s.Close)
	return s
}

func post(t *testing.T, client *http.Client, url string) (*http.Response, string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer secret")
	resp, err := client.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body), nil
}

func TestOnlyAllowedServersAreReached(t *testing.T) {
	var hits atomic.Int64
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		fmt.Fprint(w, "ok")
	})
	_, body, err := post(t, clients(t, egress.DefaultAllow(true)).MCP(), s.URL)
	if err != nil || body != "ok" {
		t.Errorf("allowed: %q (%v)", body, err)
	}
	before := hits.Load()
	strict := clients(t, nil).MCP()
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0", "[::]", "127.1.2.3"} {
		_, body, err := post(t, strict, "http://"+net.JoinHostPort(strings.Trim(host, "[]"), port))
		var blocked *egress.Blocked
		if !errors.As(err, &blocked) {
			t.Errorf("%s: %q (%v), want it blocked", host, body, err)
		}
	}
	if hits.Load() != before {
		t.Error("rejected request reached the server")
	}
}

func TestMetadataServicesAreAlwaysRejected(t *testing.T) {
	c := clients(t, prefixes("0.0.0.0/0", "::/0")).MCP()
	for _, url := range []string{"http://169.254.169.254/latest", "http://[fd00:ec2::254]/", "http://100.100.100.200/"} {
		_, _, err := post(t, c, url)
		var blocked *egress.Blocked
		if !errors.As(err, &blocked) || !blocked.Never {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestRedirects(t *testing.T) {
	cases := []struct {
		status, hops int
		want         int // final status
		requests     int64
	}{
		{307, 2, 200, 3},
		{307, 3, 200, 4},
		{307, 4, 307, 4},
		{308, 1, 200, 2},
		{308, 3, 200, 4},
		{308, 4, 308, 4},
		{301, 1, 301, 1},
		{302, 1, 302, 1},
		{303, 1, 303, 1},
		{300, 1, 300, 1},
	}
	for _, c := range cases {
		t.Run(fmt.Sprintf("%d times %d", c.hops, c.status), func(t *testing.T) {
			var requests atomic.Int64
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				n := requests.Add(1)
				body, err := io.ReadAll(r.Body)
				if r.Method != http.MethodPost || string(body) != "body" || err != nil || r.Header.Get("Authorization") != "Bearer secret" {
					t.Errorf("request %d: method %s, body %q, Authorization %q (%v)", n, r.Method, body, r.Header.Get("Authorization"), err)
				}
				if n <= int64(c.hops) {
					w.Header().Set("Location", fmt.Sprintf("/hop/%d", n))
					w.WriteHeader(c.status)
				}
			})
			resp, _, err := post(t, clients(t, egress.DefaultAllow(true)).MCP(), s.URL)
			if err != nil {
				t.Fatal(err)
			}
			if resp.StatusCode != c.want || requests.Load() != c.requests {
				t.Errorf("status %d after %d requests, want %d after %d", resp.StatusCode, requests.Load(), c.want, c.requests)
			}
			if c.want != 200 && resp.Header.Get("Location") == "" {
				t.Error("response is not the redirect")
			}
		})
	}
}

func TestCrossOriginRedirectsAreNotFollowed(t *testing.T) {
	var strayed atomic.Int64
	other := serve(t, func(http.ResponseWriter, *http.Request) { strayed.Add(1) })
	_, otherPort, err := net.SplitHostPort(other.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	var location atomic.Value
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/done" {
			return
		}
		w.Header().Set("Location", location.Load().(string))
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c := clients(t, egress.DefaultAllow(true)).MCP()
	cases := []struct {
		location string
		want     int
	}{
		{other.URL, 307},
		{"http://127.0.0.1:" + otherPort + "/done", 307},
		{"http://localhost:" + port + "/done", 307},
		{"https://127.0.0.1:" + port + "/done", 307},
		{"//127.0.0.1:" + otherPort + "/done", 307},
		{"http://127.0.0.1/done", 307},
		{"http://169.254.169.254/latest", 307},
		{"/done", 200},
		{"http://127.0.0.1:" + port + "/done", 200},
		{"HTTP://127.0.0.1:" + port + "/done", 200},
	}
	for _, tc := range cases {
		location.Store(tc.location)
		resp, _, err := post(t, c, s.URL)
		if err != nil {
			t.Errorf("%s: %v", tc.location, err)
			continue
		}
		if resp.StatusCode != tc.want {
			t.Errorf("%s: status %d, want %d", tc.location, resp.StatusCode, tc.want)
		}
	}
	if strayed.Load() != 0 {
		t.Errorf("%d requests reached another origin", strayed.Load())
	}
}

func TestRedirectsStayOnFirstOrigin(t *testing.T) {
	other := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("request reached another origin") })
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		to := "/second"
		if r.URL.Path == "/second" {
			to = other.URL
		}
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusPermanentRedirect)
	})
	resp, _, err := post(t, clients(t, egress.DefaultAllow(true)).MCP(), s.URL)
	if err != nil || resp.Header.Get("Location") != other.URL {
		t.Errorf("%v (%v), want the redirect to %s", resp, err, other.URL)
	}
}

func TestProxyEnvironmentIsIgnored(t *testing.T) {
	proxy := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("request used the proxy") })
	t.Setenv("HTTP_PROXY", proxy.URL)
	t.Setenv("http_proxy", proxy.URL)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "direct") })
	_, body, err := post(t, clients(t, egress.DefaultAllow(true)).MCP(), s.URL)
	if err != nil || body != "direct" {
		t.Errorf("%q (%v)", body, err)
	}
}

func TestResponsesAreNotDecompressed(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Accept-Encoding"); got != "" {
			t.Errorf("Accept-Encoding %q", got)
		}
		w.Header().Set("Content-Encoding", "gzip")
		zip := gzip.NewWriter(w)
		fmt.Fprint(zip, strings.Repeat("bomb", 1000))
		if err := zip.Close(); err != nil {
			t.Error(err)
		}
	})
	resp, body, err := post(t, clients(t, egress.DefaultAllow(true)).MCP(), s.URL)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(body, "bomb") || resp.Header.Get("Content-Encoding") != "gzip" {
		t.Error("response was decompressed")
	}
}

func TestResponseHeadersAreLimited(t *testing.T) {
	cases := []struct {
		size int
		ok   bool
	}{{60 << 10, true}, {64 << 10, false}, {10 << 20, false}}
	for _, c := range cases {
		t.Run(fmt.Sprint(c.size), func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, r *http.Request) { w.Header().Set("X-Long", strings.Repeat("a", c.size)) })
			_, _, err := post(t, clients(t, egress.DefaultAllow(true)).MCP(), s.URL)
			if (err == nil) != c.ok {
				t.Errorf("header of %d bytes: %v", c.size, err)
			}
		})
	}
}

func TestContextEndsCall(t *testing.T) {
	arrived := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := clients(t, egress.DefaultAllow(true)).MCP().Do(req)
	if err == nil {
		resp.Body.Close()
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("call returned %v", err)
	}
}

func TestIdleConnectionsAreReused(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {}))
	var opened atomic.Int64
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	c := clients(t, egress.DefaultAllow(true))
	for range 5 {
		if _, _, err := post(t, c.MCP(), s.URL); err != nil {
			t.Fatal(err)
		}
	}
	if opened.Load() != 1 {
		t.Errorf("five calls opened %d connections", opened.Load())
	}
}

func TestCertificatesAreVerified(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Proto) }))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // it logs the rejected handshake
	s.StartTLS()
	t.Cleanup(s.Close)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	_, body, err := post(t, clients(t, egress.DefaultAllow(true), egress.WithRootCAs(roots)).MCP(), s.URL)
	if err != nil || body != "HTTP/1.1" {
		t.Errorf("with root CA: %q (%v)", body, err)
	}
	var unknown x509.UnknownAuthorityError
	if _, _, err := post(t, clients(t, egress.DefaultAllow(true)).MCP(), s.URL); !errors.As(err, &unknown) {
		t.Errorf("without root CA: %v", err)
	}
}

func TestRebind(t *testing.T) {
	reach := func(addr string) (*httptest.Server, *atomic.Int64) {
		var hits atomic.Int64
		listener, err := net.Listen("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
		s.Listener.Close()
		s.Listener = listener
		s.Start()
		t.Cleanup(s.Close)
		return s, &hits
	}
	// 127.0.0.2 represents the public address, 127.0.0.1 the internal one.
	public, publicHits := reach("127.0.0.2:0")
	_, port, err := net.SplitHostPort(public.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_, innerHits := reach("127.0.0.1:" + port)

	answer := &atomic.Value{}
	answer.Store([]netip.Addr{netip.MustParseAddr("127.0.0.2")})
	c := clients(t, prefixes("127.0.0.2/32"), egress.WithResolver(resolver(answer)))
	url := "http://rebind.test:" + port
	ask := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.MCP().Do(req)
		if err == nil {
			resp.Body.Close()
		}
		return err
	}
	if err := ask(); err != nil || publicHits.Load() != 1 {
		t.Fatalf("first address of the resolver: %v", err)
	}
	c.Close() // the idle connection is to the first address
	for _, addrs := range [][]netip.Addr{
		{netip.MustParseAddr("127.0.0.1")},
		{netip.MustParseAddr("169.254.169.254")},
		{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("10.0.0.1")},
	} {
		answer.Store(addrs)
		var blocked *egress.Blocked
		if err := ask(); !errors.As(err, &blocked) {
			t.Errorf("resolved to %v: %v", addrs, err)
		}
	}
	if innerHits.Load() != 0 {
		t.Error("inner server was reached")
	}
}

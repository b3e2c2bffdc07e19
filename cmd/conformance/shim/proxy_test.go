package shim_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"mcpgateway/cmd/conformance/shim"
)

const patience = 10 * time.Second

// stand starts a gateway with this handler and a proxy in front of it. It returns
// the proxy's URL.
func stand(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	gateway := httptest.NewServer(handler)
	t.Cleanup(gateway.Close)
	p, err := shim.New(shim.Options{Target: gateway.URL + "/v1/mcp/demo/request", Alias: "conf", Header: http.Header{"Authorization": {"Bearer key"}}})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- shim.Serve(ctx, listener, p) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Serve() = %v, want nil", err)
		}
	})
	return "http://" + listener.Addr().String()
}

// send sends a request on its own connection.
func send(t *testing.T, method, url, body string, header ...string) *http.Response {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Close = true
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			request.Host = header[i+1]
		} else {
			request.Header.Set(header[i], header[i+1])
		}
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	return response
}

func TestProxyRenamesAndForwards(t *testing.T) {
	var seen *http.Request
	var body string
	url := stand(t, func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		seen, body = r, string(raw)
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.Header().Set("X-Own", "kept")
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, `{"id":1,"result":{"tools":[{"name":"conf__a"},{"name":"x__a"}]}}`)
	})
	response := send(t, http.MethodPost, url+"/any?q=1", `{"method":"tools/call","params":{"name":"a"}}`, "Mcp-Method", "tools/call", "Mcp-Name", "a", "X-Mine", "1")
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(content), `{"id":1,"result":{"tools":[{"name":"a"}]}}`; got != want {
		t.Errorf("response = %s, want %s", got, want)
	}
	if response.StatusCode != http.StatusTeapot || response.Header.Get("X-Own") != "kept" {
		t.Errorf("status %d, header %v, want 418 and X-Own: kept", response.StatusCode, response.Header)
	}
	if want := `{"method":"tools/call","params":{"name":"conf__a"}}`; body != want {
		t.Errorf("gateway received %s, want %s", body, want)
	}
	if got, want := seen.URL.String(), "/v1/mcp/demo/request?q=1"; got != want {
		t.Errorf("gateway received URL %s, want %s", got, want)
	}
	for name, want := range map[string]string{"Authorization": "Bearer key", "Mcp-Name": "conf__a", "X-Mine": "1"} {
		if got := seen.Header.Get(name); got != want {
			t.Errorf("gateway received %s: %q, want %q", name, got, want)
		}
	}
}

func TestProxyReplacesOwnAddressOnly(t *testing.T) {
	type addresses struct{ host, origin string }
	seen := make(chan addresses, 1)
	url := stand(t, func(_ http.ResponseWriter, r *http.Request) { seen <- addresses{r.Host, r.Header.Get("Origin")} })
	own := strings.TrimPrefix(url, "http://")
	_, port, _ := net.SplitHostPort(own)

	_ = send(t, http.MethodGet, url, "", "Origin", "http://localhost:"+port).Body.Close()
	got := <-seen
	if got.host == own || got.origin != "http://"+got.host {
		t.Errorf("own address forwarded as %+v, want the gateway's", got)
	}
	other := addresses{"evil.example.com", "http://evil.example.com"}
	_ = send(t, http.MethodGet, url, "", "Host", other.host, "Origin", other.origin).Body.Close()
	if got := <-seen; got != other {
		t.Errorf("other address forwarded as %+v, want %+v", got, other)
	}
}

func TestProxyStreamsEvents(t *testing.T) {
	next := make(chan struct{})
	url := stand(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, part := range []string{
			": hello\n",
			"id: 1\nretry: 5\ndata: \n\n",
			"event: message\r\ndata: {\"id\":1,\r\ndata: \"result\":{\"tools\":[{\"name\":\"conf__a\"}]}}\r\n\r\n",
			"data: {\"cut\":",
		} {
			_, _ = io.WriteString(w, part)
			_ = http.NewResponseController(w).Flush()
			select {
			case <-next:
			case <-r.Context().Done():
				return
			}
		}
	})
	response := send(t, http.MethodGet, url, "")
	defer func() { _ = response.Body.Close() }()
	lines := bufio.NewReader(response.Body)
	expect := func(want ...string) {
		t.Helper()
		for _, w := range want {
			if got, err := lines.ReadString('\n'); err != nil || got != w {
				t.Fatalf("got %q, %v, want %q", got, err, w)
			}
		}
		next <- struct{}{}
	}
	expect(": hello\n")
	expect("id: 1\n", "retry: 5\n", "data: \n", "\n")
	expect("event: message\r\n", `data: {"id":1,`+"\n", `data: "result":{"tools":[{"name":"a"}]}}`+"\n", "\r\n")
	next <- struct{}{}
	if rest, err := io.ReadAll(lines); err != nil || len(rest) != 0 {
		t.Errorf("incomplete event forwarded as %q, %v, want nothing", rest, err)
	}
}

func TestClientDisconnectReachesGateway(t *testing.T) {
	left := make(chan struct{})
	url := stand(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(left)
	})
	response := send(t, http.MethodGet, url, "")
	_ = response.Body.Close()
	select {
	case <-left:
	case <-time.After(patience):
		t.Error("stream to the gateway is still open")
	}
}

func TestTruncatedResponse(t *testing.T) {
	for _, kind := range []string{"application/json", "text/event-stream", "text/plain"} {
		t.Run(kind, func(t *testing.T) {
			url := stand(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", kind)
				_, _ = io.WriteString(w, "data: 1\n")
				rc := http.NewResponseController(w)
				_ = rc.Flush()
				conn, _, err := rc.Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				_ = conn.Close()
			})
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
			if err != nil {
				t.Fatal(err)
			}
			response, err := http.DefaultClient.Do(request)
			if err == nil {
				_, err = io.ReadAll(response.Body)
				_ = response.Body.Close()
			}
			if err == nil {
				t.Error("truncated response looks complete")
			}
		})
	}
}

func TestNewErrors(t *testing.T) {
	for _, o := range []shim.Options{
		{Alias: "conf"},
		{Alias: "conf", Target: "/v1/mcp/demo/request"},
		{Alias: "conf", Target: "ftp://127.0.0.1/"},
		{Alias: "", Target: "http://127.0.0.1/"},
	} {
		if _, err := shim.New(o); err == nil {
			t.Errorf("New(%+v) = nil error", o)
		}
	}
}

func TestUnreachableGateway(t *testing.T) {
	url := stand(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_ = conn.Close()
		}
	})
	response := send(t, http.MethodPost, url, "{}")
	_ = response.Body.Close()
	if response.StatusCode != http.StatusBadGateway {
		t.Errorf("status %d, want 502", response.StatusCode)
	}
}

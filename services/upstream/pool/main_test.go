package pool_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/background/leaktest"
	"mcpgateway/services/egress"
	"mcpgateway/services/fault"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/pool"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// newPool returns a pool that is closed after the test. Its HTTP client behaves
// as the gateway's: no redirects, no compression.
func newPool(t testing.TB) *pool.Pool {
	t.Helper()
	clients := egress.NewClients(egress.NewGuard(egress.DefaultAllow(true)))
	p := pool.New(clients.MCP(), "1.2.3")
	t.Cleanup(func() {
		p.Close()
		clients.Close()
	})
	return p
}

// target returns a target for url; edits change it.
func target(url string, edits ...func(*upstream.Target)) *upstream.Target {
	t := &upstream.Target{ServerID: "srv", Alias: "jira", URL: url, Version: 1, Transport: models.TransportAuto, Timeout: 30 * time.Second}
	for _, edit := range edits {
		edit(t)
	}
	return t
}

func over(tr models.Transport) func(*upstream.Target) {
	return func(t *upstream.Target) { t.Transport = tr }
}

func within(d time.Duration) func(*upstream.Target) {
	return func(t *upstream.Target) { t.Timeout = d }
}

// testContext returns a context that ends with the test or after a minute.
func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func echo(text string) *upstream.Request {
	quoted, _ := json.Marshal(text)
	return &upstream.Request{Method: "tools/call", Params: []byte(`{"name":"echo","arguments":{"text":` + string(quoted) + `}}`)}
}

func echoed(text string) string {
	quoted, _ := json.Marshal(text)
	return `{"content":[{"type":"text","text":` + string(quoted) + `}]}`
}

// mustCall returns the response of a call that must succeed.
func mustCall(t testing.TB, p *pool.Pool, to *upstream.Target, r *upstream.Request) *upstream.Response {
	t.Helper()
	resp, err := p.Call(testContext(t), to, r)
	if err != nil {
		t.Fatalf("%s: %v", r.Method, err)
	}
	if resp.Error != nil {
		t.Fatalf("%s: error response %s", r.Method, resp.Error)
	}
	return resp
}

// textOf returns the first text block of a tool's result.
func textOf(t testing.TB, result []byte) string {
	t.Helper()
	var r struct {
		Content []struct{ Text string }
	}
	if err := json.Unmarshal(result, &r); err != nil || len(r.Content) == 0 {
		t.Fatalf("invalid tool result %s: %v", result, err)
	}
	return r.Content[0].Text
}

// wantFault checks the code of a fault, its text for administrators, and that
// the text for clients contains no host.
func wantFault(t testing.TB, err error, code fault.Code, text ...string) {
	t.Helper()
	var f *fault.Fault
	if !errors.As(err, &f) {
		t.Fatalf("got %v, want fault %s", err, code)
	}
	if f.Code != code {
		t.Fatalf("got %s (%v), want %s", f.Code, err, code)
	}
	for _, s := range text {
		if !strings.Contains(f.AdminMessage(), s) {
			t.Errorf("AdminMessage() = %q, want text %q", f.AdminMessage(), s)
		}
	}
	if strings.Contains(f.Message, "127.0.0.1") || strings.Contains(f.Message, ".example") {
		t.Errorf("message for clients contains a host: %s", f.Message)
	}
	if strings.Contains(err.Error(), "sesame") {
		t.Errorf("error contains a secret: %v", err)
	}
	if len(f.Message) > 500 || strings.ContainsFunc(f.Message, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		t.Errorf("message is too long or not printable: %q", f.Message)
	}
}

// rpc is a JSON-RPC message as hand-written upstreams receive it.
type rpc struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  json.RawMessage
}

// received decodes the message of a request.
func received(r *http.Request) rpc {
	var m rpc
	body, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(body, &m)
	return m
}

// handmade serves a hand-written upstream of one revision. It handles
// initialize or server/discover itself and passes other requests to respond. An
// older revision can have a result or error for server/discover.
func handmade(t testing.TB, revision string, respond func(w http.ResponseWriter, r *http.Request, m rpc), discovered ...string) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			respond(w, r, rpc{})
			return
		}
		m := received(r)
		switch {
		case m.Method == "server/discover" && revision >= "2026-07-28":
			writeJSON(w, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":{"resultType":"complete","supportedVersions":["`+revision+`"],"capabilities":{"tools":{}}}}`)
		case m.Method == "server/discover" && len(discovered) > 0:
			writeJSON(w, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,`+discovered[0]+`}`)
		case m.Method == "server/discover":
			w.WriteHeader(http.StatusBadRequest)
		case m.Method == "initialize":
			w.Header().Set("Mcp-Session-Id", "s1")
			writeJSON(w, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":{"protocolVersion":"`+revision+`","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}}`)
		case m.Method == "notifications/initialized":
			w.WriteHeader(http.StatusAccepted)
		default:
			respond(w, r, m)
		}
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

func writeJSON(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, body)
}

func writeEvents(w http.ResponseWriter, events string) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, events)
	w.(http.Flusher).Flush()
}

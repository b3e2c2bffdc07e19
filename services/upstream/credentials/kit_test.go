package credentials_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"mcpgateway/services/background/leaktest"
	"mcpgateway/services/egress"
	"mcpgateway/services/fault"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/pool"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// newPool returns a pool that is closed after the test.
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

// mustCall returns the response of a call that must succeed.
func mustCall(t testing.TB, p *pool.Pool, to *upstream.Target, r *upstream.Request) *upstream.Response {
	t.Helper()
	response, err := p.Call(testContext(t), to, r)
	if err != nil || response.Error != nil {
		t.Fatalf("%s: %s, %v", r.Method, response.Error, err)
	}
	return response
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

// wantFault checks the code of a fault and its text, and that it contains no
// secret.
func wantFault(t testing.TB, err error, code fault.Code, text ...string) {
	t.Helper()
	if !fault.Is(err, code) {
		t.Fatalf("got %v, want fault %s", err, code)
	}
	for _, s := range text {
		if !strings.Contains(fault.From(err).AdminMessage(), s) {
			t.Errorf("AdminMessage() = %q, want text %q", fault.From(err).AdminMessage(), s)
		}
	}
	if strings.Contains(err.Error(), "sesame") {
		t.Errorf("error contains a secret: %v", err)
	}
}

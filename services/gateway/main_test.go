package gateway_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"

	"mcpgateway/models"
	"mcpgateway/services/background/leaktest"
	"mcpgateway/services/fault"
	"mcpgateway/services/gateway"
	"mcpgateway/services/gateway/gatewaytest"
	"mcpgateway/services/secrets"
	"mcpgateway/services/upstream"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const (
	v2024, v2503, v2506, v2511 = "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"
	v2026                      = "2026-07-28"
)

// caller is a gateway.Caller that records the last request and returns the
// given response.
type caller struct {
	target   *upstream.Target
	request  *upstream.Request
	response *upstream.Response
	err      error
}

func (c *caller) Call(_ context.Context, target *upstream.Target, request *upstream.Request) (*upstream.Response, error) {
	c.target, c.request = target, request
	return c.response, c.err
}

func (c *caller) Hold(context.Context, *upstream.Target, upstream.Client) (release func()) {
	return func() {}
}

func keyRing(t *testing.T) *secrets.KeyRing {
	t.Helper()
	ring, err := secrets.ParseKeyRing("test:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

// calls is a call log in memory.
type calls struct {
	mu  sync.Mutex
	all []models.Call
}

func (c *calls) Record(call models.Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, call)
}

func newGateway(t *testing.T, c *caller) *gateway.Gateway {
	t.Helper()
	return gatewayWith(t, c, &calls{})
}

func gatewayWith(t *testing.T, c *caller, log *calls) *gateway.Gateway {
	t.Helper()
	return gateway.New(gateway.Options{Upstreams: c, Calls: log, Tokens: keyRing(t), Version: "test", Log: slog.New(slog.DiscardHandler)})
}

func client(version string) *gateway.Client { return &gateway.Client{Version: version} }

// handle sends a request to project p with the tool up__echo.
func handle(t *testing.T, c *caller, from *gateway.Client, method, params string) (string, error) {
	t.Helper()
	var raw []byte
	if params != "" {
		raw = []byte(params)
	}
	result, err := newGateway(t, c).Handle(t.Context(), gatewaytest.Build(gatewaytest.Source("echo")), from, method, raw, nil)
	return string(result), err
}

func wantFault(t *testing.T, err error, code fault.Code) fault.Fault {
	t.Helper()
	var f *fault.Fault
	if !errors.As(err, &f) || f.Code != code {
		t.Fatalf("got %v, want fault %s", err, code)
	}
	return *f
}

package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/gateway"
	"mcpgateway/services/secrets"
	"mcpgateway/services/toolset"
	"mcpgateway/services/upstream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	v2024, v2503, v2506, v2511 = "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"
	v2026                      = "2026-07-28"
)

// caller is the upstreams: it notes what was asked and answers as told.
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

func keyRing(t *testing.T) *secrets.KeyRing {
	t.Helper()
	ring, err := secrets.ParseKeyRing("test:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

// calls is the log of calls.
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

// source is project p with the healthy server up, which has the tools.
func source(tools ...string) toolset.Source {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	src := toolset.Source{
		Project:     models.Project{ID: "p", Slug: "p", ToolExposure: models.ExposeFull},
		Servers:     []models.Server{{ID: "u", Alias: "up", Enabled: true, DefinitionPolicy: models.PolicyFollow}},
		Inventories: map[string]*models.Inventory{"u": {ServerID: "u", SyncedAt: &at}},
		Tools:       map[string][]models.Tool{},
	}
	for _, definition := range tools {
		var named struct{ Name string }
		if json.Unmarshal([]byte(definition), &named) != nil {
			named.Name, definition = definition, fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, definition)
		}
		src.Tools["u"] = append(src.Tools["u"], models.Tool{ServerID: "u", Name: named.Name, Definition: definition})
	}
	return src
}

func build(src toolset.Source) *toolset.Snapshot {
	return toolset.Rebuild(nil, src, func(row models.Server) *upstream.Target { return &upstream.Target{ServerID: row.ID, Alias: row.Alias} })
}

// handle sends a request to project p with the tool up__echo.
func handle(t *testing.T, c *caller, from *gateway.Client, method, params string) (string, error) {
	t.Helper()
	var raw []byte
	if params != "" {
		raw = []byte(params)
	}
	result, err := newGateway(t, c).Handle(t.Context(), build(source("echo")), from, method, raw, nil)
	return string(result), err
}

func wantFault(t *testing.T, err error, code fault.Code) fault.Fault {
	t.Helper()
	var f *fault.Fault
	if !errors.As(err, &f) || f.Code != code {
		t.Fatalf("got %v, want the fault %s", err, code)
	}
	return *f
}

package gateway_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/services/gateway"
	"mcpgateway/services/gateway/gatewaytest"
	"mcpgateway/services/toolset"
	"mcpgateway/services/upstream"
)

// waiting implements gateway.PendingAuth: reasons by server id.
type waiting map[string]string

func (w waiting) Pending(_ context.Context, server *models.Server, _ string) upstream.Pending {
	if w[server.ID] == "" {
		return upstream.Pending{}
	}
	return upstream.Pending{Code: upstream.WarningNeedsConnection, Reason: w[server.ID]}
}

// down implements gateway.Outages: reasons by server id.
type down map[string]string

func (d down) Outage(serverID string) string { return d[serverID] }

// TestListCoverage lists the tools of projects with a synced server, a server
// whose sync failed, and one that was never synced.
func TestListCoverage(t *testing.T) {
	whole := gatewaytest.Source("a")
	src := gatewaytest.Source("a")
	src.Servers = append(src.Servers, models.Server{ID: "new", ProjectID: "p", Alias: "new", Enabled: true}, models.Server{ID: "off", ProjectID: "p", Alias: "off"})
	failed := gatewaytest.Source("a")
	failed.Servers = append(failed.Servers, models.Server{ID: "new", ProjectID: "p", Alias: "new", Enabled: true})
	failed.Inventories["new"] = &models.Inventory{ServerID: "new", ErrorCode: "UPSTREAM_UNAVAILABLE", ErrorMessage: "connection refused"}
	synced := src.Servers[0]
	const unread = `"unavailable":[{"server":"new","reason":"never synced"}]`
	for name, c := range map[string]struct {
		of    toolset.Source
		waits waiting
		down  down
		want  string // of _meta["gateway/coverage"]; empty for none
	}{
		"healthy":  {whole, nil, nil, ""},
		"disabled": {whole, waiting{"off": "why"}, down{"off": "why"}, ""},
		"unsynced": {src, nil, nil, `{"kind":"partial",` + unread + `}`},
		"failed":   {failed, nil, down{"new": "it is gone"}, `{"kind":"partial","unavailable":[{"server":"new","reason":"never synced: connection refused"}]}`},
		"pending":  {failed, waiting{"new": "connect it"}, nil, `{"kind":"partial","unavailable":[{"server":"new","reason":"never synced: connect it"}]}`},
		"synced, pending": {whole, waiting{synced.ID: "connect it"}, down{synced.ID: "it is gone"}, `{"kind":"complete","warnings":[{"code":"SERVER_NEEDS_CONNECTION","message":"Calls to server ` +
			synced.Alias + ` may fail: connect it"}]}`},
		"outage": {src, nil, down{synced.ID: "it is gone"}, `{"kind":"partial",` + unread + `,"warnings":[{"code":"SERVER_UNAVAILABLE","message":"Calls to server ` +
			synced.Alias + ` currently fail: it is gone"}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			g := gateway.New(gateway.Options{Upstreams: &caller{}, Calls: &calls{}, Waiting: c.waits, Outages: c.down, Tokens: keyRing(t), Version: "test", Log: slog.New(slog.DiscardHandler)})
			project := gatewaytest.Build(c.of)
			for _, version := range []string{v2503, v2026} {
				raw, err := g.Handle(t.Context(), project, client(version), "tools/list", []byte(`{}`), nil)
				if err != nil {
					t.Fatal(err)
				}
				var result struct {
					Tools []json.RawMessage          `json:"tools"`
					Meta  map[string]json.RawMessage `json:"_meta"`
				}
				if err := json.Unmarshal(raw, &result); err != nil {
					t.Fatalf("%s: %v", raw, err)
				}
				if len(result.Tools) != 3 {
					t.Errorf("%s: got %d tools, want 3", version, len(result.Tools))
				}
				if _, named := result.Meta["io.modelcontextprotocol/serverInfo"]; named != (version == v2026) {
					t.Errorf("%s: _meta is %s", version, raw)
				}
				if diff := cmp.Diff(c.want, string(result.Meta["gateway/coverage"])); diff != "" {
					t.Errorf("%s (-want +got):\n%s", version, diff)
				}
			}
		})
	}
}

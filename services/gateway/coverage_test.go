package gateway_test

import (
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/services/gateway"
)

// waiting are the servers that wait, by id.
type waiting map[string]string

func (w waiting) Why(serverID string) string { return w[serverID] }

// TestAListTellsOfServersThatNeedAPerson asks for the tools of a project with a
// server that was synced and one that never was.
func TestAListTellsOfServersThatNeedAPerson(t *testing.T) {
	src := source("a")
	src.Servers = append(src.Servers,
		models.Server{ID: "new", ProjectID: "p", Alias: "new", Enabled: true}, models.Server{ID: "off", ProjectID: "p", Alias: "off"})
	synced := src.Servers[0]
	for name, c := range map[string]struct {
		waits waiting
		want  string // of _meta["gateway/coverage"]; empty for none
	}{
		"nobody":     {waiting{}, ""},
		"only off":   {waiting{"off": "why"}, ""},
		"never read": {waiting{"new": "connect it"}, `{"kind":"partial","unavailable":[{"server":"new","reason":"never synced: connect it"}]}`},
		"read": {waiting{synced.ID: "connect it"}, `{"kind":"complete","warnings":[{"code":"SERVER_NEEDS_CONNECTION","message":"calling the tools of server ` +
			synced.Alias + ` may fail: connect it"}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			g := gateway.New(gateway.Options{Upstreams: &caller{}, Calls: &calls{}, Waiting: c.waits, Tokens: keyRing(t), Version: "test", Log: slog.New(slog.DiscardHandler)})
			project := build(src)
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
					t.Errorf("%s: %d tools", version, len(result.Tools))
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

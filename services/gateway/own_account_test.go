package gateway_test

import (
	"context"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/access"
	"mcpgateway/services/fault"
	"mcpgateway/services/gateway"
	"mcpgateway/services/gateway/connecting"
	"mcpgateway/services/gateway/gatewaytest"
	"mcpgateway/services/toolset"
	"mcpgateway/services/upstream"
)

// account is a user's account at the server up, and what the user sees.
type account struct {
	connected bool
	view      *toolset.Snapshot
}

func (a *account) Current(access.Principal) (*toolset.Snapshot, error) { return a.view, nil }

func (a *account) Pending(context.Context, *models.Server, string) upstream.Pending {
	if a.connected {
		return upstream.Pending{}
	}
	return upstream.Pending{Code: string(fault.CodeConnectionRequired)}
}

func (*account) Link(string, string, string) string { return "https://gateway.example/connect" }

// personal returns project p, whose server up has an account of each user.
func personal(tools ...string) *toolset.Snapshot {
	src := gatewaytest.Source(tools...)
	src.Servers[0].Connection = models.ConnectionPersonal
	return toolset.Rebuild(nil, src, func(row models.Server) *upstream.Target {
		return &upstream.Target{ServerID: row.ID, Alias: row.Alias, Own: func(userID string) *upstream.Target {
			return &upstream.Target{ServerID: row.ID, Alias: row.Alias, Person: userID}
		}}
	})
}

// TestConnectedAfterLoss takes a tool from a user before the call continues that
// waited for the user's account. The call isn't sent.
func TestConnectedAfterLoss(t *testing.T) {
	for _, lost := range []bool{false, true} {
		before := personal("echo", "other")
		a := &account{view: before}
		c := &caller{err: upstream.ConnectionRequired("up", upstream.ReasonNotConnected)}
		ring := keyRing(t)
		g := gateway.New(gateway.Options{
			Upstreams: c, Views: a, Calls: &calls{}, Tokens: ring, Version: "test", Log: slog.New(slog.DiscardHandler), Connecting: connecting.New(a, a, ring, time.Now),
		})
		from := &gateway.Client{Version: v2026, Principal: access.Administrator("ann", "p"), Capabilities: []byte(`{"elicitation":{"url":{}}}`)}
		first, err := g.Handle(t.Context(), before, from, "tools/call", []byte(`{"name":"up__echo"}`), nil)
		state := regexp.MustCompile(`"requestState":"[^"]+"`).FindString(string(first))
		if err != nil || state == "" {
			t.Fatalf("%v: %s", err, first)
		}
		a.connected = true
		if lost {
			a.view = personal("other")
		}
		c.request, c.err, c.response = nil, nil, &upstream.Response{Result: []byte(`{"content":[]}`), Version: v2511}
		retry := `{"name":"up__echo",` + state + `,"inputResponses":{"connect":{"action":"accept"}}}`
		got, err := g.Handle(t.Context(), before, from, "tools/call", []byte(retry), nil)
		switch {
		case !lost && (err != nil || !strings.Contains(string(got), `"content"`)):
			t.Errorf("connected: %v: %s", err, got)
		case lost:
			wantFault(t, err, fault.CodeToolNotFound)
			if c.request != nil {
				t.Error("the call was sent after the loss")
			}
		}
	}
}

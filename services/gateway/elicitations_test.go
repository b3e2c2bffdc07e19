package gateway_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"mcpgateway/services/gateway"
	"mcpgateway/services/gateway/gatewaytest"
	"mcpgateway/services/upstream"
)

// elicitingCaller fails every call with a -32042 error for the elicitation with
// the id. If sends is set, it sends the elicitation during the call instead.
type elicitingCaller struct {
	id     string
	sends  bool
	during func(*upstream.Request) // called during the call
}

func (c *elicitingCaller) Call(ctx context.Context, _ *upstream.Target, request *upstream.Request) (*upstream.Response, error) {
	given := fmt.Sprintf(`{"mode":"url","elicitationId":%q,"url":"https://example.com","message":"m"}`, c.id)
	if c.sends {
		request.Serve(ctx, "elicitation/create", []byte(given))
	}
	if c.during != nil {
		c.during(request)
	}
	if c.sends {
		return &upstream.Response{Result: []byte(`{"content":[]}`)}, nil
	}
	return &upstream.Response{Error: []byte(`{"code":-32042,"message":"m","data":{"elicitations":[` + given + `]}}`)}, nil
}

func (c *elicitingCaller) Hold(context.Context, *upstream.Target, upstream.Client) (release func()) {
	return func() {}
}

// receiver is a client of 2025-11-25 with an open stream of its session.
func receiver(name string, got *[]string) *gateway.Client {
	return &gateway.Client{
		Version: v2511, SessionID: name, Capabilities: []byte(`{"elicitation":{"url":{}}}`),
		Notify: func(method string, params []byte) { *got = append(*got, name+" call "+method) },
		Push: func(method string, params []byte) bool {
			*got = append(*got, name+" "+method+string(params))
			return true
		},
		Ask: func(context.Context, string, []byte) (result, rpcError []byte, err error) {
			return []byte(`{"action":"accept"}`), nil, nil
		},
	}
}

func TestElicitationCompleteReachesOwner(t *testing.T) {
	for _, sends := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var got []string
			c := &elicitingCaller{id: "e1", sends: sends}
			g := gateway.New(gateway.Options{Upstreams: c, Calls: &calls{}, Tokens: keyRing(t)})
			call := func(name string) {
				_, _ = g.Handle(t.Context(), gatewaytest.Build(gatewaytest.Source("echo")), receiver(name, &got), "tools/call", []byte(`{"name":"up__echo"}`), nil)
			}
			call("ann")
			complete := func(server, id string, found bool) {
				t.Helper()
				if g.ElicitationCompleted(server, "", []byte(`{"elicitationId":"`+id+`"}`)) != found {
					t.Errorf("ElicitationCompleted(%s, %s), want %v", server, id, found)
				}
			}
			complete("u", "unknown", false)
			complete("other", "e1", false)
			complete("u", "e1", true)
			const want = `ann notifications/elicitation/complete{"elicitationId":"e1"}`
			if len(got) != 1 || got[0] != want {
				t.Errorf("got %q, want %q", got, want)
			}
			// The completion may arrive on the stream of another client's call.
			got = nil
			c.id = "e2"
			c.during = func(r *upstream.Request) {
				r.Notify(upstream.ElicitationComplete, []byte(`{"elicitationId":"e1"}`))
			}
			call("bob")
			if len(got) != 1 || got[0] != want {
				t.Errorf("on a call of bob: got %q, want %q", got, want)
			}
			time.Sleep(time.Hour)
			complete("u", "e1", true)
			time.Sleep(time.Nanosecond)
			complete("u", "e1", false)
			// At most 10,000 are stored.
			c.during = nil
			for i := range 10_000 {
				c.id = fmt.Sprint("n", i)
				call("ann")
			}
			complete("u", "n0", true)
			c.id = "last"
			call("ann")
			complete("u", "n0", false)
			complete("u", "n1", true)
		})
	}
}

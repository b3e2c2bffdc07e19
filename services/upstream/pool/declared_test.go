package pool_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/upstreamtest"
)

func declaring(raw string) *upstream.Request {
	r := echo("x")
	r.Client.Capabilities = []byte(raw)
	return r
}

// TestEqualCapabilitiesShareSession calls a server with objects whose members
// have another order. The session declares the bytes of the first one.
func TestEqualCapabilitiesShareSession(t *testing.T) {
	s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{upstreamtest.Era20251125}, Tools: upstreamtest.Standard(1)})
	p, to := newPool(t), target(s.Start(t))
	const first = `{ "x":1,"extensions":{"b":{},"a":{"y":1,"x":2}} }`
	for _, raw := range []string{first, `{"extensions":{"a":{"x":2,"y":1},"b":{}},"x":1}`} {
		mustCall(t, p, to, declaring(raw))
	}
	if all := s.Requests("initialize"); len(all) != 1 || declaredIn(t, all[0]) != first {
		t.Errorf("%d handshakes", len(all))
	}
	for n, raw := range []string{`{"extensions":{"a":{"x":2,"y":2},"b":{}},"x":1}`, `{}`, ``} {
		mustCall(t, p, to, declaring(raw))
		if got, want := len(s.Requests("initialize")), min(n+2, 3); got != want {
			t.Errorf("%d handshakes after %s, want %d", got, raw, want)
		}
	}
}

// TestStatelessCallsDeclareOwnBytes: without sessions every call has the bytes of
// its client.
func TestStatelessCallsDeclareOwnBytes(t *testing.T) {
	s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{upstreamtest.Era20260728}, Tools: upstreamtest.Standard(1)})
	p, to := newPool(t), target(s.Start(t))
	for i, raw := range []string{`{ "x":1,"a":{} }`, `{"a":{},"x":1}`} {
		mustCall(t, p, to, declaring(raw))
		if got := declaredIn(t, s.Requests("tools/call")[i]); got != raw {
			t.Errorf("declared %s, want %s", got, raw)
		}
	}
}

// TestManyCapabilitiesAreBounded declares one more object than shared sessions are
// kept. The session of another client, which is idle for longer, stays.
func TestManyCapabilitiesAreBounded(t *testing.T) {
	const limit = 64
	s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{upstreamtest.Era20251125}, Tools: upstreamtest.Standard(1)})
	p, to := newPool(t), target(s.Start(t))
	own := target(to.URL, func(t *upstream.Target) { t.SessionMode = models.SessionPerClient })
	perClient := echo("x")
	perClient.Client.SessionID = "one"
	mustCall(t, p, own, perClient)
	for i := range limit {
		mustCall(t, p, to, declaring(fmt.Sprintf(`{"n":%d}`, i)))
	}
	if n := s.Stats().Sessions; n != limit+1 {
		t.Fatalf("%d sessions, want %d", n, limit+1)
	}
	mustCall(t, p, to, declaring(fmt.Sprintf(`{"n":%d}`, limit)))
	if err := s.Wait(testContext(t), func() bool { return s.Stats().Sessions == limit+1 }); err != nil {
		t.Errorf("%d sessions, want %d", s.Stats().Sessions, limit+1)
	}
	before := len(s.Requests("initialize"))
	mustCall(t, p, own, perClient)
	mustCall(t, p, to, declaring(`{"n":1}`))
	if got := len(s.Requests("initialize")); got != before {
		t.Error("a session other than the idlest shared one was closed")
	}
	mustCall(t, p, to, declaring(`{"n":0}`))
	if got := len(s.Requests("initialize")); got != before+1 {
		t.Error("the idlest session was not closed")
	}
}

// TestExtensionsAllowNoRequests: a server can't send requests to a client whose
// capabilities have only extensions, on either stream.
func TestExtensionsAllowNoRequests(t *testing.T) {
	for _, onStream := range []bool{false, true} {
		s := upstreamtest.New(upstreamtest.Options{
			Eras: []upstreamtest.Era{upstreamtest.Era20251125}, AskOnStream: onStream,
			Tools: []upstreamtest.Tool{{Definition: `{"name":"ask"}`, Call: func(ctx context.Context, c *upstreamtest.Call) upstreamtest.Result {
				return upstreamtest.Text(put(ctx, c, "elicitation/create"))
			}}},
		})
		p, to := newPool(t), target(s.Start(t))
		r := &upstream.Request{Method: "tools/call", Params: []byte(`{"name":"ask"}`), Client: upstream.Client{Capabilities: []byte(`{"extensions":{"a":{}}}`)}}
		if got := textOf(t, mustCall(t, p, to, r).Result); !strings.Contains(got, "-32601") && !strings.Contains(got, "no open stream") {
			t.Errorf("on the GET stream %v: %s", onStream, got)
		}
	}
}

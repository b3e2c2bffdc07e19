package mcp_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"mcpgateway/routes/routestest"
	"mcpgateway/services/upstream/upstreamtest"
)

// observed starts a server with the resource test://a, for
// clients with separate upstream sessions.
func observed(t *testing.T, era upstreamtest.Era) (*upstreamtest.Server, *server) {
	t.Helper()
	answer := func(raw string) upstreamtest.Handler {
		return func(context.Context, *upstreamtest.Call) upstreamtest.Result { return upstreamtest.JSON(raw) }
	}
	up := upstreamtest.New(upstreamtest.Options{
		Eras: []upstreamtest.Era{era}, Capabilities: `{"tools":{},"resources":{"subscribe":true}}`,
		Methods: map[string]upstreamtest.Handler{
			"resources/list": answer(`{"resources":[{"uri":"test://a","name":"a"}]}`), "resources/templates/list": answer(`{"resourceTemplates":[]}`),
			"resources/subscribe": answer(`{}`), "resources/unsubscribe": answer(`{}`),
		},
		Tools: []upstreamtest.Tool{{Definition: `{"name":"work","inputSchema":{"type":"object"}}`}},
	})
	declaration := fmt.Sprintf(`{"projects":{"p":{"authMode":"none","mcpServers":{"up":{"url":%q,"sessionMode":"per-client"}}}}}`, up.Start(t))
	s := serve(t, declaration, nil)
	s.Sync(t, "p", "up")
	return up, s
}

const (
	updateOfA  = `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"test://a"}}`
	listenForA = `{"jsonrpc":"2.0","id":"sub-1","method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["test://a"]},` + listenMeta + `}}`
)

// resourceRequest sends resources/subscribe or resources/unsubscribe.
func (s *server) resourceRequest(t *testing.T, session, method string) {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"resources/` + method + `","params":{"uri":"test://a"}}`
	if _, _, answer := s.get(t, request{body: body, header: legacyHeader("Mcp-Session-Id", session)}); !strings.Contains(answer, `"result":{}`) {
		t.Fatalf("%s: %s", method, answer)
	}
}

// TestUpdatesPerClient subscribes three clients with separate upstream
// sessions to the same resource: two with sessions and one with a stream.
func TestUpdatesPerClient(t *testing.T) {
	for _, era := range []upstreamtest.Era{upstreamtest.Era20250326, upstreamtest.Era20251125} {
		t.Run(string(era), func(t *testing.T) {
			up, s := observed(t, era)
			update := func(session string) {
				t.Helper()
				routestest.Eventually(t, "the stream of the upstream session", func() bool {
					return up.NotifySession(session, "notifications/resources/updated", []byte(`{"uri":"test://a"}`)) > 0
				})
			}
			// The session of the latest subscription.
			upstreamSession := func(n int) string {
				t.Helper()
				all := up.Requests("resources/subscribe")
				if len(all) != n {
					t.Fatalf("%d subscriptions at the upstream, want %d", len(all), n)
				}
				return all[n-1].Header.Get("Mcp-Session-Id")
			}
			ann, bob := s.session(t), s.session(t)
			streams := []*events{s.stream(t, request{header: streamHeader(ann)}), s.stream(t, request{header: streamHeader(bob)})}
			s.resourceRequest(t, ann, "subscribe")
			annAt := upstreamSession(1)
			s.resourceRequest(t, bob, "subscribe")
			bobAt := upstreamSession(2)
			listening := s.stream(t, request{body: listenForA, header: modernHeader("subscriptions/listen")})
			listening.next()
			listenAt := upstreamSession(3)
			if annAt == bobAt || bobAt == listenAt || annAt == listenAt {
				t.Fatalf("upstream sessions %q, %q and %q", annAt, bobAt, listenAt)
			}
			s.get(t, request{body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"up__work"}}`, header: legacyHeader("Mcp-Session-Id", ann)})
			calls := up.Requests("tools/call")
			if got := calls[len(calls)-1].Header.Get("Mcp-Session-Id"); got != annAt {
				t.Errorf("the call used session %q and the subscription %q", got, annAt)
			}
			update(annAt)
			streams[0].want(updateOfA)
			update(listenAt)
			if got := listening.next(); !strings.Contains(got, `"uri":"test://a"`) || !strings.Contains(got, `"sub-1"`) {
				t.Errorf("listen: %s", got)
			}
			update(bobAt)
			streams[1].want(updateOfA)

			// A lost session is replaced, and what may have been missed is reported.
			up.DropSessions()
			for _, stream := range streams {
				stream.want(updateOfA)
			}
			routestest.Eventually(t, "three new subscriptions", func() bool { return len(up.Requests("resources/subscribe")) == 6 })

			s.resourceRequest(t, ann, "unsubscribe")
			routestest.Eventually(t, "the upstream is told", func() bool { return len(up.Requests("resources/unsubscribe")) == 1 })
			listening.close()
			s.get(t, request{method: "DELETE", header: legacyHeader("Mcp-Session-Id", ann)})
			s.get(t, request{method: "DELETE", header: legacyHeader("Mcp-Session-Id", bob)})
			routestest.Eventually(t, "only the gateway's own upstream session is left", func() bool { return up.Stats().Sessions == 1 })
		})
	}
}

// TestUpdatesReachOnlyTheirClient counts the updates of two subscribers after
// one was sent to either.
func TestUpdatesReachOnlyTheirClient(t *testing.T) {
	for _, era := range []upstreamtest.Era{upstreamtest.Era20241105, upstreamtest.Era20250618} {
		t.Run(string(era), func(t *testing.T) { updatesReachOnlyTheirClient(t, era) })
	}
}

func updatesReachOnlyTheirClient(t *testing.T, era upstreamtest.Era) {
	up, s := observed(t, era)
	ann, bob := s.session(t), s.session(t)
	streams := map[string]*events{ann: s.stream(t, request{header: streamHeader(ann)}), bob: s.stream(t, request{header: streamHeader(bob)})}
	at := map[string]string{}
	for _, session := range []string{ann, bob} {
		s.resourceRequest(t, session, "subscribe")
		all := up.Requests("resources/subscribe")
		last := all[len(all)-1]
		at[session] = last.Header.Get("Mcp-Session-Id") + last.Query.Get("sessionId")
	}
	for i, session := range []string{ann, bob, bob, ann} {
		uri := fmt.Sprintf("test://a/%d", i) // a part of the resource
		routestest.Eventually(t, "the stream of the upstream session", func() bool {
			return up.NotifySession(at[session], "notifications/resources/updated", []byte(`{"uri":"`+uri+`"}`)) > 0
		})
		streams[session].want(strings.Replace(updateOfA, "test://a", uri, 1)) // the next one, so there was no other
	}
}

// TestUpdatesOfStatelessServer checks that clients with separate upstream sessions
// receive the updates of a server without sessions.
func TestUpdatesOfStatelessServer(t *testing.T) {
	up, s := observed(t, upstreamtest.Era20260728)
	ann := s.session(t)
	stream := s.stream(t, request{header: streamHeader(ann)})
	s.resourceRequest(t, ann, "subscribe")
	deadline := time.Now().Add(30 * time.Second)
	for up.Notify("notifications/resources/updated", []byte(`{"uri":"test://a"}`)) == 0 {
		if time.Now().After(deadline) {
			t.Fatal("the upstream has no stream for the resource")
		}
	}
	stream.want(updateOfA)
}

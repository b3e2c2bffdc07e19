package mcp_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"mcpgateway/routes/mcp"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/access"
	"mcpgateway/services/gateway"
	"mcpgateway/services/gateway/subscriptions"
	"mcpgateway/services/toolset"
)

// watched replaces the resource subscriptions by recorded ones.
type watched struct {
	*subscriptions.Subscriptions
	mu       sync.Mutex
	deliver  map[string]func(subscriptions.Notification) // by session; "" for a stream
	handled  []string
	ended    []string
	released int
}

func (w *watched) keep(session string, deliver func(subscriptions.Notification)) func() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deliver[session] = deliver
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.released++
	}
}

func (w *watched) SubscribeResources(_ context.Context, _ *toolset.Snapshot, _ access.Principal, uris []string, deliver func(subscriptions.Notification)) ([]string, func()) {
	deliver(updated("too early"))
	return uris[:1], w.keep("", deliver)
}

func (w *watched) Attach(client *gateway.Client, deliver func(subscriptions.Notification)) func() {
	return w.keep(client.SessionID, deliver)
}

func (w *watched) Handle(_ context.Context, _ *toolset.Snapshot, client *gateway.Client, method string, params []byte, _ *gateway.RequestInfo) ([]byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.handled = append(w.handled, client.SessionID+" "+method+" "+string(params))
	return []byte("{}"), nil
}

func (w *watched) End(session string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = append(w.ended, session)
}

// change delivers an update of a resource to all streams.
func (w *watched) change() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, deliver := range w.deliver {
		deliver(updated("file:///a"))
	}
}

func (w *watched) gone() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.released == len(w.deliver)
}

func updated(uri string) subscriptions.Notification {
	return subscriptions.Notification{Method: subscriptions.NotifyResourceUpdated, Params: []byte(`{"uri":"` + uri + `"}`)}
}

// watch starts a server whose resources can be watched.
func watch(t *testing.T) (*server, *watched) {
	w := &watched{deliver: map[string]func(subscriptions.Notification){}}
	s := serve(t, openProject, nil, func(o *mcp.Options) {
		real, ok := o.Subscriptions.(*subscriptions.Subscriptions)
		if !ok {
			t.Fatalf("Subscriptions is a %T", o.Subscriptions)
		}
		w.Subscriptions, o.Subscriptions = real, w
	})
	return s, w
}

func TestListenAgreedResources(t *testing.T) {
	s, w := watch(t)
	body := strings.Replace(listenRequest, `{"toolsListChanged":true}`, `{"resourceSubscriptions":["file:///a","file:///b"]}`, 1)
	stream := s.stream(t, request{body: body, header: modernHeader("subscriptions/listen")})
	stream.want(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"resourceSubscriptions":["file:///a"]},"_meta":{"io.modelcontextprotocol/subscriptionId":"sub-1"}}}`)
	w.change()
	stream.want(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///a","_meta":{"io.modelcontextprotocol/subscriptionId":"sub-1"}}}`)
	stream.close()
	routestest.Eventually(t, "the resources are released", w.gone)
}

func TestSessionSubscribesToResources(t *testing.T) {
	s, w := watch(t)
	session := s.session(t)
	h := legacyHeader("Mcp-Session-Id", session)
	stream := s.stream(t, request{header: streamHeader(session)})
	for _, method := range []string{"resources/subscribe", "resources/unsubscribe"} {
		body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{"uri":"file:///a"}}`
		if _, _, answer := s.get(t, request{body: body, header: h}); answer != `{"jsonrpc":"2.0","id":1,"result":{}}` {
			t.Errorf("%s: got %s", method, answer)
		}
		if status, _, answer := s.get(t, request{body: strings.Replace(modernCall, "tools/call", method, 1), header: modernHeader(method)}); status != 404 || !strings.Contains(answer, "-32601") {
			t.Errorf("stateless %s: got %d: %s", method, status, answer)
		}
	}
	w.change()
	stream.want(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///a"}}`)
	if status, _, body := s.get(t, request{method: "DELETE", header: h}); status != 204 {
		t.Fatalf("DELETE: got %d: %s", status, body)
	}
	routestest.Eventually(t, "the stream is detached", w.gone)
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.handled) != 2 || len(w.ended) != 1 || w.deliver[w.ended[0]] == nil || w.handled[0] != w.ended[0]+` resources/subscribe {"uri":"file:///a"}` {
		t.Errorf("handled %q, ended %q", w.handled, w.ended)
	}
	if strings.Contains(strings.Join(w.handled, ""), session) {
		t.Error("the session id was passed to the services")
	}
}

func TestHTTPSSESubscribesToResources(t *testing.T) {
	s, w := watch(t)
	stream, path := s.openPosted(t)
	s.post(t, path, `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"file:///a"}}`, 202)
	stream.want(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	w.change()
	stream.want(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///a"}}`)
	stream.close()
	routestest.Eventually(t, "the session has ended", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.ended) == 1 && w.released == 1
	})
}

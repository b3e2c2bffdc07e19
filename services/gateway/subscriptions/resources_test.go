package subscriptions_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/access"
	"mcpgateway/services/background"
	"mcpgateway/services/fault"
	"mcpgateway/services/gateway"
	"mcpgateway/services/gateway/gatewaytest"
	"mcpgateway/services/gateway/subscriptions"
	"mcpgateway/services/notify"
	"mcpgateway/services/toolset"
	"mcpgateway/services/upstream"
)

// subscriber is a ResourceSubscriber that counts subscriptions by resource.
type subscriber struct {
	mu    sync.Mutex
	held  map[string]int
	calls int // of Subscribe
	err   error
	wait  chan struct{} // if not nil, Subscribe waits for it
}

func (s *subscriber) HoldStreams(string) (release func()) { return func() {} }

func (s *subscriber) SubscribeOwn(context.Context, *upstream.Target, upstream.Client, string, func(string)) (func(), bool, error) {
	return nil, false, nil
}

func (s *subscriber) DropClient(string) {}

func (s *subscriber) Watch(ctx context.Context, _ *upstream.Target, _ func(upstream.Event)) {
	<-ctx.Done()
}

func (s *subscriber) Subscribe(ctx context.Context, target *upstream.Target, uri string) (func(), error) {
	s.mu.Lock()
	s.calls++
	err, wait := s.err, s.wait
	s.mu.Unlock()
	if wait != nil {
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if err != nil {
		return nil, err
	}
	key := target.ServerID + " " + uri
	s.count(key, 1)
	return sync.OnceFunc(func() { s.count(key, -1) }), nil
}

func (s *subscriber) count(key string, by int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[key] += by; s.held[key] == 0 {
		delete(s.held, key)
	}
}

func (s *subscriber) holds(want ...string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	got := []string{}
	for key, n := range s.held {
		got = append(got, fmt.Sprintf("%s ×%d", key, n))
	}
	slices.Sort(got)
	return slices.Equal(got, want)
}

// deliveries records the notifications of a stream.
type deliveries struct {
	mu  sync.Mutex
	all []string
}

func (d *deliveries) deliver(n subscriptions.Notification) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all = append(d.all, n.Method+string(n.Params))
}

func (d *deliveries) take() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := strings.ReplaceAll(strings.Join(d.all, " "), subscriptions.NotifyResourceUpdated, "updated")
	d.all = nil
	return all
}

// watchable returns project p, whose server u has resources. Another server with
// resources was removed.
func watchable() *toolset.Snapshot {
	src := gatewaytest.Source("tool")
	src.Inventories["u"].Capabilities = `{"resources":{"subscribe":true}}`
	src.Listings = map[string][]models.Listing{"u": {
		{ServerID: "u", Kind: models.ListingResource, Ident: "test://a", Definition: `{"uri":"test://a"}`},
		{ServerID: "u", Kind: models.ListingTemplate, Ident: "file:///{+path}", Definition: `{"uriTemplate":"file:///{+path}"}`},
	}}
	src.Claims = append(gatewaytest.Claims(src), models.AddressClaim{Alias: "old", Kind: models.ClaimURI, Text: "test://gone", Position: 2})
	return gatewaytest.Build(src)
}

// someone is a caller of the project.
var someone = access.Administrator("u", "p")

// onlyProject returns the watchable project for every caller.
type onlyProject struct{}

func (onlyProject) Current(access.Principal) (*toolset.Snapshot, error) { return watchable(), nil }

// memory is a SubscriptionStore shared by processes.
type memory struct {
	mu      sync.Mutex
	uris    map[string][]string // by session
	err     error
	changed func(topic notify.Topic)
}

func (m *memory) change(session string, change func(uris []string) []string) error {
	m.mu.Lock()
	if m.err != nil {
		defer m.mu.Unlock()
		return m.err
	}
	if m.uris == nil {
		m.uris = map[string][]string{}
	}
	if m.uris[session] = change(m.uris[session]); len(m.uris[session]) == 0 {
		delete(m.uris, session)
	}
	changed := m.changed
	m.mu.Unlock()
	if changed != nil {
		changed(notify.SessionResources(session))
	}
	return nil
}

func (m *memory) Add(_ context.Context, session, _, uri string) error {
	return m.change(session, func(uris []string) []string {
		if slices.Contains(uris, uri) {
			return uris
		}
		return append(uris, uri)
	})
}

func (m *memory) Remove(_ context.Context, session, uri string) error {
	return m.change(session, func(uris []string) []string {
		return slices.DeleteFunc(uris, func(u string) bool { return u == uri })
	})
}

func (m *memory) End(_ context.Context, session string) error {
	return m.change(session, func([]string) []string { return nil })
}

func (m *memory) Of(_ context.Context, session string) (string, []string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return "p", slices.Clone(m.uris[session]), m.err
}

func newSubscriptions(t *testing.T) (*subscriptions.Subscriptions, *subscriber) {
	t.Helper()
	up := &subscriber{held: map[string]int{}}
	s := subscriptions.New(onlyProject{}, up, &memory{}, nil)
	t.Cleanup(func() {
		s.Close()
		if !up.holds() {
			t.Errorf("subscriptions after Close: %v", up.held)
		}
	})
	return s, up
}

func session(id string) *gateway.Client { return &gateway.Client{Version: "2025-11-25", SessionID: id} }

func subscribe(s *subscriptions.Subscriptions, session *gateway.Client, uri string) error {
	_, err := s.Handle(context.Background(), watchable(), session, "resources/subscribe", fmt.Appendf(nil, `{"uri":%q}`, uri), nil)
	return err
}

func unsubscribe(t *testing.T, s *subscriptions.Subscriptions, session *gateway.Client, uri string) {
	t.Helper()
	got, err := s.Handle(t.Context(), watchable(), session, "resources/unsubscribe", fmt.Appendf(nil, `{"uri":%q}`, uri), nil)
	if err != nil || string(got) != "{}" {
		t.Errorf("unsubscribe: %s, %v", got, err)
	}
}

func TestSessionReceivesResourceUpdates(t *testing.T) {
	s, up := newSubscriptions(t)
	var ann, bob, spare deliveries
	detach := s.Attach(&gateway.Client{Principal: someone, SessionID: "ann", Version: "2025-11-25"}, ann.deliver)
	defer s.Attach(&gateway.Client{Principal: someone, SessionID: "bob", Version: "2025-11-25"}, bob.deliver)()
	for range 2 { // duplicates count once
		if err := subscribe(s, session("ann"), "test://a"); err != nil {
			t.Fatal(err)
		}
	}
	if err := subscribe(s, session("bob"), "test://a"); err != nil {
		t.Fatal(err)
	}
	if err := subscribe(s, session("bob"), "file:///x/y"); err != nil {
		t.Fatal(err)
	}
	if !up.holds("u file:///x/y ×1", "u test://a ×2") {
		t.Errorf("held %v", up.held)
	}
	s.ResourceUpdated("u", "test://a")
	s.ResourceUpdated("u", "test://b")
	s.ResourceUpdated("other", "test://a")
	if a, b := ann.take(), bob.take(); a != `updated{"uri":"test://a"}` || b != a {
		t.Errorf("got %q and %q", a, b)
	}
	s.ResourceUpdated("u", "file:///x/y/z") // a sub-resource of the subscribed one
	s.ResourceUpdated("u", "file:///x/y#z")
	s.ResourceUpdated("u", "file:///x/yz")
	if a, b := ann.take(), bob.take(); a != "" || b != `updated{"uri":"file:///x/y/z"} updated{"uri":"file:///x/y#z"}` {
		t.Errorf("got %q and %q", a, b)
	}

	// A new stream replaces the old one before that ends.
	detachSpare := s.Attach(&gateway.Client{Principal: someone, SessionID: "ann", Version: "2025-11-25"}, spare.deliver)
	detach()
	s.ResourceUpdated("u", "test://a")
	if got := spare.take(); got != `updated{"uri":"test://a"}` || ann.take() != "" {
		t.Errorf("new stream: got %q", got)
	}
	unsubscribe(t, s, session("ann"), "test://a")
	unsubscribe(t, s, session("ann"), "test://never")
	unsubscribe(t, s, session("unknown"), "test://a")
	s.ResourceUpdated("u", "test://a")
	if got := spare.take(); got != "" {
		t.Errorf("after unsubscribe: got %q", got)
	}
	if !up.holds("u file:///x/y ×1", "u test://a ×1") {
		t.Errorf("held %v", up.held)
	}
	detachSpare()
	s.End("bob")
	s.End("unknown")
	if !up.holds() {
		t.Errorf("held %v", up.held)
	}
	bob.take()
	s.ResourceUpdated("u", "test://a")
	if got := bob.take(); got != "" {
		t.Errorf("after End: got %q", got)
	}
}

func TestStreamReceivesResourceUpdates(t *testing.T) {
	s, up := newSubscriptions(t)
	var d deliveries
	agreed, cancel := s.SubscribeResources(t.Context(), watchable(), someone, []string{"file:///b", "test://a", "test://gone", "file:///b"}, d.deliver)
	if !slices.Equal(agreed, []string{"file:///b", "test://a"}) {
		t.Errorf("agreed to %q", agreed)
	}
	s.ResourceUpdated("u", "test://a")
	s.ResourceUpdated("u", "test://gone")
	if got := d.take(); got != `updated{"uri":"test://a"}` {
		t.Errorf("got %q", got)
	}
	cancel()
	cancel()
	s.ResourceUpdated("u", "test://a")
	if got := d.take(); got != "" || !up.holds() {
		t.Errorf("after cancel: got %q, held %v", got, up.held)
	}

	up.err = errors.New("no")
	agreed, cancel = s.SubscribeResources(t.Context(), watchable(), someone, []string{"test://a"}, d.deliver)
	defer cancel()
	if len(agreed) != 0 {
		t.Errorf("agreed to %q", agreed)
	}
	up.err, up.wait = nil, make(chan struct{})
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer stop()
	agreed, cancelLate := s.SubscribeResources(ctx, watchable(), someone, []string{"test://a"}, d.deliver)
	defer cancelLate()
	if len(agreed) != 0 {
		t.Errorf("after a timeout: agreed to %q", agreed)
	}
}

func TestRejectedSubscriptions(t *testing.T) {
	for name, tc := range map[string]struct {
		client  *gateway.Client
		method  string
		params  string
		err     error
		code    fault.Code
		kind    fault.Kind
		project *toolset.Snapshot
	}{
		"stateless":    {client: &gateway.Client{Version: "2026-07-28"}, method: "resources/subscribe", params: `{"uri":"test://a"}`, code: fault.CodeNotFound, kind: fault.KindUnknownMethod},
		"other method": {client: session("s"), method: "resources/read", params: `{"uri":"test://a"}`, code: fault.CodeNotFound, kind: fault.KindUnknownMethod},
		"not offered":  {client: session("s"), method: "resources/subscribe", params: `{"uri":"test://a"}`, code: fault.CodeNotFound, kind: fault.KindUnknownMethod, project: gatewaytest.Build(gatewaytest.Source())},
		"no session":   {client: &gateway.Client{Version: "2025-11-25"}, method: "resources/subscribe", params: `{"uri":"test://a"}`, code: fault.CodeInvalidParameter, kind: fault.KindInvalid},
		"no params":    {client: session("s"), method: "resources/subscribe", code: fault.CodeInvalidParameter, kind: fault.KindInvalid},
		"no uri":       {client: session("s"), method: "resources/subscribe", params: `{"uri":7}`, code: fault.CodeInvalidParameter, kind: fault.KindInvalid},
		"long uri":     {client: session("s"), method: "resources/subscribe", params: `{"uri":"file:///` + strings.Repeat("x", 8<<10-7) + `"}`, code: fault.CodeInvalidParameter, kind: fault.KindInvalid},
		"unknown":      {client: session("s"), method: "resources/subscribe", params: `{"uri":"test://gone"}`, code: fault.CodeResourceNotFound, kind: fault.KindNotFound},
		"upstream's fault": {
			client: session("s"), method: "resources/subscribe", params: `{"uri":"test://a"}`,
			err: fault.Upstream(fault.CodeUpstreamTimeout, "slow"), code: fault.CodeUpstreamTimeout, kind: fault.KindUpstream,
		},
	} {
		s, up := newSubscriptions(t)
		up.err = tc.err
		project := tc.project
		if project == nil {
			project = watchable()
		}
		var params []byte
		if tc.params != "" {
			params = []byte(tc.params)
		}
		_, err := s.Handle(t.Context(), project, tc.client, tc.method, params, &gateway.RequestInfo{})
		if f := fault.From(err); err == nil || f.Code != tc.code || f.Kind != tc.kind {
			t.Errorf("%s: %v", name, err)
		}
	}
	s, up := newSubscriptions(t)
	if err := subscribe(s, session("s"), "file:///"+strings.Repeat("x", 8<<10-8)); err != nil {
		t.Errorf("a URI of 8 KiB: %v", err)
	}
	up.err = &upstream.AnswerError{Raw: []byte(`{"code":-32002,"message":"gone"}`)}
	var rpc *gateway.RPCError
	if err := subscribe(s, session("s"), "test://a"); !errors.As(err, &rpc) || string(rpc.Raw) != `{"code":-32002,"message":"gone"}` {
		t.Errorf("got %v", err)
	}
}

func TestMaxResourcesPerClient(t *testing.T) {
	s, up := newSubscriptions(t)
	uri := func(i int) string { return fmt.Sprint("file:///", i) }
	for i := range subscriptions.MaxResourcesPerClient {
		if err := subscribe(s, session("s"), uri(i)); err != nil {
			t.Fatalf("%d: %v", i, err)
		}
	}
	err := subscribe(s, session("s"), uri(subscriptions.MaxResourcesPerClient))
	if f := fault.From(err); f.Code != fault.CodeRateLimited || up.calls != subscriptions.MaxResourcesPerClient {
		t.Errorf("beyond the limit: %v after %d calls", err, up.calls)
	}
	if err := subscribe(s, session("s"), uri(0)); err != nil {
		t.Errorf("existing subscription: %v", err)
	}
	unsubscribe(t, s, session("s"), uri(0))
	if err := subscribe(s, session("s"), uri(subscriptions.MaxResourcesPerClient)); err != nil {
		t.Errorf("after unsubscribe: %v", err)
	}
	var uris []string
	for i := range subscriptions.MaxResourcesPerClient + 1 {
		uris = append(uris, uri(i))
	}
	agreed, cancel := s.SubscribeResources(t.Context(), watchable(), someone, uris, func(subscriptions.Notification) {})
	defer cancel()
	if len(agreed) != subscriptions.MaxResourcesPerClient {
		t.Errorf("stream: agreed to %d resources, want %d", len(agreed), subscriptions.MaxResourcesPerClient)
	}
}

// panicking panics for every subscription.
type panicking struct{ subscriber }

func (*panicking) Subscribe(context.Context, *upstream.Target, string) (func(), error) {
	panic("broken subscriber")
}

func TestSubscribePanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tasks := background.New(slog.New(slog.DiscardHandler))
		s := subscriptions.New(onlyProject{}, &panicking{}, &memory{}, tasks)
		defer s.Close()
		agreed, cancel := s.SubscribeResources(t.Context(), watchable(), someone, []string{"test://a"}, func(subscriptions.Notification) {})
		defer cancel()
		synctest.Wait() // the panic is counted after the response
		if len(agreed) != 0 || tasks.Panics() != 1 {
			t.Errorf("agreed to %v after %d panics", agreed, tasks.Panics())
		}
	})
}

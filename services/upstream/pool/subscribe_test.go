package pool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpgateway/services/fault"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/pool"
	"mcpgateway/services/upstream/upstreamtest"
)

// subscribable returns an upstream with resources. It rejects those whose URI
// starts with "no:".
func subscribable(era upstreamtest.Era) *upstreamtest.Server {
	subscribe := func(_ context.Context, c *upstreamtest.Call) upstreamtest.Result {
		if strings.Contains(string(c.Params), `"no:`) {
			return upstreamtest.Error(-32002, "no such resource")
		}
		return upstreamtest.JSON("{}")
	}
	return upstreamtest.New(upstreamtest.Options{
		Eras: []upstreamtest.Era{era}, Capabilities: everything, Tools: upstreamtest.Standard(1),
		Methods: map[string]upstreamtest.Handler{"resources/subscribe": subscribe, "resources/unsubscribe": agree},
	})
}

func updated(uri string) []byte { return fmt.Appendf(nil, `{"uri":%q}`, uri) }

func mustSubscribe(t testing.TB, p *pool.Pool, to *upstream.Target, uri string) (release func()) {
	t.Helper()
	release, err := p.Subscribe(testContext(t), to, uri)
	if err != nil {
		t.Fatalf("subscribe to %s: %v", uri, err)
	}
	return release
}

// requestedURIs returns the URIs of the requests of a method.
func requestedURIs(s *upstreamtest.Server, method string) []string {
	var uris []string
	for _, r := range s.Requests(method) {
		var m struct {
			Params struct {
				URI           string
				Notifications struct{ ResourceSubscriptions []string }
			}
		}
		_ = json.Unmarshal(r.Body, &m)
		if method == "subscriptions/listen" {
			uris = append(uris, strings.Join(m.Params.Notifications.ResourceSubscriptions, " "))
		} else {
			uris = append(uris, m.Params.URI)
		}
	}
	return uris
}

func TestSubscribersShareSubscription(t *testing.T) {
	for _, era := range handshakeEras() {
		t.Run(string(era), func(t *testing.T) {
			s := subscribable(era)
			p, to := newPool(t), target(s.Start(t))
			w := startWatch(t, p, to)
			w.await(t, "", 1)
			var releases []func()
			var mu sync.Mutex
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					release := mustSubscribe(t, p, to, "test://a")
					mu.Lock()
					defer mu.Unlock()
					releases = append(releases, release)
				})
			}
			all.Wait()
			other := mustSubscribe(t, p, to, "test://b")
			if got := requestedURIs(s, "resources/subscribe"); !slices.Equal(got, []string{"test://a", "test://b"}) {
				t.Errorf("requested URIs = %q", got)
			}
			s.Notify(upstream.ResourceUpdated, updated("test://a"))
			w.await(t, "resources/updated", 1)
			for i, release := range releases {
				if got := requestedURIs(s, "resources/unsubscribe"); len(got) > 0 {
					t.Errorf("%d of 8 subscribers remain, but %q was unsubscribed", 8-i, got)
				}
				release()
				release() // further calls have no effect
			}
			if _, err := s.WaitForRequests(testContext(t), "resources/unsubscribe", 1); err != nil {
				t.Fatal("no unsubscribe request")
			}
			mustSubscribe(t, p, to, "test://a")()
			other()
			if _, err := s.WaitForRequests(testContext(t), "resources/unsubscribe", 3); err != nil {
				t.Fatal("no second unsubscribe request")
			}
			got := requestedURIs(s, "resources/unsubscribe")
			if slices.Sort(got); !slices.Equal(got, []string{"test://a", "test://a", "test://b"}) {
				t.Errorf("unsubscribed URIs = %q", got)
			}
		})
	}
}

func TestStatelessSubscriptionsShareStream(t *testing.T) {
	s := subscribable(upstreamtest.Era20260728)
	p, to := newPool(t), target(s.Start(t))
	w := startWatch(t, p, to)
	w.await(t, "", 1)
	a := mustSubscribe(t, p, to, "test://a")
	again := mustSubscribe(t, p, to, "test://a")
	b := mustSubscribe(t, p, to, "test://b")
	if got := requestedURIs(s, "subscriptions/listen"); !slices.Equal(got, []string{"", "test://a", "test://a test://b"}) {
		t.Errorf("listen requests = %q", got)
	}
	if err := s.WaitForStreams(testContext(t), 1); err != nil {
		t.Errorf("Stats() = %+v", s.Stats())
	}
	for i, uri := range []string{"test://a", "test://b"} {
		s.Notify(upstream.ResourceUpdated, updated(uri))
		w.await(t, "resources/updated", i+1)
	}
	a()
	b()
	if err := s.Wait(testContext(t), func() bool {
		got := requestedURIs(s, "subscriptions/listen")
		return got[len(got)-1] == "test://a" && s.Stats().Streams == 1
	}); err != nil {
		t.Errorf("listen requests = %q", requestedURIs(s, "subscriptions/listen"))
	}
	again()
	if err := s.Wait(testContext(t), func() bool {
		got := requestedURIs(s, "subscriptions/listen")
		return got[len(got)-1] == "" && s.Stats().Streams == 1
	}); err != nil {
		t.Errorf("listen requests = %q", requestedURIs(s, "subscriptions/listen"))
	}
	if n := w.count(""); n != 1 {
		t.Errorf("replacing the stream counted as a gap: %q", w.events())
	}
	s.SetTools()
	w.await(t, "tools/list_changed", 1)
}

func TestRejectedSubscriptions(t *testing.T) {
	for _, era := range handshakeEras() {
		s := subscribable(era)
		p, to := newPool(t), target(s.Start(t))
		for range 2 { // a rejection is not cached
			_, err := p.Subscribe(testContext(t), to, "no:a")
			var refused *upstream.AnswerError
			if !errors.As(err, &refused) || !strings.Contains(string(refused.Raw), "-32002") || !strings.Contains(err.Error(), "no such resource") {
				t.Errorf("%s: %v", era, err)
			}
		}
		if got := requestedURIs(s, "resources/subscribe"); len(got) != 2 {
			t.Errorf("requested URIs = %q", got)
		}
		mustSubscribe(t, p, to, "test://a")()
	}
	for _, era := range upstreamtest.AllEras() {
		s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{era}, Capabilities: `{"resources":{}}`})
		p, to := newPool(t), target(s.Start(t))
		_, err := p.Subscribe(testContext(t), to, "test://a")
		wantFault(t, err, fault.CodeInvalidParameter, "jira", "does not support resource subscriptions")
		s.Close()
		p.Drop(to.ServerID)
		_, err = p.Subscribe(testContext(t), to, "test://a")
		wantFault(t, err, fault.CodeUpstreamUnavailable)
		p.Close()
		_, err = p.Subscribe(testContext(t), to, "test://a")
		wantFault(t, err, fault.CodeUpstreamUnavailable)
	}
}

// listener is a hand-written stateless upstream. It rejects a stream with a
// resource whose URI starts with "no:", and grants none that starts with
// "not:".
type listener struct {
	mu     sync.Mutex
	listen []string // requested URIs
	bad    string   // prefix of rejected URIs
	cut    chan struct{}
}

// restart closes the streams. The upstream then rejects other URIs.
func (l *listener) restart(bad string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.cut)
	l.bad, l.listen, l.cut = bad, nil, make(chan struct{})
}

func (l *listener) requests() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.listen)
}

// start serves the upstream until the test ends and returns its target.
func (l *listener) start(t testing.TB) *upstream.Target {
	srv := httptest.NewServer(l)
	t.Cleanup(srv.Close)
	return target(srv.URL)
}

func (l *listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m := received(r)
	var p struct {
		Notifications struct{ ResourceSubscriptions []string }
	}
	switch {
	case m.Method == "server/discover":
		writeJSON(w, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":`+everything+`}}`)
		return
	case m.Method != "subscriptions/listen" || json.Unmarshal(m.Params, &p) != nil:
		w.WriteHeader(http.StatusNotFound)
		return
	}
	uris := p.Notifications.ResourceSubscriptions
	l.mu.Lock()
	l.listen = append(l.listen, strings.Join(uris, " "))
	refused := slices.ContainsFunc(uris, func(u string) bool { return strings.HasPrefix(u, l.bad) })
	cut := l.cut
	l.mu.Unlock()
	if refused {
		writeJSON(w, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"error":{"code":-32602,"message":"one of them is unknown"}}`)
		return
	}
	agreed, _ := json.Marshal(slices.DeleteFunc(uris, func(u string) bool { return strings.HasPrefix(u, "not:") }))
	writeEvents(w, `data: {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true,"resourceSubscriptions":`+string(agreed)+`}}}`+"\n\n")
	select {
	case <-r.Context().Done():
	case <-cut:
	}
}

func TestRejectedResourceKeepsOthers(t *testing.T) {
	l := &listener{bad: "no:", cut: make(chan struct{})}
	to := l.start(t)
	p := newPool(t)
	w := startWatch(t, p, to)
	w.await(t, "", 1)
	mustSubscribe(t, p, to, "test://a")
	_, err := p.Subscribe(testContext(t), to, "no:b")
	var refused *upstream.AnswerError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "one of them is unknown") {
		t.Fatalf("got %v", err)
	}
	_, err = p.Subscribe(testContext(t), to, "not:c")
	wantFault(t, err, fault.CodeUpstreamInvalidResponse, "rejected the subscription")
	mustSubscribe(t, p, to, "test://d")
	if got := l.requests(); got[len(got)-1] != "test://a test://d" {
		t.Errorf("listen requests = %q", got)
	}
	if n := w.count(""); n != 1 {
		t.Errorf("stream was lost: %q", w.events())
	}
	p.Close()
}

// TestResourcesMissingAfterRestart has an upstream that loses one of the
// resources it agreed to watch.
func TestResourcesMissingAfterRestart(t *testing.T) {
	l := &listener{bad: "no:", cut: make(chan struct{})}
	to := l.start(t)
	p := newPool(t)
	w := startWatch(t, p, to)
	w.await(t, "", 1)
	for _, uri := range []string{"x:a", "y:b", "z:c"} {
		mustSubscribe(t, p, to, uri)
	}
	l.restart("y:")
	w.await(t, "", 2)
	mustSubscribe(t, p, to, "x:d")
	listens := func(want string) {
		t.Helper()
		if err := retry(func() error {
			if got := l.requests(); len(got) == 0 || got[len(got)-1] != want {
				return fmt.Errorf("listen requests = %q, want %q", got, want)
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	}
	listens("x:a x:d z:c")
	l.restart("no:")
	w.await(t, "", 3)
	listens("x:a x:d y:b z:c") // it is available again
	p.Close()
}

func TestSubscriptionsWaitForWatch(t *testing.T) {
	for _, era := range upstreamtest.AllEras() {
		s := subscribable(era)
		p, to := newPool(t), target(s.Start(t))
		mustSubscribe(t, p, to, "test://a")
		w := startWatch(t, p, to)
		w.await(t, "", 1)
		if era.Stateless() {
			if got := requestedURIs(s, "subscriptions/listen"); !slices.Equal(got, []string{"test://a"}) {
				t.Errorf("listen requests = %q", got)
			}
		}
		s.Notify(upstream.ResourceUpdated, updated("test://a"))
		w.await(t, "resources/updated", 1)
		p.Close()
	}
}

func TestSubscriptionLimit(t *testing.T) {
	s := subscribable(upstreamtest.Era20251125)
	p, to := newPool(t), target(s.Start(t))
	var last func()
	for i := range 1000 {
		last = mustSubscribe(t, p, to, fmt.Sprint("test://", i))
	}
	mustSubscribe(t, p, to, "test://0") // already subscribed
	_, err := p.Subscribe(testContext(t), to, "test://1000")
	wantFault(t, err, fault.CodeRateLimited, "1000 subscribed resources")
	last()
	mustSubscribe(t, p, to, "test://1000")
}

func TestSubscribeEndsWithContext(t *testing.T) {
	for _, era := range []upstreamtest.Era{upstreamtest.Era20251125, upstreamtest.Era20260728} {
		s := subscribable(era)
		s.SetFault(
			upstreamtest.Fault{On: "resources/subscribe", Kind: upstreamtest.Hang}, upstreamtest.Fault{On: "subscriptions/listen", Kind: upstreamtest.Hang},
		)
		p, to := newPool(t), target(s.Start(t))
		startWatch(t, p, to)
		if _, err := s.WaitForRequests(testContext(t), "server/discover", 1); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
		_, err := p.Subscribe(ctx, to, "test://a")
		cancel()
		wantFault(t, err, fault.CodeUpstreamTimeout)
		p.Drop(to.ServerID) // during the request
		p.Close()
	}
}

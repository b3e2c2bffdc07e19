package subscriptions_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"

	"mcpgateway/models"
	"mcpgateway/services/access"
	"mcpgateway/services/gateway"
	"mcpgateway/services/gateway/subscriptions"
	"mcpgateway/services/toolset"
	"mcpgateway/services/upstream"
)

// forwarding returns a project whose server receives the header X-Team of
// clients.
type forwarding struct{ project *toolset.Snapshot }

func newForwarding() forwarding {
	project := watchable()
	project.Servers[0].Config.ForwardHeaders = models.StringMap{"X-Team": "X-Team"}
	project.Servers[0].Target.Forwarding = upstream.NewForwarding(map[string]string{"X-Team": "X-Team"}, []byte("key"))
	return forwarding{project}
}

func (f forwarding) Current(access.Principal) (*toolset.Snapshot, error) { return f.project, nil }

// watched is a ResourceSubscriber that stores the watches by forwarded values.
type watched struct {
	subscriber
	events sync.Map // forwarded hash to func(upstream.Event)
}

func (w *watched) Subscribe(ctx context.Context, target *upstream.Target, uri string) (func(), error) {
	separate := *target
	separate.ServerID += " " + target.Forwarded
	return w.subscriber.Subscribe(ctx, &separate, uri)
}

func (w *watched) Watch(ctx context.Context, target *upstream.Target, events func(upstream.Event)) {
	w.events.Store(target.Forwarded, events)
	<-ctx.Done()
}

// TestForwardedValuesShareNoSubscription subscribes sessions with different
// values of a forwarded header to one resource. Each receives the updates of that
// account only. Another process, which doesn't have the values, subscribes
// none.
func TestForwardedValuesShareNoSubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		views, stored := newForwarding(), &memory{}
		here, there := &watched{subscriber: subscriber{held: map[string]int{}}}, &watched{subscriber: subscriber{held: map[string]int{}}}
		s, other := subscriptions.New(views, here, stored, nil), subscriptions.New(views, there, stored, nil)
		defer s.Close()
		defer other.Close()
		streams := map[string]*deliveries{}
		for _, team := range []string{"red", "blue", "also red"} {
			client := session(team)
			client.Forwarded = http.Header{"X-Team": {team[len(team)-3:]}}
			if _, err := s.Handle(t.Context(), views.project, client, "resources/subscribe", []byte(`{"uri":"test://a"}`), nil); err != nil {
				t.Fatal(err)
			}
			streams[team] = &deliveries{}
			defer s.Attach(&gateway.Client{Principal: someone, SessionID: team, Version: "2025-11-25"}, streams[team].deliver)()
			defer other.Attach(&gateway.Client{Principal: someone, SessionID: team, Version: "2025-11-25"}, func(subscriptions.Notification) { t.Error("update in a process without the values") })()
		}
		synctest.Wait()
		if accounts := len(here.held); accounts != 2 || len(there.held) != 0 {
			t.Fatalf("held %v and %v, want 2 accounts here", here.held, there.held)
		}
		red, _ := views.project.Servers[0].Target.With(http.Header{"X-Team": {"red"}})
		events, ok := here.events.Load(red.Forwarded)
		if !ok {
			t.Fatal("the account is not watched")
		}
		events.(func(upstream.Event))(upstream.Event{Method: upstream.ResourceUpdated, Params: []byte(`{"uri":"test://a"}`)})
		s.ResourceUpdated("u", "test://a") // of the account without forwarded headers
		for team, d := range streams {
			want := `updated{"uri":"test://a"}`
			if team == "blue" {
				want = ""
			}
			if got := d.take(); got != want {
				t.Errorf("%s: got %q, want %q", team, got, want)
			}
		}
	})
}

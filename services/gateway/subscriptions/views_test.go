package subscriptions_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"mcpgateway/services/access"
	"mcpgateway/services/fault"
	"mcpgateway/services/gateway/gatewaytest"
	"mcpgateway/services/gateway/subscriptions"
	"mcpgateway/services/notify"
	"mcpgateway/services/toolset"
)

// changing returns the view of each user, or UNAUTHORIZED.
type changing map[string]*toolset.Snapshot

func (c changing) Current(caller access.Principal) (*toolset.Snapshot, error) {
	if view := c[caller.UserID()]; view != nil {
		return view, nil
	}
	return nil, fault.Unauthorized()
}

// TestStreamsFollowTheView changes the views of callers, also without a topic. A
// stream receives only the changes of its view, and ends with its caller's access.
func TestStreamsFollowTheView(t *testing.T) {
	for _, topic := range []notify.Topic{notify.Toolset("p"), notify.Keys("p"), notify.Access("p"), notify.Grants("p"), notify.People(), ""} {
		t.Run(string(topic), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				small, large := gatewaytest.Build(gatewaytest.Source("a")), gatewaytest.Build(gatewaytest.Source("a", "b"))
				views := changing{"ann": small, "bob": small, "cy": small}
				s := subscriptions.New(views, &subscriber{}, nil, nil)
				defer s.Close()
				var mu sync.Mutex // streams end in goroutines
				got := map[string][]string{}
				for user := range views {
					note := func(what string) {
						mu.Lock()
						defer mu.Unlock()
						got[user] = append(got[user], what)
					}
					defer s.Subscribe(access.Administrator(user, "p"), func(n subscriptions.Notification) { note(n.Method) }, func() { note("ended") })()
				}
				views["ann"] = large
				delete(views, "cy")
				for _, other := range []notify.Topic{notify.Toolset("q"), notify.Access("q"), notify.Catalog(), topic, topic} {
					if other == "" {
						s.Recheck()
					} else if err := s.Changed(t.Context(), other); err != nil {
						t.Fatal(err)
					}
					synctest.Wait()
				}
				if !slices.Equal(got["ann"], []string{subscriptions.NotifyToolsChanged}) || len(got["bob"]) > 0 || got["cy"][0] != "ended" {
					t.Errorf("got %v", got)
				}
			})
		})
	}
}

// TestHiddenServerAnnouncesNothing announces a list of a server that only one
// caller sees.
func TestHiddenServerAnnouncesNothing(t *testing.T) {
	source := gatewaytest.Source("a")
	source.Servers[0].Alias = "other"
	views := changing{"ann": gatewaytest.Build(gatewaytest.Source("a")), "bob": gatewaytest.Build(source)}
	s := subscriptions.New(views, &subscriber{}, nil, nil)
	defer s.Close()
	got := map[string]int{}
	for user := range views {
		defer s.Subscribe(access.Administrator(user, "p"), func(subscriptions.Notification) { got[user]++ }, nil)()
	}
	s.Listed("p", "up", subscriptions.NotifyToolsChanged)
	if got["ann"] != 1 || got["bob"] != 0 {
		t.Errorf("got %v", got)
	}
}

// TestHiddenResourceIsUnsubscribed withdraws the server of a subscribed
// resource.
func TestHiddenResourceIsUnsubscribed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := &subscriber{held: map[string]int{}}
		views := changing{"ann": watchable(), "bob": watchable()}
		s := subscriptions.New(views, up, &memory{}, nil)
		defer s.Close()
		var ann, bob deliveries
		for user, d := range map[string]*deliveries{"ann": &ann, "bob": &bob} {
			agreed, cancel := s.SubscribeResources(t.Context(), watchable(), access.Administrator(user, "p"), []string{"test://a"}, d.deliver)
			defer cancel()
			if len(agreed) != 1 {
				t.Fatal(agreed)
			}
		}
		views["ann"] = gatewaytest.Build(gatewaytest.Source("a"))
		s.ResourceUpdated("u", "test://a") // before the change is handled
		if a, b := ann.take(), bob.take(); a != "" || !strings.HasPrefix(b, "updated") {
			t.Errorf("ann %q, bob %q", a, b)
		}
		if err := s.Changed(t.Context(), notify.Access("p")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		s.ResourceUpdated("u", "test://a")
		if a, b := ann.take(), bob.take(); a != "" || !strings.HasPrefix(b, "updated") || !up.holds("u test://a ×1") {
			t.Errorf("ann %q, bob %q, held %v", a, b, up.held)
		}
	})
}

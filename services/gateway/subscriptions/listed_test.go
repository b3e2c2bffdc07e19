package subscriptions_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"mcpgateway/services/access"
	"mcpgateway/services/gateway/gatewaytest"
	"mcpgateway/services/gateway/subscriptions"
	"mcpgateway/services/notify"
	"mcpgateway/services/toolset"
)

// oneProject is the view of every caller.
type oneProject struct{ now *toolset.Snapshot }

func (o *oneProject) Current(access.Principal) (*toolset.Snapshot, error) { return o.now, nil }

// TestUnchangedListNotified announces changes of lists that are equal.
func TestUnchangedListNotified(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		project := &oneProject{gatewaytest.Build(gatewaytest.Source("a"))}
		s := subscriptions.New(project, &subscriber{}, nil, nil)
		defer s.Close()
		var got []string
		s.Listed("p", "up", subscriptions.NotifyToolsChanged) // without a subscriber
		cancel := s.Subscribe(access.Administrator("u", "p"), func(n subscriptions.Notification) { got = append(got, n.Method) }, nil)
		defer cancel()
		take := func() []string {
			defer func() { got = nil }()
			return got
		}
		for _, tt := range []struct {
			name   string
			wait   time.Duration
			method string
			want   []string
		}{
			{"first", 0, subscriptions.NotifyToolsChanged, []string{subscriptions.NotifyToolsChanged}},
			{"another kind", 0, subscriptions.NotifyPromptsChanged, []string{subscriptions.NotifyPromptsChanged}},
			{"before a second", time.Second - 1, subscriptions.NotifyToolsChanged, nil},
			{"at a second", 1, subscriptions.NotifyToolsChanged, []string{subscriptions.NotifyToolsChanged}},
		} {
			time.Sleep(tt.wait)
			s.Listed("p", "up", tt.method)
			if got := take(); !slices.Equal(got, tt.want) {
				t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
			}
		}
		// An actual change is reported exactly once.
		project.now = gatewaytest.Build(gatewaytest.Source("a", "b"))
		if err := s.Changed(t.Context(), notify.Toolset("p")); err != nil {
			t.Fatal(err)
		}
		s.Listed("p", "up", subscriptions.NotifyToolsChanged)
		if got, want := take(), []string{subscriptions.NotifyToolsChanged}; !slices.Equal(got, want) {
			t.Errorf("a change: got %q, want %q", got, want)
		}
	})
}

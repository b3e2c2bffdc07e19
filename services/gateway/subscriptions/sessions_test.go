package subscriptions_test

import (
	"errors"
	"mcpgateway/services/fault"
	"mcpgateway/services/gateway"
	"mcpgateway/services/gateway/subscriptions"
	"mcpgateway/services/notify"
	"testing"
	"testing/synctest"
	"time"
)

func TestSessionWithoutStreamExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := &subscriber{held: map[string]int{}}
		s := subscriptions.New(onlyProject{}, up, &memory{}, nil)
		defer s.Close()
		if err := subscribe(s, session("s"), "test://a"); err != nil {
			t.Fatal(err)
		}
		var d deliveries
		time.Sleep(subscriptions.SessionGrace - time.Second)
		detach := s.Attach(&gateway.Client{Principal: someone, SessionID: "s", Version: "2025-11-25"}, d.deliver)
		time.Sleep(time.Hour)
		s.ResourceUpdated("u", "test://a")
		if got := d.take(); got != `updated{"uri":"test://a"}` {
			t.Errorf("got %q", got)
		}
		detach()
		time.Sleep(subscriptions.SessionGrace - time.Second)
		if !up.holds("u test://a ×1") {
			t.Error("the session expired too early")
		}
		detach = s.Attach(&gateway.Client{Principal: someone, SessionID: "s", Version: "2025-11-25"}, d.deliver)
		detach()
		time.Sleep(subscriptions.SessionGrace - time.Second)
		if !up.holds("u test://a ×1") {
			t.Error("a stream did not extend the session")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if !up.holds() {
			t.Errorf("held %v", up.held)
		}
	})
}

func TestSessionEndsDuringSubscribe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := &subscriber{held: map[string]int{}, wait: make(chan struct{})}
		s := subscriptions.New(onlyProject{}, up, &memory{}, nil)
		defer s.Close()
		result := make(chan error, 1)
		go func() { result <- subscribe(s, session("s"), "test://a") }()
		synctest.Wait()
		s.End("s")
		close(up.wait)
		if err := <-result; !fault.Is(err, fault.CodeNotFound) || !up.holds() {
			t.Errorf("got %v, held %v", err, up.held)
		}
	})
}

// TestSessionAcrossProcesses uses two processes with the same stored
// subscriptions, as after a restart or with a load balancer.
func TestSessionAcrossProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := &memory{}
		here, there := &subscriber{held: map[string]int{}}, &subscriber{held: map[string]int{}}
		asked := subscriptions.New(onlyProject{}, here, shared, nil)
		defer asked.Close()
		streaming := subscriptions.New(onlyProject{}, there, shared, nil)
		defer streaming.Close()
		shared.changed = func(topic notify.Topic) {
			for _, s := range []*subscriptions.Subscriptions{asked, streaming} {
				if err := s.Changed(t.Context(), topic); err != nil {
					t.Error(err)
				}
			}
		}
		if err := subscribe(asked, session("s"), "test://a"); err != nil {
			t.Fatal(err)
		}
		var d deliveries
		detach := streaming.Attach(&gateway.Client{Principal: someone, SessionID: "s", Version: "2025-11-25"}, d.deliver) // the stream opens after the subscription
		synctest.Wait()
		if !there.holds("u test://a ×1") {
			t.Fatalf("process with the stream: held %v", there.held)
		}
		streaming.ResourceUpdated("u", "test://a")
		if got := d.take(); got != `updated{"uri":"test://a"}` {
			t.Errorf("got %q", got)
		}
		if err := subscribe(asked, session("s"), "file:///b"); err != nil { // a later subscription
			t.Fatal(err)
		}
		synctest.Wait()
		streaming.ResourceUpdated("u", "file:///b")
		if got := d.take(); got != `updated{"uri":"file:///b"}` {
			t.Errorf("got %q", got)
		}
		unsubscribe(t, asked, session("s"), "test://a")
		synctest.Wait()
		if !there.holds("u file:///b ×1") || !here.holds("u file:///b ×1") {
			t.Errorf("held %v and %v", here.held, there.held)
		}
		detach()
		streaming.End("s")
		synctest.Wait()
		if !there.holds() || !here.holds() {
			t.Errorf("after End: held %v and %v", here.held, there.held)
		}
	})
}

func TestUnstoredSubscriptionRejected(t *testing.T) {
	up := &subscriber{held: map[string]int{}}
	s := subscriptions.New(onlyProject{}, up, &memory{err: fault.Internal(errors.New("down"))}, nil)
	defer s.Close()
	if err := subscribe(s, session("s"), "test://a"); !fault.Is(err, fault.CodeInternal) || !up.holds() {
		t.Errorf("got %v, held %v", err, up.held)
	}
}

package subscriptions

import (
	"context"
	"maps"
	"net/http"
	"time"

	"mcpgateway/services/access"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/upstream"
)

// watchAgain is the pause before the watch of an account starts again, for
// example after its server changed.
const watchAgain = time.Second

// watch receives the updates of a user's own account while it has subscribers.
// The syncer watches the accounts that all users share. The caller must hold mu.
func (s *Subscriptions) watch(at account) {
	if !at.needsWatch() || s.closed {
		return
	}
	ctx, cancel := context.WithCancel(s.ctx)
	s.watches[at] = cancel
	s.work.Go(s.tasks.Func("watch of a user's account", func() {
		for ctx.Err() == nil {
			if target := s.targetOf(at); target != nil {
				s.resources.Watch(ctx, target, func(e upstream.Event) { s.handleEvent(at, e) })
			}
			select {
			case <-ctx.Done():
			case <-time.After(watchAgain):
			}
		}
	}))
}

// unwatch ends the watch of an account. The caller must hold mu.
func (s *Subscriptions) unwatch(at account) {
	if cancel := s.watches[at]; cancel != nil {
		cancel()
		delete(s.watches, at)
	}
}

// targetOf returns the present target of an account with subscribers, or nil.
func (s *Subscriptions) targetOf(at account) *upstream.Target {
	s.mu.Lock()
	type subscribed struct {
		caller    access.Principal
		forwarded http.Header
	}
	var callers []subscribed
	for _, holders := range s.holders[at] {
		for h := range holders {
			for _, ref := range h.of(at) {
				callers = append(callers, subscribed{h.caller, ref.forwarded})
			}
		}
	}
	s.mu.Unlock()
	for _, h := range callers {
		view, err := s.views.Current(h.caller)
		if err != nil {
			continue
		}
		for _, server := range view.Servers {
			if server.Config.ID == at.serverID {
				if target, err := server.Target.For(at.userID).With(h.forwarded); err == nil && target.Forwarded == at.forwarded {
					return target
				}
			}
		}
	}
	return nil
}

func (s *Subscriptions) handleEvent(at account, e upstream.Event) {
	if e.Method != upstream.ResourceUpdated {
		return
	}
	o, err := rawjson.ParseObject(e.Params, rawjson.Lenient)
	if err != nil {
		return
	}
	if uri, ok := o.String("uri"); ok {
		s.updated(at, uri)
	}
}

// ConnectionChanged renews the subscriptions of a user at a server in the
// background, because the user's connection was replaced or ended. Those that
// fail end.
func (s *Subscriptions) ConnectionChanged(serverID, userID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	type subscribed struct {
		holder  *resourceSubscriber
		uri     string
		release func()

		forwarded http.Header
	}
	var all []subscribed
	for at, byURI := range s.holders {
		if at.serverID != serverID || at.userID != userID {
			continue
		}
		holders := map[*resourceSubscriber]bool{}
		for _, some := range byURI {
			maps.Copy(holders, some)
		}
		for h := range holders {
			for uri, ref := range h.of(at) {
				all = append(all, subscribed{h, uri, nil, ref.forwarded})
			}
		}
	}
	for i, sub := range all {
		all[i].release = s.remove(sub.holder, sub.uri)
	}
	if len(all) == 0 {
		return
	}
	s.background(func(ctx context.Context) {
		for _, sub := range all {
			sub.release()
			view, err := s.views.Current(sub.holder.caller)
			if err != nil {
				continue
			}
			if resource, err := view.Offers.Resource(sub.uri); err == nil && resource.Server.Config.ID == serverID {
				_ = s.subscribe(WithForwarded(ctx, sub.forwarded), sub.holder, resource, sub.uri) // without a connection it ends
			}
		}
	})
}

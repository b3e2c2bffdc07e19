package pool

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"mcpgateway/services/capabilities"
	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/transport"
	"mcpgateway/services/upstream/wire"
)

// The request that opens a subscription stream and the notification that
// acknowledges it (MCP 2026-07-28, "Subscriptions").
const (
	methodListen       = "subscriptions/listen"
	notifyAcknowledged = "notifications/subscriptions/acknowledged"
)

// subscriptionSet is the set of notifications to request from a stateless upstream.
type subscriptionSet struct {
	key  string // the raw "notifications" object; empty if there is nothing to request
	uris []string
}

// subscriptionSet returns the notifications to request: the list changes that the
// capabilities offer, and every subscribed resource. If oneMore is set, it
// includes at most one resource that is not in have.
func (a *account) wish(about *upstream.Description, have []string, oneMore bool) subscriptionSet {
	var parts []string
	for _, list := range []string{"tools", "prompts", "resources"} {
		if about.HasPart(list, "listChanged") {
			parts = append(parts, `"`+list+`ListChanged":true`)
		}
	}
	w := subscriptionSet{}
	if about.HasPart("resources", "subscribe") {
		w.uris = a.wantedURIs(have, oneMore)
	}
	if len(w.uris) > 0 {
		b := []byte(`"resourceSubscriptions":[`)
		for i, uri := range w.uris {
			if i > 0 {
				b = append(b, ',')
			}
			b = rawjson.AppendString(b, uri)
		}
		parts = append(parts, string(append(b, ']')))
	}
	if len(parts) > 0 {
		w.key = "{" + strings.Join(parts, ",") + "}"
	}
	return w
}

// wantedURIs returns the sorted URIs of the subscribed resources. If oneMore is
// set, it includes at most one that is not in have.
func (a *account) wantedURIs(have []string, oneMore bool) []string {
	known := make(map[string]bool, len(have))
	for _, uri := range have {
		known[uri] = true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	var uris []string
	more := false
	for _, uri := range slices.Sorted(maps.Keys(a.resources)) {
		if a.resources[uri].rejected || oneMore && more && !known[uri] {
			continue
		}
		more = more || !known[uri]
		uris = append(uris, uri)
	}
	return uris
}

// minus returns the resources of w that have does not include.
func (w *subscriptionSet) minus(have *listenStream) []string {
	if have == nil {
		return w.uris
	}
	var news []string
	for _, uri := range w.uris {
		if !slices.Contains(have.wish.uris, uri) {
			news = append(news, uri)
		}
	}
	return news
}

// listenStream is one subscriptions/listen stream.
type listenStream struct {
	wish   subscriptionSet
	cancel context.CancelFunc
	done   chan struct{}                // closed when its goroutine has returned
	end    chan transport.StreamOutcome // capacity 1
	acked  chan struct{}                // closed when the upstream has acknowledged it

	// Set before acked is closed.
	began   time.Time
	granted map[string]bool // URIs of the granted resources
	grants  bool            // whether any notification was granted
}

// openListenStream opens a stream for the wish.
func (w *watcher) openListenStream(ctx context.Context, ss *session, s *transport.Streamable, want subscriptionSet) *listenStream {
	ctx, cancel := context.WithCancel(ctx)
	st := &listenStream{wish: want, cancel: cancel, done: make(chan struct{}), end: make(chan transport.StreamOutcome, 1), acked: make(chan struct{})}
	w.pool.tasks.Go("subscription stream", func() {
		defer close(st.done)
		defer cancel()
		var end transport.StreamOutcome
		if err := w.pool.tasks.Try("subscription stream", func() error { end = w.listen(ctx, ss, s, st); return nil }); err != nil {
			end.Err = err
		}
		st.end <- end
	})
	return st
}

// listen sends the subscriptions/listen request and reads its stream to the end.
func (w *watcher) listen(ctx context.Context, ss *session, s *transport.Streamable, st *listenStream) transport.StreamOutcome {
	configured, err := ss.filter.Headers(ctx)
	if err != nil {
		return transport.StreamOutcome{Err: err}
	}
	x := &transport.Exchange{ID: w.pool.nextListenID(), Header: wire.RequestHeader(configured, ss.header), Stateless: true, Heard: ss.onNotification}
	params, err := rawjson.ParseObject([]byte(`{"notifications":`+st.wish.key+`}`), rawjson.Lenient)
	if err != nil {
		return transport.StreamOutcome{Err: err}
	}
	if x.Body, _, err = wire.StatelessRequest(x.ID, methodListen, params, []byte(capabilities.Sync), w.pool.self); err != nil {
		return transport.StreamOutcome{Err: err}
	}
	x.Header[wire.HeaderMethod] = []string{methodListen}
	// Without an acknowledgment the request fails as if the upstream did not
	// respond.
	silent := time.AfterFunc(transport.MaxConnectTime+w.target.StartTime(), st.cancel)
	defer silent.Stop()
	x.Notify = func(method string, params []byte) {
		if method == notifyAcknowledged && silent.Stop() {
			st.acknowledge(params)
		}
	}
	return s.Listen(ctx, x, "", func() {})
}

// acknowledge records the notifications that the upstream granted.
func (st *listenStream) acknowledge(params []byte) {
	st.began, st.granted = time.Now(), map[string]bool{}
	if o, err := rawjson.ParseObject(params, rawjson.Lenient); err == nil {
		agreed := o.Object("notifications")
		uris, err := rawjson.Elements(agreed.Get("resourceSubscriptions"), rawjson.Lenient)
		for _, raw := range uris {
			if uri, ok := rawjson.String(raw); ok && err == nil {
				st.granted[uri] = true
			}
		}
		st.grants = len(st.granted) > 0
		for _, name := range []string{"toolsListChanged", "promptsListChanged", "resourcesListChanged"} {
			st.grants = st.grants || string(agreed.Get(name)) == "true"
		}
	}
	close(st.acked)
}

// stop closes the stream and waits for its goroutine. It does nothing on nil.
func (st *listenStream) stop() {
	if st != nil {
		st.cancel()
		<-st.done
	}
}

// uris returns the requested resources.
func (st *listenStream) uris() []string {
	if st == nil {
		return nil
	}
	return st.wish.uris
}

// acknowledged and ended return the channels of a stream. They return nil for a
// nil stream.
func (st *listenStream) acknowledged() <-chan struct{} {
	if st == nil {
		return nil
	}
	return st.acked
}

func (st *listenStream) ended() <-chan transport.StreamOutcome {
	if st == nil {
		return nil
	}
	return st.end
}

// statelessWatch watches an upstream without sessions. It has one open stream.
// When the subscriptions change, it opens the next stream before it closes the
// current one.
type statelessWatch struct {
	*watcher
	session *session
	about   *upstream.Description // the newest

	current, next *listenStream
	oneMore       bool // one of several resources was rejected: add them one at a time
	pause         <-chan time.Time
}

// attendStateless watches an upstream without sessions until its stream ends.
// It returns the delay before the next attempt.
func (w *watcher) attendStateless(ctx context.Context, ss *session, s *transport.Streamable) time.Duration {
	ctx, cancel := context.WithCancel(ctx)
	sw := &statelessWatch{watcher: w, session: ss, about: ss.about}
	defer func() {
		cancel()
		sw.current.stop()
		sw.next.stop()
	}()
	w.account.resetRejected()
	for {
		if sw.next == nil && sw.pause == nil {
			want := w.account.wish(sw.about, sw.current.uris(), sw.oneMore)
			switch {
			case want.key == "":
				w.quiet = ""
				return transport.NoTimeout
			case sw.current == nil || want.key != sw.current.wish.key:
				sw.next = w.openListenStream(ctx, ss, s, want)
			}
		}
		acked := sw.next.acknowledged()
		select {
		case <-ctx.Done():
			return 0
		case <-w.wake:
			present, over := w.account.present(w.target)
			switch {
			case over || present != nil && !present.stateless:
				return 0
			case present != nil:
				w.session, sw.about = present, present.about
			}
		case <-sw.pause:
			sw.pause = nil
		case <-acked:
			sw.change()
		case end := <-sw.next.ended():
			if wait, over := sw.failed(end); over {
				return wait
			}
		case end := <-sw.current.ended():
			if !sw.current.grants {
				w.quiet = sw.current.wish.key
				return transport.NoTimeout
			}
			return w.Again(false, time.Since(sw.current.began), end.Retry)
		}
	}
}

// change replaces the current stream with the acknowledged next one.
func (sw *statelessWatch) change() {
	if sw.current == nil {
		sw.open()
	}
	sw.current.stop()
	sw.current, sw.next = sw.next, nil
	sw.account.granted(sw.current.wish.uris, sw.current.granted, sw.session.place)
}

// failed handles a stream that ended before it was acknowledged. If over is
// true, the watch ends and is retried after wait.
func (sw *statelessWatch) failed(end transport.StreamOutcome) (wait time.Duration, over bool) {
	select {
	case <-sw.next.acked: // it was acknowledged and ended immediately
		sw.change()
		sw.current.end <- end
		return 0, false
	default:
	}
	failed := sw.next
	failed.stop()
	sw.next = nil
	news, code := failed.wish.minus(sw.current), wire.ErrorCode(end.Reply.RPCError)
	switch {
	case code == upstream.CodeMethodNotFound || end.Reply.RPCError == nil && end.IsRefused():
		sw.account.refuseAll(news, noSubscriptions(sw.session.place))
		if sw.current == nil {
			sw.quiet = failed.wish.key
			return transport.NoTimeout, true
		}
	case upstream.IsModernCode(code):
		sw.account.discard(sw.watcher.session, eraMismatch)
		return sw.BackOff(), true
	case end.Reply.RPCError != nil && len(news) == 1:
		sw.account.refuseAll(news, &upstream.AnswerError{Raw: end.Reply.RPCError})
		return 0, false
	case end.Reply.RPCError != nil && len(news) > 1:
		sw.oneMore = true
		return 0, false
	default:
		sw.account.refuseAll(news, failure(sw.session.place, end.Err))
	}
	wait = sw.BackOff()
	if sw.current == nil {
		return wait, true
	}
	sw.pause = time.After(wait)
	return 0, false
}

// failure returns the error for subscribers of a stream that failed.
func failure(p transport.FaultOrigin, err error) error {
	var f *fault.Fault
	if errors.As(err, &f) {
		return f
	}
	return p.Unavailable("did not confirm the subscription.")
}

// granted records which of the requested resources the upstream agreed to
// watch.
func (a *account) granted(wanted []string, granted map[string]bool, p transport.FaultOrigin) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, uri := range wanted {
		switch r := a.resources[uri]; {
		case r == nil:
		case granted[uri]:
			r.accept()
		default:
			a.refuse(uri, p.Invalid("rejected the subscription to resource %s.", wire.Excerpt([]byte(uri))))
		}
	}
}

func (a *account) refuseAll(uris []string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, uri := range uris {
		a.refuse(uri, err)
	}
}

// resetRejected resets the rejected mark of all resources, so that they are
// requested again.
func (a *account) resetRejected() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range a.resources {
		r.rejected = false
	}
}

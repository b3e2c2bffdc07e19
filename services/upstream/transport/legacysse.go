package transport

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/wire"
)

// LegacySSE is the HTTP+SSE transport (MCP 2024-11-05). One GET stream carries
// everything that the upstream sends. Requests are POSTed to the endpoint that
// its first event names. All calls of a session share the stream.
type LegacySSE struct {
	Poster  // to the endpoint
	cancel  context.CancelFunc
	Done    chan struct{} // closed when the stream has ended
	replies chan struct{} // semaphore of replies in flight

	onNotification func(method string, params []byte)
	stray          func(method string, params []byte) // receives notifications without a progress token

	posts    context.Context // cancelled by Close, which waits for all POSTs
	endPosts context.CancelFunc
	posting  sync.WaitGroup

	inFlight
	err error // why the stream ended; guarded by mu
}

// OpenLegacySSE opens the stream and waits for its endpoint. The stream lasts
// until Close or the end of life; ctx applies only to the opening. onNotification
// receives every notification, and stray those without a progress token. calls
// describes the users of the session.
func OpenLegacySSE(ctx, life context.Context, p Poster, header http.Header, calls Audience, onNotification, stray func(string, []byte)) (*LegacySSE, error) {
	streamCtx, cancel := context.WithCancel(life)
	stop := context.AfterFunc(ctx, cancel)
	header = maps.Clone(header)
	delete(header, "Content-Type")
	header["Accept"] = []string{wire.TypeEvents}
	resp, err := p.do(p.request(streamCtx, http.MethodGet, header, nil))
	if err != nil {
		stop()
		cancel()
		return nil, ContextErrOr(ctx, err)
	}
	events := wire.NewEventReader(resp.Body, maxAnswerBytes)
	endpoint, err := p.endpoint(resp, events)
	if !stop() || err != nil {
		_ = resp.Body.Close()
		cancel()
		return nil, ContextErrOr(ctx, err)
	}
	posts, endPosts := context.WithCancel(life)
	l := &LegacySSE{
		posts: posts, endPosts: endPosts,
		Poster: Poster{HTTP: p.HTTP, Tasks: p.Tasks, Place: p.Place, URL: endpoint, Refused: p.Refused, Filter: p.Filter, Instance: p.Instance},
		cancel: cancel, Done: make(chan struct{}), replies: make(chan struct{}, maxSharedReplies), inFlight: newInFlight(calls),
		onNotification: onNotification, stray: stray,
	}
	l.Tasks.Go("HTTP+SSE stream", func() { l.readStream(streamCtx, resp.Body, events, header) })
	return l, nil
}

// endpoint returns the URL in the first event of the stream. It must have the
// origin of the stream, otherwise the credentials would be sent elsewhere.
func (p *Poster) endpoint(resp *http.Response, events *wire.EventReader) (*url.URL, error) {
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBytes))
		return nil, p.refusal(resp, p.Filter.json(body))
	}
	if t := mediaType(resp); t != wire.TypeEvents {
		return nil, p.Place.Invalid("responded with content type %q instead of an event stream. Check its URL.", wire.Excerpt([]byte(t)))
	}
	if err := p.checkEncoding(resp); err != nil {
		return nil, err
	}
	for {
		e, err := events.Next()
		if err != nil {
			return nil, p.Place.streamBroken(err)
		}
		if e.Name != "endpoint" {
			continue
		}
		u, err := p.URL.Parse(string(bytes.TrimSpace(e.Data)))
		if err != nil || u.Scheme != p.URL.Scheme || u.Host != p.URL.Host || u.User != nil {
			f := p.Place.Invalid("returned an endpoint with a different origin.")
			f.Detail += ", endpoint " + wire.Excerpt([]byte(p.Filter.Text(string(e.Data))))
			return nil, f
		}
		u.Fragment = ""
		return u, nil
	}
}

func (p FaultOrigin) streamBroken(err error) *fault.Fault {
	switch {
	case errors.Is(err, wire.ErrEventTooLarge):
		return p.Invalid("sent an event larger than %d MiB.", maxAnswerBytes>>20)
	case errors.Is(err, io.EOF):
		return p.Unavailable("closed its event stream.")
	}
	_, why, detail := reasonOf(err)
	f := p.Unavailable("interrupted its event stream: %s.", why)
	if detail != "" {
		f.Detail += ": " + detail
	}
	f.Reason = string(upstream.ReasonClosed.WithParameter(why))
	return f.Because(&connectionError{err: err})
}

// Closed implements Transport.
func (l *LegacySSE) Closed() bool {
	select {
	case <-l.Done:
		return true
	default:
		return l.hasAbandoned()
	}
}

// HoldsSession implements Transport.
func (l *LegacySSE) HoldsSession() bool { return true }

// Notify implements Transport.
func (l *LegacySSE) Notify(ctx context.Context, header http.Header, body []byte) error {
	return l.post(ctx, header, body)
}

// Close implements Transport.
func (l *LegacySSE) Close(context.Context, http.Header) {
	l.cancel()
	<-l.Done
	l.endPosts()
	l.posting.Wait()
}

// readStream processes the messages of the upstream until the stream ends.
func (l *LegacySSE) readStream(ctx context.Context, body io.ReadCloser, events *wire.EventReader, header http.Header) {
	err := l.Tasks.Try("HTTP+SSE stream", func() error { return l.receiveAll(ctx, events, header) })
	l.cancel()
	_ = body.Close()
	l.mu.Lock()
	l.err = err
	l.mu.Unlock()
	close(l.Done)
}

func (l *LegacySSE) receiveAll(ctx context.Context, events *wire.EventReader, header http.Header) error {
	for {
		e, err := events.Next()
		if err != nil {
			return l.Place.streamBroken(err)
		}
		if e.Name != "message" || len(e.Data) == 0 {
			continue
		}
		e.Data = l.Filter.json(e.Data)
		batch := [][]byte{e.Data}
		if rawjson.Kind(e.Data) == '[' {
			if batch, err = rawjson.Elements(e.Data, rawjson.Lenient); err != nil {
				return l.Place.Invalid("sent invalid JSON: %s", wire.Excerpt(e.Data)).Because(err)
			}
		}
		for _, raw := range batch {
			m, err := l.Place.message(raw)
			if err != nil {
				return err
			}
			switch {
			case m.Method == "":
				l.handleReply(&m)
			case m.IsRequest():
				l.handleRequest(ctx, header, &m)
			default:
				l.handleNotification(m)
			}
		}
	}
}

// handleReply passes a reply to its call. A reply without a waiting call belongs
// to a cancelled one.
func (l *LegacySSE) handleReply(m *wire.Message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	id, err := strconv.ParseInt(string(m.ID), 10, 64)
	if w := l.waiting[id]; err == nil && w != nil {
		delete(l.waiting, id)
		w.answer <- Reply{Result: m.Result, RPCError: m.RPCError}
	}
}

// handleNotification passes a progress notification to the call with its token, and other
// notifications to stray.
func (l *LegacySSE) handleNotification(m wire.Message) {
	l.onNotification(m.Method, m.Params)
	if m.Method == upstream.Progress {
		l.progress(m)
		return
	}
	l.stray(m.Method, m.Params)
}

// handleRequest responds to a request of the upstream.
func (l *LegacySSE) handleRequest(ctx context.Context, header http.Header, m *wire.Message) {
	select {
	case l.replies <- struct{}{}:
	default:
		return // too many requests: drop it, because other calls need the stream
	}
	by := l.responder(responder{ctx: ctx, header: header})
	header = maps.Clone(by.header)
	header["Content-Type"] = []string{wire.TypeJSON}
	l.posting.Go(l.Tasks.Func("upstream reply", func() {
		defer func() { <-l.replies }()
		l.replyToServer(by.ctx, header, m, by.serve)
	}))
}

// Call implements Transport.
func (l *LegacySSE) Call(ctx context.Context, x *Exchange) (r Reply, err error) {
	w := &waiter{x: x, ctx: ctx, answer: make(chan Reply, 1), notices: make(chan wire.Message, maxNotices)}
	l.mu.Lock()
	if l.err != nil {
		l.mu.Unlock()
		return Reply{}, l.gone()
	}
	l.waiting[x.ID] = w
	l.posting.Add(1) // before the stream ends, so that close waits for it
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		l.remove(w, err)
		l.mu.Unlock()
	}()

	// The reply can arrive before the response to the POST. The POST then
	// continues, because cancelling it would close a connection that another
	// request may be about to use.
	postCtx, cancel := l.postContext(ctx)
	stop := context.AfterFunc(ctx, cancel)
	defer stop()
	posted := make(chan error, 1)
	l.Tasks.Go("HTTP+SSE POST", func() {
		defer l.posting.Done()
		defer cancel()
		posted <- l.Tasks.Try("HTTP+SSE POST", func() error { return l.post(postCtx, x.Header, x.Body) })
	})
	for {
		select {
		case m := <-w.notices:
			x.pass(m)
		case r := <-w.answer:
			for len(w.notices) > 0 {
				x.pass(<-w.notices)
			}
			return l.received(ctx, w, r)
		case err := <-posted:
			if err != nil {
				return l.notPosted(ctx, w, err)
			}
			posted = nil
		case <-l.Done:
			return l.lost(ctx, w, posted)
		case <-ctx.Done():
			return Reply{}, ctx.Err()
		}
	}
}

// notPosted ends a call whose POST failed. If a reply has arrived nevertheless,
// it is returned.
func (l *LegacySSE) notPosted(ctx context.Context, w *waiter, err error) (Reply, error) {
	select {
	case r := <-w.answer:
		return l.received(ctx, w, r)
	default:
		return Reply{}, ContextErrOr(ctx, err)
	}
}

// received returns a reply that arrived on the stream. It does not wait for
// memory, because the reply is already in memory.
func (l *LegacySSE) received(ctx context.Context, w *waiter, r Reply) (Reply, error) {
	if err := w.x.reserveNow(ctx, len(r.Result)+len(r.RPCError)); err != nil {
		return Reply{}, err
	}
	return r, nil
}

// postContext returns the context of a POST. It has the deadline of ctx but is
// not cancelled with it.
func (l *LegacySSE) postContext(ctx context.Context) (context.Context, context.CancelFunc) {
	if deadline, ok := ctx.Deadline(); ok {
		return context.WithDeadline(l.posts, deadline)
	}
	return context.WithTimeout(l.posts, MaxConnectTime)
}

// lost ends a call whose stream ended first. If the upstream rejected the POST,
// the error is a *Refusal, so that the request can be retried on a new stream.
func (l *LegacySSE) lost(ctx context.Context, w *waiter, posted <-chan error) (Reply, error) {
	select {
	case r := <-w.answer:
		return l.received(ctx, w, r)
	default:
	}
	if posted != nil {
		timer := time.NewTimer(MaxReplyTime)
		defer timer.Stop()
		var away *Refusal
		select {
		case err := <-posted:
			if errors.As(err, &away) {
				return Reply{}, away
			}
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	return Reply{}, ContextErrOr(ctx, l.err)
}

// pass passes a notification to the caller.
func (x *Exchange) pass(m wire.Message) {
	if x.Notify != nil {
		x.Notify(m.Method, m.Params)
	}
}

// gone returns the error for a stream that ended before the request was sent.
func (l *LegacySSE) gone() error {
	return &Refusal{status: http.StatusNotFound, fault: fault.From(l.err)}
}

package upstream

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
)

// legacySSE is the HTTP+SSE transport (MCP 2024-11-05): one GET stream brings
// everything the upstream sends, and requests are POSTed to the endpoint that
// its first event names. All calls of a session share the stream.
type legacySSE struct {
	poster  // to the endpoint
	cancel  context.CancelFunc
	done    chan struct{} // closed when the stream has ended
	replies chan struct{} // one element for each reply that is being sent

	heard func(method string, params []byte)
	stray func(method string, params []byte) // receives what carries no progress token

	posts    context.Context // ends with close, which waits for all POSTs
	endPosts context.CancelFunc
	posting  sync.WaitGroup

	inFlight
	err error // why the stream ended; guarded by the mutex
}

// openLegacySSE opens the stream and waits for its endpoint. The stream lives
// until close or the end of life; ctx bounds the opening only. heard takes the
// notifications that belong to no call; calls says whose they can be.
func openLegacySSE(ctx, life context.Context, p poster, header http.Header, calls audience, heard, stray func(string, []byte)) (*legacySSE, error) {
	streamCtx, cancel := context.WithCancel(life)
	stop := context.AfterFunc(ctx, cancel)
	header = maps.Clone(header)
	delete(header, "Content-Type")
	header["Accept"] = []string{typeEvents}
	resp, err := p.do(p.request(streamCtx, http.MethodGet, header, nil))
	if err != nil {
		stop()
		cancel()
		return nil, endedOr(ctx, err)
	}
	events := newEventReader(resp.Body, maxAnswerBytes)
	endpoint, err := p.endpoint(resp, events)
	if !stop() || err != nil {
		_ = resp.Body.Close()
		cancel()
		return nil, endedOr(ctx, err)
	}
	posts, endPosts := context.WithCancel(life)
	l := &legacySSE{
		posts: posts, endPosts: endPosts,
		poster: poster{http: p.http, tasks: p.tasks, place: p.place, url: endpoint, refused: p.refused, filter: p.filter, instance: p.instance},
		cancel: cancel, done: make(chan struct{}), replies: make(chan struct{}, maxReplies), inFlight: newInFlight(calls),
		heard: heard, stray: stray,
	}
	l.tasks.Go("HTTP+SSE stream", func() { l.readStream(streamCtx, resp.Body, events, header) })
	return l, nil
}

// endpoint returns the URL that the first event of the stream names. It must
// have the origin of the stream, or the credentials would go elsewhere.
func (p *poster) endpoint(resp *http.Response, events *eventReader) (*url.URL, error) {
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBytes))
		return nil, p.refusal(resp, p.filter.json(body))
	}
	if t := mediaType(resp); t != typeEvents {
		return nil, p.place.invalid("answered with content type %q instead of an event stream: check its URL", Excerpt([]byte(t)))
	}
	if err := p.checkEncoding(resp); err != nil {
		return nil, err
	}
	for {
		e, err := events.next()
		if err != nil {
			return nil, p.place.streamBroken(err)
		}
		if e.name != "endpoint" {
			continue
		}
		u, err := p.url.Parse(string(bytes.TrimSpace(e.data)))
		if err != nil || u.Scheme != p.url.Scheme || u.Host != p.url.Host || u.User != nil {
			f := p.place.invalid("names an endpoint with another origin than its own")
			f.Detail += ", endpoint " + Excerpt([]byte(p.filter.text(string(e.data))))
			return nil, f
		}
		u.Fragment = ""
		return u, nil
	}
}

func (p place) streamBroken(err error) *fault.Fault {
	switch {
	case errors.Is(err, errEventTooLarge):
		return p.invalid("sent an event of more than %d MiB", maxAnswerBytes>>20)
	case errors.Is(err, io.EOF):
		return p.unavailable("ended its event stream")
	}
	why, detail := reason(err)
	f := p.unavailable("broke its event stream: %s", why)
	if detail != "" {
		f.Detail += ": " + detail
	}
	return f.Because(&lostConnection{err: err})
}

func (l *legacySSE) closed() bool {
	select {
	case <-l.done:
		return true
	default:
		return l.strayed()
	}
}

func (l *legacySSE) holdsSession() bool { return true }

func (l *legacySSE) notify(ctx context.Context, header http.Header, body []byte) error {
	return l.post(ctx, header, body)
}

func (l *legacySSE) close(context.Context, http.Header) {
	l.cancel()
	<-l.done
	l.endPosts()
	l.posting.Wait()
}

// readStream hands on what the upstream sends until the stream ends.
func (l *legacySSE) readStream(ctx context.Context, body io.ReadCloser, events *eventReader, header http.Header) {
	err := l.tasks.Try("HTTP+SSE stream", func() error { return l.receiveAll(ctx, events, header) })
	l.cancel()
	_ = body.Close()
	l.mu.Lock()
	l.err = err
	l.mu.Unlock()
	close(l.done)
}

func (l *legacySSE) receiveAll(ctx context.Context, events *eventReader, header http.Header) error {
	for {
		e, err := events.next()
		if err != nil {
			return l.place.streamBroken(err)
		}
		if e.name != "message" || len(e.data) == 0 {
			continue
		}
		e.data = l.filter.json(e.data)
		batch := [][]byte{e.data}
		if rawjson.Kind(e.data) == '[' {
			if batch, err = rawjson.Elements(e.data, rawjson.Lenient); err != nil {
				return l.place.invalid("sent something that is not JSON: %s", Excerpt(e.data)).Because(err)
			}
		}
		for _, raw := range batch {
			m, err := l.place.message(raw)
			if err != nil {
				return err
			}
			switch {
			case m.method == "":
				l.answered(&m)
			case m.isRequest():
				l.requested(ctx, header, &m)
			default:
				l.notified(m)
			}
		}
	}
}

// answered wakes the call that waits for this answer. An answer that nobody
// waits for any more belongs to a call that was cancelled.
func (l *legacySSE) answered(m *message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	id, err := strconv.ParseInt(string(m.id), 10, 64)
	if w := l.waiting[id]; err == nil && w != nil {
		delete(l.waiting, id)
		w.answer <- reply{result: m.result, rpcError: m.rpcError}
	}
}

// notified hands a progress notification to the call whose token it carries.
// Others go to the client that they can only belong to.
func (l *legacySSE) notified(m message) {
	l.heard(m.method, m.params)
	if m.method == progressNotification {
		l.progress(m)
		return
	}
	l.stray(m.method, m.params)
}

// requested answers a request of the upstream.
func (l *legacySSE) requested(ctx context.Context, header http.Header, m *message) {
	select {
	case l.replies <- struct{}{}:
	default:
		return // it floods us; the stream must go on for the others
	}
	by := l.responder(responder{ctx: ctx, header: header})
	header = maps.Clone(by.header)
	header["Content-Type"] = []string{typeJSON}
	l.posting.Go(l.tasks.Func("reply to an upstream", func() {
		defer func() { <-l.replies }()
		l.answerServer(by.ctx, header, m, by.serve)
	}))
}

func (l *legacySSE) call(ctx context.Context, x *exchange) (r reply, err error) {
	w := &waiter{x: x, ctx: ctx, answer: make(chan reply, 1), notices: make(chan message, maxNotices)}
	l.mu.Lock()
	if l.err != nil {
		l.mu.Unlock()
		return reply{}, l.gone()
	}
	l.waiting[x.id] = w
	l.posting.Add(1) // before the stream ends, so that close waits for it
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		l.remove(w, err)
		l.mu.Unlock()
	}()

	// The answer may come before the POST is answered. The POST then goes on,
	// because cancelling it would close a connection that another request may
	// be about to use.
	postCtx, cancel := l.postContext(ctx)
	stop := context.AfterFunc(ctx, cancel)
	defer stop()
	posted := make(chan error, 1)
	l.tasks.Go("HTTP+SSE POST", func() {
		defer l.posting.Done()
		defer cancel()
		posted <- l.tasks.Try("HTTP+SSE POST", func() error { return l.post(postCtx, x.header, x.body) })
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
		case <-l.done:
			return l.lost(ctx, w, posted)
		case <-ctx.Done():
			return reply{}, ctx.Err()
		}
	}
}

// notPosted ends a call whose POST failed. An answer that came all the same is
// better than none.
func (l *legacySSE) notPosted(ctx context.Context, w *waiter, err error) (reply, error) {
	select {
	case r := <-w.answer:
		return l.received(ctx, w, r)
	default:
		return reply{}, endedOr(ctx, err)
	}
}

// received returns an answer that came on the stream. Calls do not wait for its
// memory, because it has been read.
func (l *legacySSE) received(ctx context.Context, w *waiter, r reply) (reply, error) {
	if err := w.x.reserveNow(ctx, len(r.result)+len(r.rpcError)); err != nil {
		return reply{}, err
	}
	return r, nil
}

// postContext returns the context of a POST, which ends at the deadline of ctx
// but not with it.
func (l *legacySSE) postContext(ctx context.Context) (context.Context, context.CancelFunc) {
	if deadline, ok := ctx.Deadline(); ok {
		return context.WithDeadline(l.posts, deadline)
	}
	return context.WithTimeout(l.posts, maxConnectTime)
}

// lost ends a call whose stream ended first. Where the upstream turned the
// request away, it may be repeated on a new stream.
func (l *legacySSE) lost(ctx context.Context, w *waiter, posted <-chan error) (reply, error) {
	select {
	case r := <-w.answer:
		return l.received(ctx, w, r)
	default:
	}
	if posted != nil {
		timer := time.NewTimer(maxReplyTime)
		defer timer.Stop()
		var away *refusal
		select {
		case err := <-posted:
			if errors.As(err, &away) {
				return reply{}, away
			}
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	return reply{}, endedOr(ctx, l.err)
}

// pass hands a notification to the caller.
func (x *exchange) pass(m message) {
	if x.notify != nil {
		x.notify(m.method, m.params)
	}
}

// gone is the refusal of a stream that had ended before the request was sent.
func (l *legacySSE) gone() error {
	return &refusal{status: http.StatusNotFound, fault: fault.From(l.err)}
}

package transport

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"time"

	"mcpgateway/services/egress"
	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/wire"
)

// Streamable is the Streamable HTTP transport (MCP 2025-03-26 and later). Every
// request is a POST whose response is JSON or an event stream. The session, if
// any, is a header of every request.
type Streamable struct {
	Poster
	Session bool          // the upstream assigned a session ID, so Close sends DELETE
	Asks    *serverStream // nil if no client could reply to the upstream
}

// Closed implements Transport.
func (s *Streamable) Closed() bool { return s.Asks != nil && s.Asks.hasAbandoned() }

// HoldsSession implements Transport.
func (s *Streamable) HoldsSession() bool { return s.Session }

// Notify implements Transport.
func (s *Streamable) Notify(ctx context.Context, header http.Header, body []byte) error {
	return s.post(ctx, header, body)
}

// Close ends the session with DELETE (MCP 2025-03-26, "Session management").
func (s *Streamable) Close(ctx context.Context, header http.Header) {
	if s.Asks != nil {
		s.Asks.close()
	}
	if !s.Session {
		return
	}
	// Upstreams may respond with 405. Such a session expires on its own.
	if resp, err := s.do(s.request(ctx, http.MethodDelete, header, nil)); err == nil {
		_ = resp.Body.Close()
	}
}

// Call implements Transport.
func (s *Streamable) Call(ctx context.Context, x *Exchange) (r Reply, err error) {
	if s.Asks != nil && s.Asks.concerns(x) {
		leave := s.Asks.join(ctx, x)
		defer func() { leave(err) }()
	}
	r, _, err = s.RoundTrip(ctx, x)
	return r, err
}

// RoundTrip sends a request and returns its reply and the HTTP response header.
func (s *Streamable) RoundTrip(ctx context.Context, x *Exchange) (Reply, http.Header, error) {
	resp, err := s.do(s.request(ctx, http.MethodPost, x.Header, x.Body))
	if err != nil {
		return Reply{}, nil, ContextErrOr(ctx, err)
	}
	r, open, err := s.readReply(ctx, x, resp)
	if open {
		egress.CloseAfterRest(s.Tasks, resp.Body)
	} else {
		_ = resp.Body.Close()
	}
	return r, resp.Header, ContextErrOr(ctx, err)
}

// ContextErrOr returns ctx.Err() if ctx is done, otherwise err. A cancelled request
// fails in different ways, so ctx.Err() replaces them. An error from waiting
// for memory is returned unchanged, because the upstream did not cause it.
func ContextErrOr(ctx context.Context, err error) error {
	if err == nil || fault.Is(err, fault.CodeUnavailable) {
		return err
	}
	if ctxErr := ctx.Err(); ctxErr != nil {
		return ctxErr
	}
	return err
}

// readReply reads the reply to x. If open is true, the reply arrived on a stream
// that has not ended.
func (s *Streamable) readReply(ctx context.Context, x *Exchange, resp *http.Response) (r Reply, open bool, err error) {
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		r, err = s.readErrorResponse(resp, x.ID, x.Stateless)
		return r, false, err
	}
	switch t := mediaType(resp); {
	case t == wire.TypeJSON:
		body, err := s.readBody(ctx, x, resp)
		if err != nil {
			return Reply{}, false, err
		}
		r, err := s.only(ctx, x, body)
		return r, false, err
	case t == wire.TypeEvents:
		if err := s.checkEncoding(resp); err != nil {
			return Reply{}, false, err
		}
		return s.follow(ctx, x, resp.Body)
	case resp.StatusCode == http.StatusAccepted || resp.StatusCode == http.StatusNoContent:
		return Reply{}, false, s.Place.Invalid("accepted the request without a response (HTTP %d).", resp.StatusCode)
	case t == "":
		return Reply{}, false, s.Place.Invalid("responded without a content type.")
	default:
		return Reply{}, false, s.Place.Invalid("responded with content type %s instead of JSON or an event stream. Check its URL.", wire.Excerpt([]byte(t)))
	}
}

// only returns the reply to x, which a JSON body must contain.
func (s *Streamable) only(ctx context.Context, x *Exchange, body []byte) (Reply, error) {
	r, ok, err := s.receive(ctx, x, body, nil)
	if err == nil && !ok {
		err = s.Place.Invalid("sent JSON without a response to the request.")
	}
	return r, err
}

// follow reads an event stream until the reply. In a session, a stream that
// ends early is resumed with GET if its events had IDs (MCP 2025-11-25,
// "Resumability and redelivery").
func (s *Streamable) follow(ctx context.Context, x *Exchange, body io.Reader) (r Reply, open bool, err error) {
	replies := make(chan struct{}, maxReplies)
	events := s.readReplyEvents(ctx, x, body)
	r, err = s.read(ctx, x, events, replies)
	if err == nil {
		return r, true, nil
	}
	if errors.Is(err, errStreamEnded) && x.Released != nil && (events.LastID != "" || events.Retry > 0) {
		x.Released()
	}
	failures, lastID, retry := 0, "", defaultRetryTime
	for errors.Is(err, errStreamEnded) {
		if ctx.Err() != nil {
			return Reply{}, false, ctx.Err()
		}
		if events != nil { // the stream was open, so the upstream works
			failures = 0
			if events.LastID != "" {
				lastID = events.LastID
			}
			if events.Retry > 0 {
				retry = events.Retry
			}
		}
		if x.Stateless || lastID == "" || failures == maxResumeFailures {
			return Reply{}, false, s.Place.Unavailable("ended its response before the result.").Because(&connectionError{err: err})
		}
		failures++
		select {
		case <-time.After(retry):
		case <-ctx.Done():
			return Reply{}, false, ctx.Err()
		}
		r, events, err = s.resume(ctx, x, lastID, replies)
	}
	return r, false, err
}

// resume reopens a broken stream after the event lastID and reads it until the
// reply.
func (s *Streamable) resume(ctx context.Context, x *Exchange, lastID string, replies chan struct{}) (Reply, *wire.EventReader, error) {
	header := maps.Clone(x.Header)
	delete(header, "Content-Type")
	header["Accept"] = []string{wire.TypeEvents}
	header[wire.HeaderLastID] = []string{lastID}
	resp, err := s.do(s.request(ctx, http.MethodGet, header, nil))
	if err != nil {
		return Reply{}, nil, errors.Join(errStreamEnded, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 500 {
		return Reply{}, nil, errStreamEnded
	}
	if resp.StatusCode != http.StatusOK || mediaType(resp) != wire.TypeEvents {
		return Reply{}, nil, s.Place.Unavailable("ended its response early and did not resume it (HTTP %d).", resp.StatusCode)
	}
	if err := s.checkEncoding(resp); err != nil {
		return Reply{}, nil, err
	}
	events := s.readReplyEvents(ctx, x, resp.Body)
	r, err := s.read(ctx, x, events, replies)
	return r, events, err
}

// readReplyEvents returns a reader of the stream that contains the reply to x.
func (s *Streamable) readReplyEvents(ctx context.Context, x *Exchange, body io.Reader) *wire.EventReader {
	events := wire.NewEventReader(body, maxAnswerBytes)
	events.Reserve = func() (int64, error) { return x.reserve(ctx, -1) }
	return events
}

// errStreamEnded means that a stream broke or ended before the reply.
var errStreamEnded = errors.New("stream ended before the response")

// read reads events until the reply.
func (s *Streamable) read(ctx context.Context, x *Exchange, events *wire.EventReader, replies chan struct{}) (Reply, error) {
	for {
		e, err := events.Next()
		switch {
		case events.Refused != nil:
			return Reply{}, events.Refused
		case errors.Is(err, wire.ErrEventTooLarge):
			return Reply{}, s.tooLarge(int64(events.Limit))
		case err != nil:
			return Reply{}, errors.Join(errStreamEnded, err)
		}
		if s.EndEvent != "" && e.Name == s.EndEvent {
			return Reply{}, s.ended(e.Data)
		}
		if len(e.Data) == 0 || e.Name != "message" {
			continue
		}
		if r, ok, err := s.receive(ctx, x, e.Data, replies); ok || err != nil {
			return r, err
		}
	}
}

// ended returns the error for the event of a program that has ended.
func (s *Streamable) ended(data []byte) error {
	e := &upstream.Ended{Text: "it ended"}
	if m, err := wire.ParseMessage(data); err == nil {
		if o, err := rawjson.ParseObject(m.RPCError, rawjson.Lenient); err == nil {
			e.Text, _ = o.String("message")
		}
	}
	return s.broken(e)
}

// receive processes a JSON value from the upstream: a message, or a batch of
// messages (MCP 2025-03-26). ok reports whether it contained the reply. If
// replies is nil, requests of the upstream are ignored.
func (s *Streamable) receive(ctx context.Context, x *Exchange, data []byte, replies chan struct{}) (r Reply, ok bool, err error) {
	data = s.Filter.json(data)
	if rawjson.Kind(data) != '[' || x.Stateless {
		return s.receiveMessage(ctx, x, data, replies)
	}
	batch, err := rawjson.Elements(data, rawjson.Lenient)
	if err != nil {
		return Reply{}, false, s.Place.Invalid("sent invalid JSON: %s", wire.Excerpt(data)).Because(err)
	}
	for _, raw := range batch {
		if r, ok, err = s.receiveMessage(ctx, x, raw, replies); ok || err != nil {
			break
		}
	}
	return r, ok, err
}

func (s *Streamable) receiveMessage(ctx context.Context, x *Exchange, data []byte, replies chan struct{}) (r Reply, ok bool, err error) {
	m, err := s.Place.message(data)
	if err != nil {
		return Reply{}, false, err
	}
	if m.Method == "" {
		noID := m.ID == nil || rawjson.Kind(m.ID) == 'n'
		if !m.IsResponseTo(x.ID) && (!noID || m.RPCError == nil) {
			return Reply{}, false, s.Place.Invalid("responded to a different request (id %s).", wire.Excerpt(m.ID))
		}
		return Reply{Result: m.Result, RPCError: m.RPCError}, true, nil
	}
	switch {
	case !m.IsRequest():
		if x.Heard != nil {
			x.Heard(m.Method, m.Params)
		}
		if x.Notify != nil {
			x.Notify(m.Method, m.Params)
		}
	case x.Stateless:
		return Reply{}, false, s.Place.Invalid("sent the request %s, which revision %s forbids.", wire.Excerpt([]byte(m.Method)), wire.Revision20260728)
	case replies != nil:
		by := responder{ctx: ctx, header: x.Header, serve: x.Serve}
		if x.shared != nil {
			by = x.shared.responder(by)
		}
		select {
		case replies <- struct{}{}:
		case <-ctx.Done():
			return Reply{}, false, ctx.Err()
		}
		header, asked := maps.Clone(by.header), m
		s.Tasks.Go("upstream reply", func() {
			defer func() { <-replies }()
			s.replyToServer(by.ctx, header, &asked, by.serve)
		})
	}
	return Reply{}, false, nil
}

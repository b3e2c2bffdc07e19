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
	"mcpgateway/services/upstream/wire"
)

// Streamable is the Streamable HTTP transport (MCP 2025-03-26 and later):
// every request is a POST that is answered with JSON or with a stream of
// events. A session, where there is one, is a header of every request.
type Streamable struct {
	Poster
	Session bool       // the upstream gave a session id, which is to be ended
	Asks    *askStream // nil if no client could reply to the upstream
}

// Closed implements Transport.
func (s *Streamable) Closed() bool { return s.Asks != nil && s.Asks.strayed() }

// HoldsSession implements Transport.
func (s *Streamable) HoldsSession() bool { return s.Session }

// Notify implements Transport.
func (s *Streamable) Notify(ctx context.Context, header http.Header, body []byte) error {
	return s.post(ctx, header, body)
}

// Close ends the session by DELETE (MCP 2025-03-26, "Session management").
func (s *Streamable) Close(ctx context.Context, header http.Header) {
	if s.Asks != nil {
		s.Asks.close()
	}
	if !s.Session {
		return
	}
	// Upstreams may refuse it with 405, and a lost session ends by itself.
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

// RoundTrip sends a request and returns its answer together with the header
// of the HTTP answer.
func (s *Streamable) RoundTrip(ctx context.Context, x *Exchange) (Reply, http.Header, error) {
	resp, err := s.do(s.request(ctx, http.MethodPost, x.Header, x.Body))
	if err != nil {
		return Reply{}, nil, EndedOr(ctx, err)
	}
	r, open, err := s.answer(ctx, x, resp)
	if open {
		egress.CloseAfterRest(s.Tasks, resp.Body)
	} else {
		_ = resp.Body.Close()
	}
	return r, resp.Header, EndedOr(ctx, err)
}

// EndedOr returns the error of a context that has ended, otherwise err. An
// exchange that was cut off by its context fails in many ways. That it waited
// for memory until then is not the upstream's fault and stays the error.
func EndedOr(ctx context.Context, err error) error {
	if err == nil || fault.Is(err, fault.CodeUnavailable) {
		return err
	}
	if ctxErr := ctx.Err(); ctxErr != nil {
		return ctxErr
	}
	return err
}

// answer reads the answer to x. With open, the answer came on a stream, which
// has yet to end.
func (s *Streamable) answer(ctx context.Context, x *Exchange, resp *http.Response) (r Reply, open bool, err error) {
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		r, err = s.turnedAway(resp, x.ID, x.Stateless)
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
		return Reply{}, false, s.Place.Invalid("accepted a request without answering it (HTTP %d)", resp.StatusCode)
	case t == "":
		return Reply{}, false, s.Place.Invalid("answered without a content type")
	default:
		return Reply{}, false, s.Place.Invalid("answered with content type %s instead of JSON or events: check its URL", wire.Excerpt([]byte(t)))
	}
}

// only returns the answer to x that a JSON body has to hold.
func (s *Streamable) only(ctx context.Context, x *Exchange, body []byte) (Reply, error) {
	r, ok, err := s.receive(ctx, x, body, nil)
	if err == nil && !ok {
		err = s.Place.Invalid("sent JSON that does not hold the answer to our request")
	}
	return r, err
}

// follow reads an event stream up to the answer. A stream of a handshake era
// that breaks before is taken up again by GET where its events had ids (MCP
// 2025-11-25, "Resumability and redelivery").
func (s *Streamable) follow(ctx context.Context, x *Exchange, body io.Reader) (r Reply, open bool, err error) {
	replies := make(chan struct{}, maxReplies)
	events := s.answerEvents(ctx, x, body)
	r, err = s.read(ctx, x, events, replies)
	if err == nil {
		return r, true, nil
	}
	failures, lastID, retry := 0, "", defaultRetryTime
	for errors.Is(err, errStreamEnded) {
		if ctx.Err() != nil {
			return Reply{}, false, ctx.Err()
		}
		if events != nil { // it was open, so the upstream is well
			failures = 0
			if events.LastID != "" {
				lastID = events.LastID
			}
			if events.Retry > 0 {
				retry = events.Retry
			}
		}
		if x.Stateless || lastID == "" || failures == maxResumeFailures {
			return Reply{}, false, s.Place.Unavailable("ended its answer before the result came").Because(&lostConnection{err: err})
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

// resume opens a broken stream again behind the event lastID and reads it up
// to the answer.
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
		return Reply{}, nil, s.Place.Unavailable("ended its answer early and did not let us resume it (HTTP %d)", resp.StatusCode)
	}
	if err := s.checkEncoding(resp); err != nil {
		return Reply{}, nil, err
	}
	events := s.answerEvents(ctx, x, resp.Body)
	r, err := s.read(ctx, x, events, replies)
	return r, events, err
}

// answerEvents reads the stream that holds the answer to x.
func (s *Streamable) answerEvents(ctx context.Context, x *Exchange, body io.Reader) *wire.EventReader {
	events := wire.NewEventReader(body, maxAnswerBytes)
	events.Reserve = func() (int64, error) { return x.reserve(ctx, -1) }
	return events
}

// errStreamEnded says that a stream broke or ended before the answer.
var errStreamEnded = errors.New("the stream ended before the answer")

// read reads events up to the answer.
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
		if len(e.Data) == 0 || e.Name != "message" {
			continue
		}
		if r, ok, err := s.receive(ctx, x, e.Data, replies); ok || err != nil {
			return r, err
		}
	}
}

// receive takes a JSON value that the upstream sent: a message, or a batch of
// them (MCP 2025-03-26). With ok, it held the answer. A nil replies says that
// the upstream cannot send requests here.
func (s *Streamable) receive(ctx context.Context, x *Exchange, data []byte, replies chan struct{}) (r Reply, ok bool, err error) {
	data = s.Filter.json(data)
	if rawjson.Kind(data) != '[' || x.Stateless {
		return s.receiveMessage(ctx, x, data, replies)
	}
	batch, err := rawjson.Elements(data, rawjson.Lenient)
	if err != nil {
		return Reply{}, false, s.Place.Invalid("sent something that is not JSON: %s", wire.Excerpt(data)).Because(err)
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
		if !m.Answers(x.ID) && (!noID || m.RPCError == nil) {
			return Reply{}, false, s.Place.Invalid("answered another request than ours (id %s)", wire.Excerpt(m.ID))
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
		return Reply{}, false, s.Place.Invalid("sent the request %s of its own, which revision %s forbids", wire.Excerpt([]byte(m.Method)), wire.Revision20260728)
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
		s.Tasks.Go("reply to an upstream", func() {
			defer func() { <-replies }()
			s.answerServer(by.ctx, header, &asked, by.serve)
		})
	}
	return Reply{}, false, nil
}

package upstream

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
)

// streamable is the Streamable HTTP transport (MCP 2025-03-26 and later):
// every request is a POST that is answered with JSON or with a stream of
// events. A session, where there is one, is a header of every request.
type streamable struct {
	poster
	session bool       // the upstream gave a session id, which is to be ended
	asks    *askStream // nil if no client could reply to the upstream
}

func (s *streamable) closed() bool { return s.asks != nil && s.asks.strayed() }

func (s *streamable) holdsSession() bool { return s.session }

func (s *streamable) notify(ctx context.Context, header http.Header, body []byte) error {
	return s.post(ctx, header, body)
}

// close ends the session by DELETE (MCP 2025-03-26, "Session management").
func (s *streamable) close(ctx context.Context, header http.Header) {
	if s.asks != nil {
		s.asks.close()
	}
	if !s.session {
		return
	}
	// Upstreams may refuse it with 405, and a lost session ends by itself.
	if resp, err := s.do(s.request(ctx, http.MethodDelete, header, nil)); err == nil {
		_ = resp.Body.Close()
	}
}

func (s *streamable) call(ctx context.Context, x *exchange) (r reply, err error) {
	if s.asks != nil && s.asks.concerns(x) {
		leave := s.asks.join(ctx, x)
		defer func() { leave(err) }()
	}
	r, _, err = s.roundTrip(ctx, x)
	return r, err
}

// roundTrip sends a request and returns its answer together with the header
// of the HTTP answer.
func (s *streamable) roundTrip(ctx context.Context, x *exchange) (reply, http.Header, error) {
	resp, err := s.do(s.request(ctx, http.MethodPost, x.header, x.body))
	if err != nil {
		return reply{}, nil, endedOr(ctx, err)
	}
	r, open, err := s.answer(ctx, x, resp)
	if open {
		egress.CloseAfterRest(s.tasks, resp.Body)
	} else {
		_ = resp.Body.Close()
	}
	return r, resp.Header, endedOr(ctx, err)
}

// endedOr returns the error of a context that has ended, otherwise err. An
// exchange that was cut off by its context fails in many ways. That it waited
// for memory until then is not the upstream's fault and stays the error.
func endedOr(ctx context.Context, err error) error {
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
func (s *streamable) answer(ctx context.Context, x *exchange, resp *http.Response) (r reply, open bool, err error) {
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		r, err = s.turnedAway(resp, x.id, x.stateless)
		return r, false, err
	}
	switch t := mediaType(resp); {
	case t == typeJSON:
		body, err := s.readBody(ctx, x, resp)
		if err != nil {
			return reply{}, false, err
		}
		r, err := s.only(ctx, x, body)
		return r, false, err
	case t == typeEvents:
		if err := s.checkEncoding(resp); err != nil {
			return reply{}, false, err
		}
		return s.follow(ctx, x, resp.Body)
	case resp.StatusCode == http.StatusAccepted || resp.StatusCode == http.StatusNoContent:
		return reply{}, false, s.place.invalid("accepted a request without answering it (HTTP %d)", resp.StatusCode)
	case t == "":
		return reply{}, false, s.place.invalid("answered without a content type")
	default:
		return reply{}, false, s.place.invalid("answered with content type %s instead of JSON or events: check its URL", Excerpt([]byte(t)))
	}
}

// only returns the answer to x that a JSON body has to hold.
func (s *streamable) only(ctx context.Context, x *exchange, body []byte) (reply, error) {
	r, ok, err := s.receive(ctx, x, body, nil)
	if err == nil && !ok {
		err = s.place.invalid("sent JSON that does not hold the answer to our request")
	}
	return r, err
}

// follow reads an event stream up to the answer. A stream of a handshake era
// that breaks before is taken up again by GET where its events had ids (MCP
// 2025-11-25, "Resumability and redelivery").
func (s *streamable) follow(ctx context.Context, x *exchange, body io.Reader) (r reply, open bool, err error) {
	replies := make(chan struct{}, maxReplies)
	events := s.answerEvents(ctx, x, body)
	r, err = s.read(ctx, x, events, replies)
	if err == nil {
		return r, true, nil
	}
	failures, lastID, retry := 0, "", defaultRetryTime
	for errors.Is(err, errStreamEnded) {
		if ctx.Err() != nil {
			return reply{}, false, ctx.Err()
		}
		if events != nil { // it was open, so the upstream is well
			failures = 0
			if events.lastID != "" {
				lastID = events.lastID
			}
			if events.retry > 0 {
				retry = events.retry
			}
		}
		if x.stateless || lastID == "" || failures == maxResumeFailures {
			return reply{}, false, s.place.unavailable("ended its answer before the result came").Because(&lostConnection{err: err})
		}
		failures++
		select {
		case <-time.After(retry):
		case <-ctx.Done():
			return reply{}, false, ctx.Err()
		}
		r, events, err = s.resume(ctx, x, lastID, replies)
	}
	return r, false, err
}

// resume opens a broken stream again behind the event lastID and reads it up
// to the answer.
func (s *streamable) resume(ctx context.Context, x *exchange, lastID string, replies chan struct{}) (reply, *eventReader, error) {
	header := maps.Clone(x.header)
	delete(header, "Content-Type")
	header["Accept"] = []string{typeEvents}
	header[headerLastID] = []string{lastID}
	resp, err := s.do(s.request(ctx, http.MethodGet, header, nil))
	if err != nil {
		return reply{}, nil, errors.Join(errStreamEnded, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 500 {
		return reply{}, nil, errStreamEnded
	}
	if resp.StatusCode != http.StatusOK || mediaType(resp) != typeEvents {
		return reply{}, nil, s.place.unavailable("ended its answer early and did not let us resume it (HTTP %d)", resp.StatusCode)
	}
	if err := s.checkEncoding(resp); err != nil {
		return reply{}, nil, err
	}
	events := s.answerEvents(ctx, x, resp.Body)
	r, err := s.read(ctx, x, events, replies)
	return r, events, err
}

// answerEvents reads the stream that holds the answer to x.
func (s *streamable) answerEvents(ctx context.Context, x *exchange, body io.Reader) *eventReader {
	events := newEventReader(body, maxAnswerBytes)
	events.reserve = func() (int64, error) { return x.reserve(ctx, -1) }
	return events
}

// errStreamEnded says that a stream broke or ended before the answer.
var errStreamEnded = errors.New("the stream ended before the answer")

// read reads events up to the answer.
func (s *streamable) read(ctx context.Context, x *exchange, events *eventReader, replies chan struct{}) (reply, error) {
	for {
		e, err := events.next()
		switch {
		case events.refused != nil:
			return reply{}, events.refused
		case errors.Is(err, errEventTooLarge):
			return reply{}, s.tooLarge(int64(events.limit))
		case err != nil:
			return reply{}, errors.Join(errStreamEnded, err)
		}
		if len(e.data) == 0 || e.name != "message" {
			continue
		}
		if r, ok, err := s.receive(ctx, x, e.data, replies); ok || err != nil {
			return r, err
		}
	}
}

// receive takes a JSON value that the upstream sent: a message, or a batch of
// them (MCP 2025-03-26). With ok, it held the answer. A nil replies says that
// the upstream cannot send requests here.
func (s *streamable) receive(ctx context.Context, x *exchange, data []byte, replies chan struct{}) (r reply, ok bool, err error) {
	data = s.filter.json(data)
	if rawjson.Kind(data) != '[' || x.stateless {
		return s.receiveMessage(ctx, x, data, replies)
	}
	batch, err := rawjson.Elements(data, rawjson.Lenient)
	if err != nil {
		return reply{}, false, s.place.invalid("sent something that is not JSON: %s", Excerpt(data)).Because(err)
	}
	for _, raw := range batch {
		if r, ok, err = s.receiveMessage(ctx, x, raw, replies); ok || err != nil {
			break
		}
	}
	return r, ok, err
}

func (s *streamable) receiveMessage(ctx context.Context, x *exchange, data []byte, replies chan struct{}) (r reply, ok bool, err error) {
	m, err := s.place.message(data)
	if err != nil {
		return reply{}, false, err
	}
	if m.method == "" {
		noID := m.id == nil || rawjson.Kind(m.id) == 'n'
		if !m.answers(x.id) && (!noID || m.rpcError == nil) {
			return reply{}, false, s.place.invalid("answered another request than ours (id %s)", Excerpt(m.id))
		}
		return reply{result: m.result, rpcError: m.rpcError}, true, nil
	}
	switch {
	case !m.isRequest():
		if x.heard != nil {
			x.heard(m.method, m.params)
		}
		if x.notify != nil {
			x.notify(m.method, m.params)
		}
	case x.stateless:
		return reply{}, false, s.place.invalid("sent the request %s of its own, which revision %s forbids", Excerpt([]byte(m.method)), revision20260728)
	case replies != nil:
		by := responder{ctx: ctx, header: x.header, serve: x.serve}
		if x.shared != nil {
			by = x.shared.responder(by)
		}
		select {
		case replies <- struct{}{}:
		case <-ctx.Done():
			return reply{}, false, ctx.Err()
		}
		header, asked := maps.Clone(by.header), m
		s.tasks.Go("reply to an upstream", func() {
			defer func() { <-replies }()
			s.answerServer(by.ctx, header, &asked, by.serve)
		})
	}
	return reply{}, false, nil
}

package upstream

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"time"
)

// errNoStream says that an upstream answered something else than a stream.
var errNoStream = errors.New("the upstream has no stream")

// streamEnd says how a stream went on which an upstream speaks on its own.
type streamEnd struct {
	opened bool          // the upstream began to answer with a stream
	spoke  bool          // an event came
	lastID string        // of the last event with an id
	retry  time.Duration // what the upstream asked for, or 0
	reply  reply         // to the request that opened it, if that came
	err    error         // why it ended without one
}

// isRefused reports whether the upstream does not offer what was asked for,
// as opposed to having failed.
func (e *streamEnd) isRefused() bool {
	switch {
	case e.opened:
		return false
	case errors.Is(e.err, errNoStream) || e.reply.rpcError != nil:
		return true
	}
	var away *refusal
	if !errors.As(e.err, &away) {
		return false
	}
	return away.isUnknownHere() || away.status == http.StatusNotAcceptable || away.status == http.StatusNotImplemented
}

// listen opens a stream by the request x, or by GET when x has no body, behind
// the event lastID if there is one, and reads it to its end. opened is called
// when the upstream began to answer with a stream.
func (s *streamable) listen(ctx context.Context, x *exchange, lastID string, opened func()) (end streamEnd) {
	method, header := http.MethodPost, x.header
	if x.body == nil {
		method, header = http.MethodGet, maps.Clone(x.header)
		delete(header, "Content-Type")
		header["Accept"] = []string{typeEvents}
		if lastID != "" {
			header[headerLastID] = []string{lastID}
		}
	}
	resp, err := s.do(s.request(ctx, method, header, x.body))
	if err != nil {
		return streamEnd{err: err}
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		end.reply, end.err = s.turnedAway(resp, x.id, x.stateless)
		return end
	case mediaType(resp) != typeEvents && x.body == nil:
		return streamEnd{err: errNoStream}
	case mediaType(resp) != typeEvents:
		end.reply, _, end.err = s.answer(ctx, x, resp)
		return end
	}
	if err := s.checkEncoding(resp); err != nil {
		return streamEnd{err: err}
	}
	end.opened = true
	opened()
	events := newEventReader(resp.Body, maxEventBytes)
	end.reply, end.err = s.read(ctx, x, events, make(chan struct{}, maxReplies))
	end.spoke, end.lastID, end.retry = events.count > 0, events.lastID, events.retry
	return end
}

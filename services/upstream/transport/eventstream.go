package transport

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"time"

	"mcpgateway/services/upstream/wire"
)

// errNoStream means that the upstream's response was not a stream.
var errNoStream = errors.New("upstream has no stream")

// StreamOutcome is the outcome of a stream of notifications.
type StreamOutcome struct {
	opened   bool          // the response was a stream
	sawEvent bool          // an event arrived
	lastID   string        // last event ID
	Retry    time.Duration // delay requested by the upstream, or 0
	Reply    Reply         // to the request that opened it, if any
	Err      error         // why it ended without a reply
}

// IsRefused reports whether the upstream does not support the stream. It
// returns false if a supported stream failed.
func (e *StreamOutcome) IsRefused() bool {
	switch {
	case e.opened:
		return false
	case errors.Is(e.Err, errNoStream) || e.Reply.RPCError != nil:
		return true
	}
	var away *Refusal
	if !errors.As(e.Err, &away) {
		return false
	}
	return away.IsUnknownHere() || away.status == http.StatusNotAcceptable || away.status == http.StatusNotImplemented
}

// Listen opens a stream with the request x, or with GET if x has no body, and
// reads it to its end. If lastID is not empty, the stream resumes after that
// event. Listen calls opened when the response is a stream.
func (s *Streamable) Listen(ctx context.Context, x *Exchange, lastID string, opened func()) (end StreamOutcome) {
	method, header := http.MethodPost, x.Header
	if x.Body == nil {
		method, header = http.MethodGet, maps.Clone(x.Header)
		delete(header, "Content-Type")
		header["Accept"] = []string{wire.TypeEvents}
		if lastID != "" {
			header[wire.HeaderLastID] = []string{lastID}
		}
	}
	resp, err := s.do(s.request(ctx, method, header, x.Body))
	if err != nil {
		return StreamOutcome{Err: err}
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		end.Reply, end.Err = s.readErrorResponse(resp, x.ID, x.Stateless)
		return end
	case mediaType(resp) != wire.TypeEvents && x.Body == nil:
		return StreamOutcome{Err: errNoStream}
	case mediaType(resp) != wire.TypeEvents:
		end.Reply, _, end.Err = s.readReply(ctx, x, resp)
		return end
	}
	if err := s.checkEncoding(resp); err != nil {
		return StreamOutcome{Err: err}
	}
	end.opened = true
	opened()
	events := wire.NewEventReader(resp.Body, maxEventBytes)
	end.Reply, end.Err = s.read(ctx, x, events, make(chan struct{}, maxReplies))
	end.sawEvent, end.lastID, end.Retry = events.Count > 0, events.LastID, events.Retry
	return end
}

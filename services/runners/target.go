package runners

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/runners/wire"
	"mcpgateway/services/upstream"
)

// defaultStart is the maximum time of a start if the runner states none.
const defaultStart = 2 * time.Minute

// Complete configures a target for the row's program: its requests go to the
// runner that has the program. It must only be called for programs.
func (r *Runners) Complete(t *upstream.Target, row models.Server) {
	t.URL = Address(row)
	t.Address, t.Headers, t.Refused, t.Accepted, t.Own = nil, nil, nil, nil, nil
	t.HTTP = wire.HTTPClient(&route{runners: r, row: row})
	t.EndEvent = wire.EventFailure
	t.Connect = func() time.Duration { return r.StartTime(row.ID) }
	t.Starting = func() string { return r.starting(row.ID) }
}

// Address returns the URL of a program at its runner. It is for display and is
// never dialed.
func Address(row models.Server) string { return "http://runner" + path(row.Entry, wire.SegmentMCP) }

// path returns the path of a program at its runner.
func path(entry, segment string) string {
	return wire.PathServer + url.PathEscape(entry) + "/" + segment
}

// maxStart is the largest startTimeout.
const maxStart = 10 * time.Minute

// starting returns "starting, 12 s" while a program starts, else "".
func (r *Runners) starting(serverID string) string {
	p, ok := r.current.Load().servers[serverID]
	if !ok || p.record.State != wire.StateStarting {
		return ""
	}
	return fmt.Sprintf("starting, %d s", int(max(0, r.Now().Sub(p.record.Since)).Seconds()))
}

// route sends the requests of a program on its connection.
type route struct {
	runners *Runners
	row     models.Server
}

// reconnectTime is the time that requests wait for a connection after the last one
// ended: runners connect again at once, unless their computer is gone.
const reconnectTime = 5 * time.Second

// RoundTrip sends a request. If the program's connection has just ended, it waits
// for the next one. Instead of a response in which the runner states that the
// program does not respond, it returns UPSTREAM_UNAVAILABLE with the text of the
// program's state, or *upstream.Ended.
func (t *route) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.send(r)
	if err != nil || resp.Header.Get(wire.HeaderFailure) == "" {
		return resp, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxError))
	if err != nil {
		return nil, err
	}
	if resp.Header.Get(wire.HeaderFailure) == wire.FailureEnded {
		return nil, &upstream.Ended{Text: said(body)}
	}
	return nil, t.unavailable(said(body))
}

// send sends a request on the connection of the program, or on its next one.
func (t *route) send(r *http.Request) (*http.Response, error) {
	var closed *wire.Client
	for {
		p, ok := t.await(r.Context(), closed)
		switch {
		case r.Context().Err() != nil:
			return nil, context.Cause(r.Context())
		case !ok:
			return nil, t.unavailable(t.runners.Record(t.row).text())
		}
		resp, err := p.client.RoundTrip(r)
		if !errors.Is(err, wire.ErrClosed) {
			return resp, err
		}
		closed = p.client // it sent nothing
	}
}

// await returns the program on a connection other than closed. While there is none,
// it waits until ctx ends, or reconnectTime has passed since the last connection
// ended.
func (t *route) await(ctx context.Context, closed *wire.Client) (program, bool) {
	var late <-chan time.Time
	for {
		v := t.runners.current.Load()
		p, ok := v.servers[t.row.ID]
		if ok && p.client != closed {
			return p, true
		}
		if late == nil {
			left, was := v.left[t.row.ID]
			if state, _ := t.runners.without(v, t.row); !ok && (!was || state != wire.StateOffline) {
				return program{}, false
			}
			if ok { // its end is about to be noticed
				left = t.runners.Now()
			}
			late = time.After(reconnectTime - t.runners.Now().Sub(left))
		}
		select {
		case <-v.replaced:
		case <-late:
			return program{}, false
		case <-ctx.Done():
			return program{}, false
		}
	}
}

// maxError is the maximum size of the body of an error.
const maxError = 16 << 10

// unavailable returns the fault of a program that can't respond.
func (t *route) unavailable(text string) error { return upstream.Stopped(t.row.Alias, text) }

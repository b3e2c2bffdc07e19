//go:build linux || darwin

package bridge

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"mcpgateway/services/rawjson"
	"mcpgateway/services/runner/stdio"
	wiring "mcpgateway/services/runners/wire"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/wire"
)

const (
	methodListen      = "subscriptions/listen"
	methodSubscribe   = "resources/subscribe"
	methodUnsubscribe = "resources/unsubscribe"
	methodSetLevel    = "logging/setLevel"

	metaLogLevel = "io.modelcontextprotocol/logLevel"

	// maxOrphanTime is the maximum time of a call whose client has gone without
	// cancelling it.
	maxOrphanTime = time.Minute
	// maxExitTime is the maximum time between the end of a program's output and its
	// exit status.
	maxExitTime = 6 * time.Second
)

// post handles a message of the session other than initialize.
func (s *session) post(w http.ResponseWriter, r *http.Request, m wire.Message) {
	if m.IsRequest() {
		s.call(w, r, m)
		return
	}
	switch m.Method {
	case "":
		s.peer.settle(s, m)
	case notifyInitialized: // Open sent it
	case notifyCancelled:
		s.cancel(m.Params)
	case notifyRoots:
		if s.peer.relaysRoots {
			_ = s.peer.conn.Notify(m.Method, bytes.Clone(m.Params))
		}
	default:
		_ = s.peer.conn.Notify(m.Method, bytes.Clone(m.Params))
	}
	w.WriteHeader(http.StatusAccepted)
}

// cancel cancels the call with the ID in params.
func (s *session) cancel(params []byte) {
	o, err := rawjson.ParseObject(params, rawjson.Lenient)
	if err != nil {
		return
	}
	id := o.Get("requestId")
	s.peer.mu.Lock()
	defer s.peer.mu.Unlock()
	for c := range s.peer.calls {
		if c.session == s && bytes.Equal(c.id, id) {
			c.cancel()
		}
	}
}

// call handles a request of the session.
func (s *session) call(w http.ResponseWriter, r *http.Request, m wire.Message) {
	p := s.peer
	process, err := p.bridge.options.Acquire(r.Context(), p.key(s))
	switch {
	case err != nil && r.Context().Err() != nil:
		return
	case err != nil && !s.isOver():
		refuse(w, m.ID, err.Error())
		return
	case err == nil:
		defer process.Release()
	}
	if err != nil || process != p.process {
		s.remove()
		if err == nil && p.perClient { // it was started for this session
			process.End()
		}
		fail(w, http.StatusNotFound, m.ID, codeUnknownSession, "Session not found.")
		return
	}
	params, undo := s.prepare(m.Method, bytes.Clone(m.Params))
	if params == nil && m.Params != nil { // nothing changes for the program
		writeJSON(w, http.StatusOK, m.ID, []byte("{}"), nil)
		return
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	defer cancel()
	c := &call{id: bytes.Clone(m.ID), session: s, sink: newSink(), cancel: cancel, askable: accepts(r, wire.TypeEvents), logs: true}
	response := p.exchange(ctx, w, r, c, stdio.Request{Method: m.Method, Params: params})
	if response.Result == nil {
		undo()
	}
}

// callStateless handles a request of revision 2026-07-28.
func (b *Bridge) callStateless(w http.ResponseWriter, r *http.Request, m wire.Message) {
	if b.hasHandshake(b.options.Entry().Hash()) {
		refuseRevision(w, m.ID)
		return
	}
	p := b.acquire(w, r, m.ID, keyStateless)
	if p == nil {
		return
	}
	release := sync.OnceFunc(p.process.Release)
	defer release()
	if !p.stateless.Load() {
		refuseRevision(w, m.ID)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	c := &call{id: bytes.Clone(m.ID), sink: newSink(), cancel: cancel, logs: enablesLogs(m.Params)}
	request := stdio.Request{Method: m.Method, Params: withoutRootsInMeta(m.Params)}
	if m.Method == methodListen {
		release() // a subscription does not keep a process
		p.listen(ctx, w, r, c, request)
		return
	}
	p.exchange(ctx, w, r, c, request)
}

// refuseRevision responds that the program has a handshake only.
func refuseRevision(w http.ResponseWriter, id []byte) {
	supported := []byte(`{"code":` + strconv.Itoa(upstream.CodeUnsupportedProtocolVersion) + `,"message":"The program has no revision 2026-07-28.","data":{"supported":["2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"requested":"2026-07-28"}}`)
	writeJSON(w, http.StatusBadRequest, id, nil, supported)
}

// exchange sends a request to the program and its messages to the client. It returns
// the response, or none.
func (p *peer) exchange(ctx context.Context, w http.ResponseWriter, r *http.Request, c *call, request stdio.Request) stdio.Response {
	p.begin(c)
	defer p.finish(c)
	request.Progress = func(params []byte) {
		c.sink.notify(wire.AppendNotification(nil, upstream.Progress, params))
	}
	request.Late = func() { p.settleCanceled(c) }
	return p.run(ctx, w, r, c, request)
}

// listen opens a subscription of revision 2026-07-28.
func (p *peer) listen(ctx context.Context, w http.ResponseWriter, r *http.Request, c *call, request stdio.Request) {
	p.mu.Lock()
	full := len(p.listens) >= wiring.MaxSessions
	p.mu.Unlock()
	if full {
		refuse(w, c.id, strconv.Itoa(wiring.MaxSessions)+" subscriptions are open, the maximum")
		return
	}
	var atProgram int64
	request.Sent = func(id int64) {
		p.mu.Lock()
		defer p.mu.Unlock()
		atProgram = id
		p.listens[id] = c
	}
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.listens, atProgram)
	}()
	p.run(ctx, w, r, c, request)
}

// run sends a request and writes the HTTP response. In revision 2026-07-28 ctx ends
// with the client; otherwise the call continues for maxOrphanTime.
func (p *peer) run(ctx context.Context, w http.ResponseWriter, r *http.Request, c *call, request stdio.Request) stdio.Response {
	out := newOutput(w, r, c.id, p.stateless.Load())
	var response stdio.Response
	err := errors.New("the call failed")
	done := make(chan struct{})
	p.bridge.options.Tasks.Go("call of a program", func() {
		defer close(done)
		response, err = p.conn.Do(ctx, request)
	})
	gone, left := r.Context().Done(), false
	for {
		select {
		case <-c.sink.wake:
			out.send(c.sink.take())
		case <-gone:
			gone, left = nil, true
			p.leave(c)
			orphan := time.AfterFunc(maxOrphanTime, p.bridge.options.Tasks.Func("abandoned call", c.cancel))
			defer orphan.Stop()
		case <-done:
			p.markCanceled(c, err)
			if !left {
				out.send(c.sink.take())
				p.finishResponse(out, response, err)
			}
			return response
		}
	}
}

// leave records that the client of a call has gone: requests of the program
// can get no response.
func (p *peer) leave(c *call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.askable = false
}

// markCanceled records whether a call was cancelled: the program may continue it.
func (p *peer) markCanceled(c *call, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.canceled = errors.Is(err, context.Canceled)
}

// finishResponse writes the end of a response.
func (p *peer) finishResponse(out *output, response stdio.Response, err error) {
	switch {
	case err == nil:
		out.respond(response.Result, response.RPCError)
	case errors.Is(err, context.Canceled):
		out.respond(nil, rpcError(codeInternal, "The request was cancelled."))
	case errors.Is(err, stdio.ErrParams):
		out.respond(nil, rpcError(upstream.CodeInvalidParams, err.Error()))
	case errors.Is(err, stdio.ErrBusy) && !out.open:
		refuse(out.w, out.id, err.Error())
	case errors.Is(err, stdio.ErrEnded):
		out.ended(p.exit())
	default: // a violation of the limits
		out.ended(err.Error())
	}
}

// exit returns why the process ended, which it waits for.
func (p *peer) exit() string {
	late := time.NewTimer(maxExitTime)
	defer late.Stop()
	select {
	case <-p.process.Done():
		return "the program ended (" + p.process.Exit() + ")"
	case <-late.C:
		return "the program closed its output"
	}
}

// enablesLogs reports whether a request of revision 2026-07-28 enables log messages.
func enablesLogs(params []byte) bool {
	o, err := rawjson.ParseObject(params, rawjson.Lenient)
	return err == nil && o.Object("_meta").Get(metaLogLevel) != nil
}

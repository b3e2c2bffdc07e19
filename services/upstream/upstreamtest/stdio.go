package upstreamtest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mcpgateway/services/rawjson"
)

// ErrCut is returned by ServeStdio after a fault that ends the connection.
var ErrCut = errors.New("a fault ended the connection")

// ServeStdio serves one client over lines of JSON, as programs do on standard
// input and output. It supports every revision of Options.Eras: those with a
// handshake, of which the client selects one by initialize, and the stateless
// one, request by request. Settings for HTTP don't apply. The connection counts
// as one session of [Stats], and as one stream after the handshake.
//
// It returns nil at the end of in, after the calls in flight had a moment to
// end, ctx's error, or the reason the connection was ended for. A reader that
// doesn't end with ctx keeps a goroutine.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	if !s.enter() {
		return http.ErrServerClosed
	}
	defer s.leave()
	v := s.openSession("", false)
	if v == nil {
		return errors.New("too many sessions")
	}
	defer s.closeSession(v)
	defer context.AfterFunc(ctx, v.end)()
	c := &lineConn{server: s, session: v, out: out}
	ended := make(chan error, 1)
	go func() { ended <- c.read(in) }()
	select {
	case err := <-ended:
		c.wait(stdioGrace)
		return err
	case <-v.ctx.Done():
		c.wait(closeGrace)
		if c.cut.Load() {
			return ErrCut
		}
		return ctx.Err()
	}
}

// lineConn is a connection over standard input and output.
type lineConn struct {
	server  *Server
	session *session // its version is empty before the handshake
	cut     atomic.Bool
	calls   sync.WaitGroup

	starting sync.Mutex // held while a call starts
	waiting  bool       // calls that start now are not waited for

	mu  sync.Mutex
	out io.Writer
}

// call runs a call in the background.
func (c *lineConn) call(f func()) {
	c.starting.Lock()
	defer c.starting.Unlock()
	if c.waiting {
		go f()
		return
	}
	c.calls.Go(f)
}

// wait waits for the calls in flight.
func (c *lineConn) wait(limit time.Duration) {
	c.starting.Lock()
	c.waiting = true
	c.starting.Unlock()
	idle := make(chan struct{})
	go func() {
		c.calls.Wait()
		close(idle)
	}()
	select {
	case <-idle:
	case <-time.After(limit):
	}
}

// write writes a frame as one line. It returns false if the connection ended.
func (c *lineConn) write(f frame) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session.ctx.Err() != nil {
		return false
	}
	f.head, f.tail = oneLine(f.head), append(oneLine(f.tail), '\n')
	size := f.size()
	if f.half {
		size /= 2
	}
	w := bufio.NewWriterSize(c.out, int(size)) // the line is one Write
	if f.writeTo(w, size) != nil || w.Flush() != nil {
		c.session.end()
		return false
	}
	if f.half {
		c.sever()
	}
	return !f.half
}

// oneLine returns the JSON without line breaks, which are white space in it.
func oneLine(raw []byte) []byte {
	if !bytes.ContainsAny(raw, "\r\n") {
		return bytes.Clone(raw)
	}
	return bytes.ReplaceAll(bytes.ReplaceAll(raw, []byte("\r"), []byte(" ")), []byte("\n"), []byte(" "))
}

func (c *lineConn) fail(id []byte, e *RPCError) { c.write(frame{head: appendError(nil, id, e)}) }

// sever ends the connection as a fault.
func (c *lineConn) sever() {
	c.cut.Store(true)
	c.session.end()
}

// read handles the lines of in until it ends.
func (c *lineConn) read(in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 64<<10), maxBody)
	for lines.Scan() {
		if raw := bytes.TrimSpace(lines.Bytes()); len(raw) > 0 {
			c.line(bytes.Clone(raw))
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("reading standard input: %w", err)
	}
	return nil
}

// line handles a line.
func (c *lineConn) line(raw []byte) {
	s := c.server
	s.requests.Add(1)
	if rawjson.Kind(raw) == '[' {
		s.record(nil, raw, nil)
		c.batch(raw)
		return
	}
	m, bad := decode(raw)
	s.record(nil, raw, &m)
	if bad != nil {
		c.fail(m.id, bad)
		return
	}
	b := s.now.Load()
	hit, wait := b.fault(stageOf(&m), m.method)
	if !m.isRequest() {
		if hit.is(Reset, Disconnect) {
			c.sever()
		} else if !hit.is(Hang) {
			c.session.receive(&m)
		}
		return
	}
	shakes := s.eras.httpSSE || len(s.eras.sessions) > 0
	modern := len(s.eras.modern) > 0 && (m.meta.Get(metaVersion) != nil || !shakes && m.method != "initialize")
	if m.method == "initialize" && !modern { // later lines already depend on it
		offered, _ := m.params.String("protocolVersion")
		c.session.setVersion(s.eras.negotiateStdio(offered))
	}
	ctx, done := c.session.begin(m.id)
	run := c.call
	if m.method == "subscriptions/listen" { // which lasts until its cancellation
		run = func(f func()) { go f() }
	}
	run(func() {
		defer done()
		if s.sleep(ctx, wait) && !c.breakLine(ctx, &m, hit) {
			c.request(ctx, &m, modern, hit, b)
		}
	})
}

// breakLine applies a fault that replaces the response. It returns false if hit
// is nil or only modifies the response.
func (c *lineConn) breakLine(ctx context.Context, m *message, hit *Fault) bool {
	switch {
	case hit.is(Hang):
		<-ctx.Done()
	case hit.is(Reset, Disconnect):
		c.sever()
	case hit.is(Status, Redirect):
		c.fail(m.id, &RPCError{Code: codeServer, Message: fmt.Sprintf("HTTP %d", orElse(hit.Status, http.StatusInternalServerError))})
	default:
		return false
	}
	return true
}

// request responds to a request.
func (c *lineConn) request(ctx context.Context, m *message, modern bool, hit *Fault, b *behaviour) {
	s, version := c.server, c.session.era()
	reply := lineReply{c}
	switch {
	case modern:
		if bad := s.checkMeta(m); bad != nil {
			c.fail(m.id, bad)
			return
		}
		if m.method == "subscriptions/listen" && s.opts.Methods[m.method] == nil {
			c.listen(ctx, m)
			return
		}
		asked, _ := m.meta.String(metaVersion)
		s.respond(ctx, s.newCall(m, Era(asked), nil, http.Header{}, reply), hit, b)
	case m.method == "initialize":
		c.initialize(ctx, m, string(version), hit, b)
	case version == "" && m.method == "server/discover":
		c.fail(m.id, &RPCError{Code: codeMethodNotFound, Message: "Method not found: " + m.method})
	case version == "" && m.method != "ping":
		c.fail(m.id, &RPCError{Code: codeInvalidRequest, Message: "Invalid request: initialize must come first"})
	default:
		s.respond(ctx, s.newCall(m, version, c.session, http.Header{}, reply), hit, b)
	}
}

// initialize responds to the handshake and opens the stream of the session.
func (c *lineConn) initialize(ctx context.Context, m *message, version string, hit *Fault, b *behaviour) {
	s := c.server
	offered, ok := m.params.String("protocolVersion")
	switch {
	case !ok:
		c.fail(m.id, &RPCError{Code: codeInvalidParams, Message: "Invalid params: protocolVersion is required"})
		return
	case version == "":
		c.fail(m.id, s.unsupported(offered))
		return
	}
	s.answerHandshake(ctx, s.newCall(m, Era(version), c.session, http.Header{}, lineReply{c}), hit, b, version)
	t := s.openStream(c.session.ctx, c.session, nil)
	go func() {
		defer s.closeStream(t)
		s.drain(t, c.write, alwaysAlive)
	}()
}

func alwaysAlive() bool { return true }

// listen serves subscriptions/listen, until the client cancels it.
func (c *lineConn) listen(ctx context.Context, m *message) {
	s := c.server
	l, ack, bad := s.subscribe(m)
	if bad != nil {
		c.fail(m.id, bad)
		return
	}
	t := s.openStream(ctx, nil, l) // before the client is notified of it
	defer s.closeStream(t)
	if c.write(ack) && (l.empty() || s.drain(t, c.write, alwaysAlive)) {
		c.write(l.end())
	}
}

// batch handles a batch, which only 2025-03-26 supports.
func (c *lineConn) batch(raw []byte) {
	if c.session.era() != Era20250326 {
		c.fail(nil, &RPCError{Code: codeInvalidRequest, Message: "Invalid request: batches are only supported in 2025-03-26"})
		return
	}
	list, bad := splitBatch(raw)
	if bad != nil {
		c.fail(nil, bad)
		return
	}
	c.call(func() {
		var p batchReply
		c.server.runBatch(c.session, list, http.Header{}, &p)
		if p.out != nil {
			c.write(frame{head: append(append([]byte{'['}, p.out...), ']')})
		}
	})
}

// lineReply responds with lines.
type lineReply struct{ conn *lineConn }

func (p lineReply) notify(m []byte) error {
	if !p.conn.write(frame{head: m}) {
		return context.Canceled
	}
	return nil
}

func (p lineReply) canAsk() bool { return true }

func (p lineReply) finish(f frame) {
	if !f.skip {
		p.conn.write(f) // false only if the connection ended
	}
}

// Announce sends a notification like [Server.Notify].
func (c *Call) Announce(method string, params []byte) int { return c.server.Notify(method, params) }

// Line returns a result with which the response to this call is size bytes long,
// without the end of its line. It must not be smaller than an empty response.
func (c *Call) Line(size int) Result {
	empty := len(appendResult(nil, c.ID, c.server.decorate(c, Text("").JSON)))
	return Text(strings.Repeat("x", max(0, size-empty)))
}

package egress

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"mcpgateway/services/lazyctx"
)

// plainConn is a connection that carries one request at a time.
type plainConn struct {
	transport *plainTransport
	conn      net.Conn
	address   string
	in        *bufio.Reader
	first     *firstStep // nil where the system has none
	since     time.Time  // when it became idle
	kept      bool       // it carried requests before

	room   int64  // bytes that may still be read, so that a header has a limit
	unsent []byte // the present request, until the first Read
	wrote  int    // bytes of it
	failed error  // of writing it; an answer may have come all the same
	heard  bool   // a byte of its answer came

	ctx      context.Context // of the present request
	deadline time.Time       // of reading for it
	set      time.Time       // the deadline that the system has, which may be up to deadlineSlack earlier
	bounded  bool            // by the context, which bounds the body too
	watch    lazyctx.Watch
	cutOff   func() // interrupt

	mu  sync.Mutex // guards that an interruption is not undone by a later deadline
	cut bool
}

// maxInformational is how many answers may come before the real one (RFC 9110,
// section 15.2).
const maxInformational = 5

var errHeaderTooLarge = errors.New("the header of the answer is too large")

// errClosedBefore says that a kept connection had ended before anything was
// written to it.
var errClosedBefore = errors.New("the connection was closed while it was idle")

func newPlainConn(t *plainTransport, conn net.Conn, address string) *plainConn {
	c := &plainConn{transport: t, conn: conn, address: address}
	c.in = bufio.NewReader(c)
	c.first = newFirstStep(c)
	c.cutOff = c.interrupt
	return c
}

// Read reads from the connection within what may be read. The first one writes
// the request before.
func (c *plainConn) Read(p []byte) (n int, err error) {
	if c.room <= 0 {
		return 0, errHeaderTooLarge
	}
	p = p[:min(int64(len(p)), c.room)]
	if message := c.unsent; message != nil {
		c.unsent = nil
		n, err = c.writeAndRead(message, p)
	} else {
		n, err = c.read(p)
	}
	c.room -= int64(n)
	c.heard = c.heard || n > 0
	return n, err
}

// deadlineSlack is by how much the deadline of the next request may be later than
// the one that is set, without the system being told of it: a read that ends too
// early goes on.
const deadlineSlack = 5 * time.Second

// readUntil sets when reading fails.
func (c *plainConn) readUntil(deadline time.Time) {
	c.deadline = deadline
	if later := deadline.Sub(c.set); c.set.IsZero() || deadline.IsZero() || later < 0 || later > deadlineSlack {
		c.setDeadline()
	}
}

func (c *plainConn) setDeadline() {
	c.set = c.deadline
	c.limit(c.conn.SetReadDeadline, c.deadline)
}

// tooEarly reports whether a read failed at a deadline that was not its own, and
// sets that.
func (c *plainConn) tooEarly(err error) bool {
	if err == nil || c.set.Equal(c.deadline) || !errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	c.setDeadline()
	return true
}

// read reads until the deadline.
func (c *plainConn) read(p []byte) (int, error) {
	n, err := c.conn.Read(p)
	if n == 0 && c.tooEarly(err) {
		return c.conn.Read(p)
	}
	return n, err
}

// writeAndRead writes a request and reads what comes first of its answer.
// Upstreams may refuse a request before they have read all of it, so that an
// answer may be there although writing failed.
func (c *plainConn) writeAndRead(message, p []byte) (int, error) {
	if c.first != nil {
		n, err := c.first.take(message, p)
		if c.first.wrote == 0 && c.tooEarly(err) {
			n, err = c.first.take(message, p)
		}
		c.wrote = c.first.wrote
		if c.wrote == len(message) && c.tooEarly(err) {
			return c.read(p)
		}
		if n > 0 || err != nil {
			return n, err
		}
		message = message[c.wrote:] // it has to be written in parts, or could not be
	}
	c.limit(c.conn.SetWriteDeadline, c.deadline)
	n, err := c.conn.Write(message)
	c.wrote += n
	if err != nil {
		if c.wrote == 0 {
			return 0, err
		}
		c.failed = err
		c.readUntil(time.Now().Add(time.Second))
	}
	return c.read(p)
}

// interrupt makes reading and writing fail at once.
func (c *plainConn) interrupt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = true
	_ = c.conn.SetDeadline(time.Unix(1, 0))
}

// limit sets a deadline, unless the connection was interrupted.
func (c *plainConn) limit(set func(time.Time) error, deadline time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.cut {
		_ = set(deadline)
	}
}

// send sends a request and returns when the answer to it begins. The context
// and its deadline hold until release. The connection is closed with an error.
func (c *plainConn) send(ctx context.Context, message []byte) error {
	c.ctx, c.unsent, c.wrote, c.failed, c.heard = ctx, message, 0, nil, false
	c.watch.Begin(ctx, c.cutOff)
	deadline, bounded := ctx.Deadline()
	if c.bounded = bounded; !bounded {
		deadline = time.Now().Add(headerTimeout)
	}
	c.readUntil(deadline)
	c.room = headerLimit
	_, err := c.in.Peek(1)
	if err == nil {
		return nil
	}
	c.release(false)
	if c.failed != nil {
		return c.failed
	}
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// release ends the part of a request and its context. The connection is kept if
// it is reusable, was not interrupted and holds nothing more, else closed.
func (c *plainConn) release(reusable bool) {
	uncut := c.watch.Stop()
	c.ctx, c.unsent = nil, nil
	if reusable && uncut && c.failed == nil && c.in.Buffered() == 0 {
		c.transport.keep(c)
		return
	}
	_ = c.conn.Close()
}

// response returns the answer that begins. The connection is kept or closed
// when the body of the answer ends or is closed, and closed with an error.
func (c *plainConn) response(req *http.Request) (*http.Response, error) {
	resp, err := c.readHeader(req)
	if err != nil {
		ctx := c.ctx
		c.release(false)
		if ctxErr := endOf(ctx, err); ctxErr != nil {
			return nil, ctxErr
		}
		return nil, err
	}
	c.room = unlimited
	if !c.bounded {
		c.readUntil(time.Time{})
	}
	body := &plainBody{conn: c, body: resp.Body, left: resp.ContentLength, reusable: !resp.Close, ctx: c.ctx}
	if resp.Body == http.NoBody || resp.ContentLength == 0 {
		body.finish(bodyComplete)
	}
	resp.Body = body
	return resp, nil
}

// unlimited is the room of bodies, whose readers have limits of their own.
const unlimited = 1<<63 - 1

func (c *plainConn) readHeader(req *http.Request) (*http.Response, error) {
	for range maxInformational {
		resp, err := http.ReadResponse(c.in, req)
		if err != nil {
			return nil, err
		}
		switch {
		case resp.StatusCode >= 200:
			return resp, nil
		case resp.StatusCode == http.StatusSwitchingProtocols:
			return nil, errors.New("the answer switches to another protocol, which was not asked for")
		}
	}
	return nil, errors.New("too many informational answers")
}

// endOf returns the error of a context that has ended, or whose deadline made
// reading fail with err; else nil.
func endOf(ctx context.Context, err error) error {
	if ctxErr := ctx.Err(); ctxErr != nil {
		return ctxErr
	}
	if deadline, ok := ctx.Deadline(); ok && errors.Is(err, os.ErrDeadlineExceeded) && time.Until(deadline) <= 0 {
		<-ctx.Done() // it is about to say so too
	}
	return ctx.Err()
}

// plainBody is the body of an answer.
type plainBody struct {
	conn     *plainConn
	body     io.Reader
	left     int64 // bytes that are missing; negative when unknown
	reusable bool
	ctx      context.Context
	state    atomic.Int32
}

// States of a body.
const (
	bodyOpen int32 = iota
	bodyComplete
	bodyClosed
)

// Read is of io.Reader. The connection is free as soon as the last byte is
// read.
func (b *plainBody) Read(p []byte) (int, error) {
	switch b.state.Load() {
	case bodyComplete:
		return 0, io.EOF
	case bodyClosed:
		return 0, b.failure(http.ErrBodyReadAfterClose)
	}
	n, err := b.body.Read(p)
	if b.left > 0 {
		b.left -= int64(n)
	}
	switch {
	case errors.Is(err, io.EOF), err == nil && b.left == 0:
		b.finish(bodyComplete)
	case err != nil:
		b.finish(bodyClosed)
		err = b.failure(err)
	}
	return n, err
}

// failure returns why reading failed.
func (b *plainBody) failure(err error) error {
	if ctxErr := endOf(b.ctx, err); ctxErr != nil {
		return ctxErr
	}
	return err
}

// Close is of io.Closer. What was not read of the body is given up, and the
// connection with it.
func (b *plainBody) Close() error {
	b.finish(bodyClosed)
	return nil
}

// finish keeps or closes the connection, once.
func (b *plainBody) finish(state int32) {
	if b.state.CompareAndSwap(bodyOpen, state) {
		b.conn.release(state == bodyComplete && b.reusable)
	}
}

func appendLength(b []byte, length int64) []byte {
	return append(strconv.AppendInt(append(b, "Content-Length: "...), length, 10), "\r\n"...)
}

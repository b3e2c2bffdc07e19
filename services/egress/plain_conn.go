package egress

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// plainConn is a connection that carries one request at a time.
type plainConn struct {
	transport *plainTransport
	conn      net.Conn
	address   string
	in        *bufio.Reader
	since     time.Time // when it became idle

	room  int64 // bytes that may still be read, so that a header has a limit
	wrote int   // bytes of the present request
	heard bool  // a byte of its answer came

	mu  sync.Mutex // guards that an interruption is not undone by a later deadline
	cut bool
}

// maxInformational is how many answers may come before the real one (RFC 9110,
// section 15.2).
const maxInformational = 5

var errHeaderTooLarge = errors.New("the header of the answer is too large")

func newPlainConn(t *plainTransport, conn net.Conn, address string) *plainConn {
	c := &plainConn{transport: t, conn: conn, address: address}
	c.in = bufio.NewReader(c)
	return c
}

// Read reads from the connection within what may be read.
func (c *plainConn) Read(p []byte) (int, error) {
	if c.room <= 0 {
		return 0, errHeaderTooLarge
	}
	n, err := c.conn.Read(p[:min(int64(len(p)), c.room)])
	c.room -= int64(n)
	c.heard = c.heard || n > 0
	return n, err
}

// interrupt makes reading and writing fail at once.
func (c *plainConn) interrupt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = true
	_ = c.conn.SetDeadline(time.Unix(1, 0))
}

// readUntil sets when reading fails, unless it was interrupted.
func (c *plainConn) readUntil(deadline time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.cut {
		_ = c.conn.SetReadDeadline(deadline)
	}
}

// exchange sends a request and returns the answer to it. The connection is
// kept or closed when the body of the answer ends or is closed, and closed with
// an error.
func (c *plainConn) exchange(req *http.Request, message []byte) (*http.Response, error) {
	c.wrote, c.heard = 0, false
	c.readUntil(time.Now().Add(headerTimeout))
	stop := context.AfterFunc(req.Context(), c.interrupt)
	resp, err := c.send(req, message)
	if err != nil {
		stop()
		_ = c.conn.Close()
		return nil, err
	}
	c.readUntil(time.Time{})
	body := &plainBody{conn: c, body: resp.Body, left: resp.ContentLength, stop: stop, reusable: !resp.Close, ctx: req.Context()}
	if resp.Body == http.NoBody || resp.ContentLength == 0 {
		body.finish(bodyComplete)
	}
	resp.Body = body
	return resp, nil
}

// send writes a request and reads the header of its answer. Upstreams may
// refuse a request before they have read all of it, so that an answer may be
// there although writing failed.
func (c *plainConn) send(req *http.Request, message []byte) (*http.Response, error) {
	var failed error
	if c.wrote, failed = c.conn.Write(message); failed != nil {
		if c.wrote == 0 {
			return nil, failed
		}
		c.readUntil(time.Now().Add(time.Second))
	}
	resp, err := c.readHeader(req)
	if err != nil && failed != nil {
		return nil, failed
	}
	if failed != nil {
		resp.Close = true
	}
	return resp, err
}

func (c *plainConn) readHeader(req *http.Request) (*http.Response, error) {
	c.room = headerLimit
	defer func() { c.room = 1<<63 - 1 }()
	for range maxInformational {
		resp, err := readPlainResponse(c.in, req)
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

// plainBody is the body of an answer.
type plainBody struct {
	conn     *plainConn
	body     io.Reader
	left     int64 // bytes that are missing; negative when unknown
	stop     func() bool
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
	if ctxErr := b.ctx.Err(); ctxErr != nil {
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
	if !b.state.CompareAndSwap(bodyOpen, state) {
		return
	}
	uncut := b.stop()
	if c := b.conn; state == bodyComplete && b.reusable && uncut && c.in.Buffered() == 0 {
		c.transport.keep(c)
		return
	}
	_ = b.conn.conn.Close()
}

func appendLength(b []byte, length int64) []byte {
	return append(strconv.AppendInt(append(b, "Content-Length: "...), length, 10), "\r\n"...)
}

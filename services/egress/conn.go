package egress

import (
	"bufio"
	"context"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// conn is a connection that serves one request at a time.
type conn struct {
	pool   *idleConns
	origin origin
	raw    net.Conn // the TCP connection
	secure net.Conn // raw, or TLS over it
	in     *bufio.Reader

	idleSince time.Time
	reused    bool

	room   int64 // bytes left to read; limits response headers
	failed bool  // a read failed

	interrupt func()      // makes reads and writes fail at once
	stop      func() bool // stops watching the request's context
}

const (
	// maxInformational is the maximum number of responses including the final
	// one (RFC 9110, section 15.2).
	maxInformational = 5
	// earlyResponseTime limits the wait for the response after the server has
	// stopped reading the request.
	earlyResponseTime = time.Second
	// maxRestBytes and maxRestTime limit reading the unused rest of a body.
	maxRestBytes = 64 << 10
	maxRestTime  = time.Second
)

var errHeadTooLarge = errors.New("response header too large")

// unsentError is the error of a request before its first byte was written.
type unsentError struct{ error }

// Unwrap returns the wrapped error.
func (e unsentError) Unwrap() error { return e.error }

// IsUnsent reports whether a request failed before its first byte was written.
func IsUnsent(err error) bool {
	var unsent unsentError
	return errors.As(err, &unsent)
}

// past is an expired deadline.
var past = time.Unix(1, 0)

func newConn(pool *idleConns, to origin, raw, secure net.Conn) *conn {
	c := &conn{pool: pool, origin: to, raw: raw, secure: secure}
	c.in = bufio.NewReader(c)
	c.interrupt = func() { _ = raw.SetDeadline(past) }
	return c
}

// Read implements io.Reader for the connection's buffer.
func (c *conn) Read(p []byte) (int, error) {
	if c.room <= 0 {
		return 0, errHeadTooLarge
	}
	n, err := c.secure.Read(p[:min(int64(len(p)), c.room)])
	c.room -= int64(n)
	c.failed = c.failed || err != nil
	return n, err
}

// roundTrip sends a request and returns the response after reading its header.
// If the context has ended, the error is the context's. The connection is
// closed after an error.
func (c *conn) roundTrip(req *http.Request, message []byte) (*http.Response, error) {
	ctx := req.Context()
	c.stop = context.AfterFunc(ctx, c.interrupt)
	resp, err := c.send(ctx, req, message)
	if err != nil {
		c.release(false)
		if ctxErr := ctx.Err(); ctxErr != nil {
			return nil, ctxErr
		}
		return nil, err
	}
	if resp.Body == http.NoBody {
		c.release(!resp.Close)
		return resp, nil
	}
	resp.Body = &body{conn: c, ctx: ctx, in: resp.Body, reusable: !resp.Close}
	return resp, nil
}

// send writes a request and reads the response's header. A server can reject a
// request before reading all of it, so a response is possible although writing
// failed.
func (c *conn) send(ctx context.Context, req *http.Request, message []byte) (*http.Response, error) {
	n, failed := c.secure.Write(message)
	limit := time.Duration(0)
	if _, bounded := ctx.Deadline(); !bounded {
		limit = headerTimeout
	}
	if failed != nil {
		if n == 0 {
			return nil, unsentError{failed}
		}
		limit = earlyResponseTime
	}
	if limit > 0 {
		timer := time.AfterFunc(limit, c.interrupt)
		defer func() {
			if !timer.Stop() {
				c.failed = true
			}
		}()
	}
	resp, err := c.readHead(req)
	switch {
	case err == nil:
		c.failed = c.failed || failed != nil
		return resp, nil
	case failed != nil && !isCertificateAlert(err): // an alert explains why the server stopped reading
		return nil, failed
	}
	return nil, err
}

// readHead reads the header of the final response.
func (c *conn) readHead(req *http.Request) (*http.Response, error) {
	c.room = headerLimit
	for range maxInformational {
		resp, err := http.ReadResponse(c.in, req)
		switch {
		case err != nil:
			return nil, err
		case resp.StatusCode == http.StatusSwitchingProtocols:
			return nil, errors.New("unexpected protocol switch")
		case resp.StatusCode >= 200:
			c.room = math.MaxInt64
			return resp, nil
		}
	}
	return nil, errors.New("too many informational responses")
}

// release ends a request. The connection becomes idle if it is reusable and was
// not interrupted; otherwise it is closed.
func (c *conn) release(reusable bool) {
	uninterrupted := c.stop()
	if !reusable || !uninterrupted || c.failed || c.in.Buffered() > 0 || !c.pool.put(c) {
		c.close()
	}
}

// close does not send TLS's closing alert, which could block.
func (c *conn) close() { _ = c.raw.Close() }

// body is the body of a response.
type body struct {
	conn     *conn
	ctx      context.Context
	in       io.Reader
	reusable bool
	closed   atomic.Bool
	released atomic.Bool
}

// Read implements io.Reader. The connection is released with the last byte.
func (b *body) Read(p []byte) (int, error) {
	if b.closed.Load() {
		return 0, http.ErrBodyReadAfterClose
	}
	n, err := b.in.Read(p)
	if err == nil {
		return n, nil
	}
	b.release(errors.Is(err, io.EOF))
	if ctxErr := b.ctx.Err(); ctxErr != nil && !errors.Is(err, io.EOF) {
		err = ctxErr
	}
	return n, err
}

// Close implements io.Closer. It closes the connection if the body was not read
// completely.
func (b *body) Close() error {
	b.closed.Store(true)
	b.release(false)
	return nil
}

func (b *body) release(complete bool) {
	if b.released.CompareAndSwap(false, true) {
		b.conn.release(complete && b.reusable)
	}
}

// detach replaces the request's context by a time limit. It returns false if
// nothing is left to read or the context has ended.
func (b *body) detach() bool {
	if b.released.Load() || !b.reusable || !b.conn.stop() {
		return false
	}
	b.conn.stop = time.AfterFunc(maxRestTime, b.conn.interrupt).Stop
	return true
}

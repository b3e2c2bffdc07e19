package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http/httpguts"

	"mcpgateway/services/rawconn"
)

// plainTransport carries requests to http URLs over HTTP/1.1 on the goroutine
// of the caller. net/http serves each connection with two goroutines of its
// own, and to hand a request to them and its answer back costs more than all
// else that the gateway does for a call. What it does not do itself goes to
// the transport of net/http: TLS, HTTP/2, and requests of unusual form.
type plainTransport struct {
	dial  func(ctx context.Context, network, address string) (net.Conn, error)
	other http.RoundTripper
	pace  *rawconn.Pace // of reading

	hosts sync.Map // address to *idleList
	idle  atomic.Int64
}

// RoundTrip is of http.RoundTripper. A request that is repeatable, or of which
// nothing was written, is sent once more when the kept connection it was to
// take had ended.
func (t *plainTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	address := plainAddress(req)
	if address == "" {
		return t.other.RoundTrip(req)
	}
	message := takeMessage()
	defer message.giveBack()
	var err error
	if message.bytes, err = appendMessage(message.bytes, req); err != nil {
		return nil, err
	}
	c, err := t.send(req.Context(), address, message.bytes, repeatable(req))
	if err != nil {
		return nil, err
	}
	return c.response(req)
}

// send sends a message and returns the connection on which the answer to it
// begins. The error is the context's when that has ended.
func (t *plainTransport) send(ctx context.Context, address string, message []byte, repeatable bool) (*plainConn, error) {
	for {
		c, err := t.connection(ctx, address)
		if err != nil {
			return nil, err
		}
		err = c.send(ctx, message)
		if err == nil {
			return c, nil
		}
		if ctxErr := endOf(ctx, err); ctxErr != nil {
			return nil, ctxErr
		}
		if !c.kept || c.heard || c.wrote > 0 && !repeatable {
			return nil, err
		}
	}
}

// connection returns a connection to the address, which may be one that was
// kept.
func (t *plainTransport) connection(ctx context.Context, address string) (*plainConn, error) {
	for {
		c := t.take(address)
		if c == nil {
			break
		}
		if c.first != nil || !isClosedByPeer(c.conn) {
			return c, nil
		}
		_ = c.conn.Close()
	}
	conn, err := t.dial(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return newPlainConn(t, conn, address), nil
}

// CloseIdleConnections closes the kept connections that are not in use.
func (t *plainTransport) CloseIdleConnections() {
	for address, list := range t.hosts.Range {
		t.hosts.CompareAndDelete(address, list)
		t.drop(list.(*idleList).close())
	}
	if other, ok := t.other.(interface{ CloseIdleConnections() }); ok {
		other.CloseIdleConnections()
	}
}

// maxPooledMessage bounds the buffers that are kept for further requests.
const maxPooledMessage = 64 << 10

// message is a request as it is sent, in room that is used again.
type message struct{ bytes []byte }

var messages = sync.Pool{New: func() any { return new(message) }}

func takeMessage() *message { return messages.Get().(*message) }

// giveBack ends the use of a message.
func (m *message) giveBack() {
	if cap(m.bytes) <= maxPooledMessage {
		m.bytes = m.bytes[:0]
		messages.Put(m)
	}
}

// plainAddress returns the address to connect to for a request that the
// transport sends itself, else "".
func plainAddress(req *http.Request) string {
	u := req.URL
	switch {
	case u == nil || u.Scheme != "http" || u.Opaque != "" || u.Host == "" || strings.ContainsRune(u.Host, '%'),
		req.Body != nil && req.Body != http.NoBody && req.ContentLength <= 0,
		len(req.TransferEncoding) > 0 || len(req.Trailer) > 0 || req.Close || req.Header == nil:
		return ""
	}
	for name := range req.Header {
		if speaksOfRequest(name) {
			return ""
		}
	}
	for i := range len(u.Host) {
		if u.Host[i] >= 0x80 {
			return ""
		}
	}
	if u.Port() == "" {
		return net.JoinHostPort(u.Hostname(), "80")
	}
	return u.Host
}

// appendMessage appends a request as it is sent (RFC 9112, section 2.1). It
// reads the body and closes it.
func appendMessage(b []byte, req *http.Request) ([]byte, error) {
	if req.Body != nil {
		defer req.Body.Close()
	}
	b, err := appendHead(b, req)
	if err != nil {
		return nil, err
	}
	for name, values := range req.Header {
		var ok bool
		if b, ok = AppendField(b, name, values...); !ok {
			return nil, fmt.Errorf("the header %q is not valid", name) // its value may be a secret
		}
	}
	switch {
	case req.ContentLength > 0:
		b = appendLength(b, req.ContentLength)
	case req.Method != "" && req.Method != http.MethodGet && req.Method != http.MethodHead && req.Method != http.MethodDelete && req.Method != http.MethodOptions:
		b = appendLength(b, 0)
	}
	b = append(b, "\r\n"...)
	if req.ContentLength <= 0 {
		return b, nil
	}
	return appendBody(b, req.Body, req.ContentLength)
}

// appendHead appends the request line and the field Host.
func appendHead(b []byte, req *http.Request) ([]byte, error) {
	host := req.Host
	if host == "" {
		host = req.URL.Host
	}
	if !httpguts.ValidHostHeader(host) {
		return nil, errors.New("the host is not valid in a header")
	}
	method := req.Method
	if method == "" {
		method = http.MethodGet
	}
	if !httpguts.ValidHeaderFieldName(method) { // both are tokens
		return nil, fmt.Errorf("%q is no HTTP method", method)
	}
	uri := req.URL.RequestURI()
	if strings.ContainsFunc(uri, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return nil, errors.New("the URL holds a space or a control character")
	}
	b = append(append(append(b, method...), ' '), uri...)
	return append(append(append(b, " HTTP/1.1\r\nHost: "...), host...), "\r\n"...), nil
}

func appendBody(b []byte, body io.Reader, length int64) ([]byte, error) {
	end := len(b) + int(length)
	if cap(b) < end {
		grown := make([]byte, len(b), end)
		copy(grown, b)
		b = grown
	}
	if _, err := io.ReadFull(body, b[len(b):end]); err != nil {
		return nil, fmt.Errorf("the body of the request is shorter than announced: %w", err)
	}
	return b[:end], nil
}

// repeatable reports whether a request may be processed twice: by its method
// (RFC 9110, section 9.2.1), or because the caller says so as net/http wants it
// said.
func repeatable(req *http.Request) bool {
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	_, marked := req.Header["X-Idempotency-Key"]
	if !marked {
		_, marked = req.Header["Idempotency-Key"]
	}
	return marked
}

// idleList holds the kept connections to one address, the latest last.
type idleList struct {
	mu    sync.Mutex
	conns []*plainConn
	timer *time.Timer // runs while there are any
	over  bool        // nothing is kept here any more
}

// take returns the connection that was kept last, or nil.
func (t *plainTransport) take(address string) *plainConn {
	v, ok := t.hosts.Load(address)
	if !ok {
		return nil
	}
	l := v.(*idleList)
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.conns)
	if n == 0 {
		return nil
	}
	c := l.conns[n-1]
	l.conns[n-1] = nil
	l.conns = l.conns[:n-1]
	t.idle.Add(-1)
	c.kept = true
	return c
}

// keep keeps a connection for further requests, or closes it when there are
// enough.
func (t *plainTransport) keep(c *plainConn) {
	c.since = time.Now()
	if t.idle.Add(1) > idleConns {
		t.drop([]*plainConn{c})
		return
	}
	for {
		v, ok := t.hosts.Load(c.address)
		if !ok {
			v, _ = t.hosts.LoadOrStore(c.address, &idleList{})
		}
		l := v.(*idleList)
		l.mu.Lock()
		switch {
		case l.over:
			l.mu.Unlock()
			t.hosts.CompareAndDelete(c.address, l)
			continue
		case len(l.conns) == idleConnsPerHost:
			l.mu.Unlock()
			t.drop([]*plainConn{c})
			return
		}
		l.conns = append(l.conns, c)
		if l.timer == nil {
			l.timer = time.AfterFunc(idleTimeout, func() { t.expire(c.address, l) })
		}
		l.mu.Unlock()
		return
	}
}

// expire closes the connections that were idle for too long.
func (t *plainTransport) expire(address string, l *idleList) {
	l.mu.Lock()
	n := 0
	for n < len(l.conns) && time.Since(l.conns[n].since) >= idleTimeout {
		n++
	}
	old := append([]*plainConn(nil), l.conns[:n]...)
	left := copy(l.conns, l.conns[n:])
	clear(l.conns[left:])
	l.conns = l.conns[:left]
	switch {
	case l.over:
	case left == 0:
		l.over = true
		t.hosts.CompareAndDelete(address, l)
	default:
		l.timer.Reset(max(time.Second, idleTimeout-time.Since(l.conns[0].since)))
	}
	l.mu.Unlock()
	t.drop(old)
}

// close returns the connections for the caller to drop and keeps no more.
func (l *idleList) close() []*plainConn {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	if l.timer != nil {
		l.timer.Stop()
	}
	conns := l.conns
	l.conns = nil
	return conns
}

// drop closes connections that counted as idle.
func (t *plainTransport) drop(conns []*plainConn) {
	t.idle.Add(-int64(len(conns)))
	for _, c := range conns {
		_ = c.conn.Close()
	}
}

package egress

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"golang.org/x/net/http/httpguts"

	"mcpgateway/services/background"
)

// transport sends requests over HTTP/1.1 on the caller's goroutine. net/http
// serves each connection with two goroutines, and handing requests and
// responses over to them costs more than everything else in a call. HTTP/2-only
// servers are left to net/http.
type transport struct {
	dialer *net.Dialer
	tls    *tls.Config
	http2  *http.Transport

	idle      idleConns
	protocols protocols
}

// origin is a server. address includes the port.
type origin struct{ scheme, address string }

// RoundTrip implements http.RoundTripper. It retries only if an idle connection
// failed before the first byte of the request was written.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	to, err := checkRequest(req)
	if err != nil {
		closeBody(req)
		return nil, err
	}
	if t.protocols.isHTTP2(to) {
		return t.http2.RoundTrip(req)
	}
	message := messages.Get().(*bytes.Buffer)
	defer recycle(message)
	message.Grow(int(max(0, req.ContentLength)) + headRoom)
	if err := req.Write(message); err != nil {
		return nil, fmt.Errorf("write request: %w", err)
	}
	for {
		if err := req.Context().Err(); err != nil {
			return nil, err
		}
		c, err := t.connection(req.Context(), to)
		if errors.Is(err, errHTTP2Only) {
			return t.overHTTP2(req)
		}
		if err != nil {
			return nil, unsentError{err}
		}
		resp, err := c.roundTrip(req, message.Bytes())
		if err != nil && c.reused && IsUnsent(err) {
			continue
		}
		return resp, err
	}
}

// connection returns an idle connection to the origin, or a new one.
func (t *transport) connection(ctx context.Context, to origin) (*conn, error) {
	for {
		c := t.idle.take(to)
		if c == nil {
			return t.dial(ctx, to)
		}
		if !isReadable(c.raw) {
			return c, nil
		}
		c.close() // closed by the server, or received unsolicited bytes
	}
}

// overHTTP2 sends a request whose body has been read.
func (t *transport) overHTTP2(req *http.Request) (*http.Response, error) {
	if req.Body != nil && req.Body != http.NoBody {
		if req.GetBody == nil {
			return nil, errHTTP2Only
		}
		body, err := req.GetBody()
		if err != nil {
			return nil, err
		}
		req = req.WithContext(req.Context())
		req.Body = body
	}
	return t.http2.RoundTrip(req)
}

// CloseIdleConnections closes the idle connections.
func (t *transport) CloseIdleConnections() {
	t.idle.close()
	t.http2.CloseIdleConnections()
}

// retire closes the idle connections, and those in use after their request.
func (t *transport) retire() {
	t.idle.mu.Lock()
	t.idle.done = true
	t.idle.mu.Unlock()
	t.CloseIdleConnections()
}

// checkRequest returns the origin of a request, or an error for an invalid
// request. The error contains no header value.
func checkRequest(req *http.Request) (origin, error) {
	if req.Method != "" && !httpguts.ValidHeaderFieldName(req.Method) { // both are tokens
		return origin{}, fmt.Errorf("invalid method %q", req.Method)
	}
	for name, values := range req.Header {
		if !httpguts.ValidHeaderFieldName(name) {
			return origin{}, fmt.Errorf("invalid header name %q", name)
		}
		for _, value := range values {
			if !httpguts.ValidHeaderFieldValue(value) {
				return origin{}, fmt.Errorf("invalid value of header %q", name)
			}
		}
	}
	switch u := req.URL; {
	case u == nil || u.Hostname() == "" || u.Opaque != "" || strings.ContainsRune(u.RawQuery, ' '):
		return origin{}, errors.New("invalid URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return origin{}, fmt.Errorf("unsupported scheme %q", u.Scheme)
	}
	if !httpguts.ValidHostHeader(req.Host) {
		return origin{}, errors.New("invalid host header")
	}
	to := originOf(req.URL)
	var err error
	if to.address, err = httpguts.PunycodeHostPort(to.address); err != nil {
		return origin{}, errors.New("invalid host")
	}
	return to, nil
}

// originOf returns the origin of a URL (RFC 6454, section 4).
func originOf(u *url.URL) origin {
	scheme, address := strings.ToLower(u.Scheme), u.Host
	if u.Port() == "" {
		port := map[string]string{"http": "80", "https": "443"}[scheme]
		address = net.JoinHostPort(u.Hostname(), port)
	}
	return origin{scheme, strings.ToLower(address)}
}

// headRoom is the capacity for a typical request besides its body.
// maxPooledMessage is the maximum capacity of pooled buffers. Both are in
// bytes.
const (
	headRoom         = 1 << 10
	maxPooledMessage = 256 << 10
)

// messages is a pool of buffers for requests.
var messages = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func recycle(message *bytes.Buffer) {
	if message.Cap() <= maxPooledMessage {
		message.Reset()
		messages.Put(message)
	}
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
}

// CloseAfterRest closes the body of a response without blocking. The rest is
// read in the background, at most 64 KiB and 1 s, so that the connection can be
// reused. The request's context doesn't end that.
func CloseAfterRest(tasks *background.Tasks, rest io.ReadCloser) {
	b, ok := rest.(*body)
	if !ok || !b.detach() {
		_ = rest.Close()
		return
	}
	tasks.Go("response drain", func() {
		defer b.Close()
		_, _ = io.CopyN(io.Discard, b, maxRestBytes+1)
	})
}

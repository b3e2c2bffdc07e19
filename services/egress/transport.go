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
// responses over to them costs more than everything else the gateway does for
// a call. Servers that speak only HTTP/2 are left to net/http.
type transport struct {
	dialer *net.Dialer
	tls    *tls.Config
	http2  *http.Transport

	idle      idleConns
	protocols protocols
}

// origin is a server that connections lead to. Address includes the port.
type origin struct{ scheme, address string }

// RoundTrip implements http.RoundTripper. It sends a request again only if an
// idle connection failed before any byte of the request was written to it.
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
		return nil, fmt.Errorf("write the request: %w", err)
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
		c.close() // by the server, or it sent bytes without a request
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

// CloseIdleConnections closes the connections that are not in use.
func (t *transport) CloseIdleConnections() {
	t.idle.close()
	t.http2.CloseIdleConnections()
}

// checkRequest returns the origin of a request. The error is that of a request
// that cannot be sent as it is. It contains no value of a header.
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
				return origin{}, fmt.Errorf("invalid value of the header %q", name)
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

// headRoom is the capacity that a request needs besides its body, mostly, and
// maxPooledMessage that of the largest reused buffer, in bytes.
const (
	headRoom         = 1 << 10
	maxPooledMessage = 256 << 10
)

// messages holds buffers for rendered requests.
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

// CloseAfterRest closes the body of a response whose rest is not needed. It
// does not block. The rest is read in the background, at most 64 KiB for at
// most one second, so that the connection can be reused. The context of the
// request does not end that.
func CloseAfterRest(tasks *background.Tasks, rest io.ReadCloser) {
	b, ok := rest.(*body)
	if !ok || !b.detach() {
		_ = rest.Close()
		return
	}
	tasks.Go("rest of a response", func() {
		defer b.Close()
		_, _ = io.CopyN(io.Discard, b, maxRestBytes+1)
	})
}

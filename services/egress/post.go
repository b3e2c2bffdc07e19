package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"golang.org/x/net/http/httpguts"
)

// Poster sends POSTs to one http URL and reads the usual kind of answer. It does
// what the client that it belongs to does, but makes neither an http.Request nor
// an http.Response of a request whose answer is as usual, and what is the same
// in every request is rendered and checked once.
type Poster struct {
	transport *plainTransport
	url       *url.URL
	address   string
	head      []byte // the request line and Host
}

// NewPoster returns a Poster of the client for the URL, or nil when requests to
// it have to be sent in the ordinary way: over TLS, with a password in the URL,
// or by a client that is none of Clients.
func NewPoster(client *http.Client, u *url.URL) *Poster {
	transport, ok := client.Transport.(*plainTransport)
	if !ok || u.User != nil {
		return nil
	}
	req := &http.Request{Method: http.MethodPost, URL: u, Host: u.Host, Header: http.Header{}}
	address := plainAddress(req)
	if address == "" {
		return nil
	}
	head, err := appendHead(nil, req)
	if err != nil {
		return nil
	}
	return &Poster{transport: transport, url: u, address: address, head: head}
}

// Fields are the header lines of a request.
type Fields interface {
	// Append appends them as AppendField does, and reports false when one of
	// them cannot be sent like this.
	Append(b []byte) ([]byte, bool)
}

// AppendField appends the lines of a header. It reports false when the name or
// a value is not valid in HTTP, or says how the request itself is sent.
func AppendField(b []byte, name string, values ...string) ([]byte, bool) {
	if !httpguts.ValidHeaderFieldName(name) || speaksOfRequest(http.CanonicalHeaderKey(name)) {
		return b, false
	}
	for _, value := range values {
		if !validValue(value) {
			return b, false
		}
		b = append(append(append(append(b, name...), ": "...), value...), "\r\n"...)
	}
	return b, true
}

// speaksOfRequest reports whether a header, by its canonical name, says how the
// request is sent or what becomes of the connection.
func speaksOfRequest(name string) bool {
	switch name {
	case "Connection", "Upgrade", "Expect", "Te", "Content-Length", "Transfer-Encoding", "Trailer", "Host":
		return true
	}
	return false
}

// Errors of Post.
var (
	ErrFields = errors.New("a header cannot be sent like this")
	ErrCutOff = errors.New("the answer was cut off") // in its body; it wraps why
)

// Post sends a body. Of an answer with status 200, the media type (lower case,
// without parameters) and a length of at most max bytes, it returns the body;
// any other answer it returns as resp, whose body must be closed. A request that
// is repeatable, or of which nothing was written, is sent once more when the
// kept connection it was to take had ended. Redirects are answers. It returns
// ErrFields before anything is sent, the context's error when that has ended,
// and else why the exchange failed, with ErrCutOff if that was in the body of
// the answer.
func (p *Poster) Post(ctx context.Context, fields Fields, body []byte, repeatable bool, mediaType string, max int) (answer []byte, resp *http.Response, err error) {
	message := takeMessage()
	defer message.giveBack()
	b, ok := fields.Append(append(message.bytes, p.head...))
	if !ok {
		return nil, nil, ErrFields
	}
	message.bytes = append(append(appendLength(b, int64(len(body))), "\r\n"...), body...)
	c, err := p.transport.send(ctx, p.address, message.bytes, repeatable)
	if err != nil {
		return nil, nil, err
	}
	answer, ok, err = c.usualAnswer(mediaType, max)
	switch {
	case err != nil:
		c.release(false)
		if ctxErr := endOf(ctx, err); ctxErr != nil {
			err = ctxErr
		}
		return nil, nil, err
	case ok:
		c.release(true)
		return answer, nil, nil
	}
	resp, err = c.response(&http.Request{Method: http.MethodPost, URL: p.url, Host: p.url.Host})
	return nil, resp, err
}

// usualAnswer reads the answer that begins. It reports false, and has read
// nothing, when it is not as usual.
func (c *plainConn) usualAnswer(mediaType string, max int) (body []byte, ok bool, err error) {
	buffered, _ := c.in.Peek(c.in.Buffered())
	header, length := usualHeader(buffered, mediaType)
	if header < 0 || length > max {
		return nil, false, nil
	}
	c.room = unlimited
	_, _ = c.in.Discard(header)
	body = make([]byte, length)
	if _, err := io.ReadFull(c.in, body); err != nil {
		return nil, false, fmt.Errorf("%w: %w", ErrCutOff, err)
	}
	return body, true, nil
}

// Package transport sends messages to one upstream over Streamable HTTP and
// HTTP+SSE. It attributes messages on shared streams to a call or a client,
// removes credentials from everything that the upstream sends, and converts
// failures to faults.
package transport

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"mcpgateway/services/background"
	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/wire"
)

// Transport sends JSON-RPC messages to one upstream.
type Transport interface {
	// Call sends a request and returns its reply. If ctx is done first, the
	// error is ctx.Err().
	Call(ctx context.Context, x *Exchange) (Reply, error)
	// Notify sends a message that has no reply.
	Notify(ctx context.Context, header http.Header, body []byte) error
	// Close closes the session at the upstream.
	Close(ctx context.Context, header http.Header)
	// Closed reports whether the transport must not be used for further calls.
	Closed() bool
	// HoldsSession reports whether the upstream has a session of ours, which it
	// can lose.
	HoldsSession() bool
}

// Exchange is one request in flight.
type Exchange struct {
	ID        int64
	Body      []byte
	Header    http.Header
	Stateless bool

	ProgressToken []byte // raw; only where calls share a stream
	Notify        func(method string, params []byte)
	Heard         func(method string, params []byte) // called first for every notification
	Serve         func(ctx context.Context, method string, params []byte) (result, rpcError []byte)
	Released      func()    // called when the upstream ends the stream before the reply on purpose; may be nil
	Aside         bool      // a request of the gateway, which causes no server requests
	Stream        bool      // needs the GET stream of its session
	shared        *inFlight // if set, these calls respond to server requests

	Memory   upstream.Memory // nil reserves nothing
	reserved bool            // Memory.Settle must be called
}

// Reply is the reply to a request. Exactly one of Result and RPCError is set.
type Reply struct {
	Result, RPCError []byte
	Refused          bool // RPCError had HTTP status 400
}

// Poster sends JSON-RPC messages by HTTP POST to one URL.
type Poster struct {
	HTTP   *http.Client
	Tasks  *background.Tasks
	Place  FaultOrigin
	URL    *url.URL
	Filter *Filter
	// Instance is the name of this gateway or empty.
	Instance string
	EndEvent string                                                                                  // see upstream.Target
	Refused  func(ctx context.Context, sent http.Header, c *upstream.Challenge) (http.Header, error) // see upstream.Target
}

// request returns an HTTP request whose body can be sent again, for redirects
// and retries with other credentials.
func (p *Poster) request(ctx context.Context, method string, header http.Header, body []byte) *http.Request {
	blank := http.Request{Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1} // stays on the stack
	req := blank.WithContext(ctx)
	req.Method, req.URL, req.Host, req.Header = method, p.URL, p.URL.Host, header
	if body != nil {
		req.ContentLength = int64(len(body))
		req.Body = io.NopCloser(bytes.NewReader(body))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	}
	return req
}

// maxRepeats is the maximum number of times a request is repeated with other
// credentials of a user. The second one is for a token that another call had
// renewed, without knowing that the upstream rejects it.
const maxRepeats = 2

// do sends a request. After HTTP 401 it retries once if Refused returns other
// credentials. If the credentials are a user's, Refused decides about the retry
// too. The error is ctx.Err(), that of Refused, or a fault.
func (p *Poster) do(req *http.Request) (*http.Response, error) {
	personal := p.Filter.isPersonal()
	for repeats := 0; ; repeats++ {
		resp, err := p.send(req)
		if err != nil {
			return nil, err
		}
		if resp.StatusCode < http.StatusBadRequest {
			p.Filter.accepted(req)
		}
		if repeats == 1 && !personal || p.Refused == nil || resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden {
			return resp, nil
		}
		header, err := p.Refused(req.Context(), req.Header, challengeOf(resp))
		if err == nil && (header == nil || resp.StatusCode != http.StatusUnauthorized || repeats == maxRepeats) {
			return resp, nil // with HTTP 403 it may have started to process the request
		}
		_ = resp.Body.Close()
		if err != nil {
			return nil, err
		}
		p.Filter.use(req.Context(), header)
		again := req.Clone(req.Context())
		again.Header = header
		if req.GetBody != nil {
			if again.Body, err = req.GetBody(); err != nil {
				return nil, fault.Internal(err)
			}
		}
		req = again
	}
}

// send sends a request. The error is ctx.Err() or a fault. It calls the
// Transport directly and uses the Client only to follow redirects, because the
// Client's preparation for redirects costs time in every request.
func (p *Poster) send(req *http.Request) (*http.Response, error) {
	if p.URL.User != nil { // the client converts it to an Authorization header
		return p.follow(req)
	}
	resp, err := p.HTTP.Transport.RoundTrip(req)
	if err != nil {
		return nil, p.failed(req.Context(), err)
	}
	p.Filter.responseHeader(resp.Header)
	if resp.StatusCode != http.StatusTemporaryRedirect && resp.StatusCode != http.StatusPermanentRedirect {
		return resp, nil
	}
	_ = resp.Body.Close()
	if req.GetBody != nil {
		if req.Body, err = req.GetBody(); err != nil {
			return nil, fault.Internal(err)
		}
	}
	return p.follow(req)
}

func (p *Poster) follow(req *http.Request) (*http.Response, error) {
	resp, err := p.HTTP.Do(req)
	if err != nil {
		return nil, p.failed(req.Context(), err)
	}
	p.Filter.responseHeader(resp.Header)
	return resp, nil
}

// failed returns the error for a failed request: ctx.Err() or a fault.
func (p *Poster) failed(ctx context.Context, err error) error {
	if ctxErr := ctx.Err(); ctxErr != nil {
		return ctxErr
	}
	return p.broken(err)
}

// post sends a message whose HTTP response contains no reply.
func (p *Poster) post(ctx context.Context, header http.Header, body []byte) error {
	resp, err := p.do(p.request(ctx, http.MethodPost, header, body))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		_, err := p.readErrorResponse(resp, 0, false)
		return err
	}
	// Some upstreams send a body nevertheless. Read it, so that the connection
	// can be reused.
	_, _ = io.CopyN(io.Discard, resp.Body, maxErrorBytes)
	return nil
}

// readErrorResponse reads an HTTP response that is not 2xx. It returns a Reply if the
// body is a matching JSON-RPC error, and otherwise an error.
func (p *Poster) readErrorResponse(resp *http.Response, id int64, stateless bool) (Reply, error) {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBytes))
	body = p.Filter.json(body)
	if resp.StatusCode < 400 || resp.StatusCode >= 500 {
		return Reply{}, p.refusal(resp, body)
	}
	if mediaType(resp) != wire.TypeJSON {
		return Reply{}, p.refusal(resp, body)
	}
	m, err := wire.ParseMessage(body)
	if err != nil || m.RPCError == nil {
		return Reply{}, p.refusal(resp, body)
	}
	code := wire.ErrorCode(m.RPCError)
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
		return Reply{}, p.refusal(resp, body)
	}
	noID := m.ID == nil || rawjson.Kind(m.ID) == 'n'
	answer := false
	switch {
	case m.IsResponseTo(id):
		switch {
		case resp.StatusCode == http.StatusNotFound && !stateless:
			answer = code == upstream.CodeMethodNotFound // otherwise the session was lost
		case resp.StatusCode == http.StatusBadRequest:
			// Upstreams with a handshake use these codes for an unknown session
			// or an unsupported version.
			answer = !upstream.IsSessionCode(code)
		default:
			answer = true
		}
	case noID:
		// Headers can be rejected before the ID is parsed.
		answer = upstream.IsModernCode(code) || stateless && (code == upstream.CodeMethodNotFound || code == upstream.CodeInvalidParams)
	}
	if answer {
		return Reply{RPCError: m.RPCError, Refused: resp.StatusCode == http.StatusBadRequest}, nil
	}
	err = p.refusal(resp, []byte(wire.ErrorText(m.RPCError)))
	var away *Refusal
	if errors.As(err, &away) {
		away.code, away.final = code, m.IsResponseTo(id) && !upstream.IsSessionCode(code)
	}
	return Reply{}, err
}

// readBody returns the body of a response. The error is a fault if the body is
// encoded or too large.
func (p *Poster) readBody(ctx context.Context, x *Exchange, resp *http.Response) ([]byte, error) {
	if err := p.checkEncoding(resp); err != nil {
		return nil, err
	}
	var refused error
	limit := int64(maxAnswerBytes)
	body, err := wire.ReadBounded(resp.Body, resp.ContentLength, maxAnswerBytes, func() (int64, error) {
		limit, refused = x.reserve(ctx, resp.ContentLength)
		return limit, refused
	})
	switch {
	case refused != nil:
		return nil, refused
	case errors.Is(err, wire.ErrTooLong):
		return nil, p.tooLarge(limit)
	case err != nil:
		return nil, p.truncated(err)
	}
	return body, nil
}

// tooLarge returns the fault for a response over the limit. The limit is lower
// than maxAnswerBytes if other results of a batch use part of it.
func (p *Poster) tooLarge(limit int64) *fault.Fault {
	if limit < maxAnswerBytes {
		return fault.ResultTooLarge()
	}
	return p.Place.Invalid("sent a response larger than %d MiB.", maxAnswerBytes>>20)
}

// truncated returns the error for a response whose connection broke.
func (p *Poster) truncated(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return p.Place.Unavailable("closed the connection during its response.").Because(&connectionError{err: err})
}

func (p *Poster) checkEncoding(resp *http.Response) error {
	if e := resp.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return p.Place.Invalid("used the content encoding %s, which was not requested.", wire.Excerpt([]byte(e)))
	}
	return nil
}

// replyToServer responds to a request of the upstream.
func (p *Poster) replyToServer(ctx context.Context, header http.Header, m *wire.Message,
	serve func(context.Context, string, []byte) ([]byte, []byte)) {
	var result, rpcError []byte
	switch {
	case m.Method == "ping":
		result = []byte("{}")
	case serve != nil:
		result, rpcError = serve(ctx, m.Method, m.Params)
	}
	if result == nil && rpcError == nil {
		rpcError = []byte(`{"code":-32601,"message":"Request not supported by the gateway."}`)
	}
	ctx, cancel := context.WithTimeout(ctx, MaxReplyTime)
	defer cancel()
	// If the response is lost, the upstream's request times out. There is no
	// other remedy.
	_ = p.post(ctx, header, wire.AppendAnswer(nil, m.ID, result, rpcError))
}

// mediaType returns the media type of a response in lower case, without
// parameters.
func mediaType(resp *http.Response) string {
	t := resp.Header.Get("Content-Type")
	if i := strings.IndexByte(t, ';'); i >= 0 {
		t = t[:i]
	}
	return strings.ToLower(strings.TrimSpace(t))
}

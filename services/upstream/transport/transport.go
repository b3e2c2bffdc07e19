// Package transport carries messages to one upstream over Streamable HTTP and
// HTTP+SSE. It attributes what arrives on shared streams to the call or the
// client that it belongs to, removes credentials from all that the upstream
// sends, and turns failures into faults.
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

// Transport carries JSON-RPC messages to one upstream.
type Transport interface {
	// Call sends a request and returns the answer to it. When the context
	// ends first, the error is the context's.
	Call(ctx context.Context, x *Exchange) (Reply, error)
	// Notify sends a message that has no answer.
	Notify(ctx context.Context, header http.Header, body []byte) error
	// Close ends what the transport holds at the upstream.
	Close(ctx context.Context, header http.Header)
	// Closed reports that the transport is not to be used for further calls.
	Closed() bool
	// HoldsSession reports that the upstream keeps something of us, which it
	// may forget.
	HoldsSession() bool
}

// Exchange is one request on its way.
type Exchange struct {
	ID        int64
	Body      []byte
	Header    http.Header
	Stateless bool

	ProgressToken []byte // raw; only where calls share a stream
	Notify        func(method string, params []byte)
	Heard         func(method string, params []byte) // is told of every notification first
	Serve         func(ctx context.Context, method string, params []byte) (result, rpcError []byte)
	Aside         bool      // a request of the gateway's, which causes no question
	Logs          bool      // its client set a level of log messages
	shared        *inFlight // when set, they answer what the upstream asks

	Memory   upstream.Memory // nil reserves nothing
	reserved bool            // memory must be settled
}

// Reply is the result or the error of an exchange; exactly one is set.
type Reply struct {
	Result, RPCError []byte
	Refused          bool // rpcError came with HTTP 400
}

// Poster sends JSON-RPC messages by HTTP POST to one URL.
type Poster struct {
	HTTP   *http.Client
	Tasks  *background.Tasks
	Place  Place
	URL    *url.URL
	Filter *Filter
	// Instance is the name of this gateway, or empty.
	Instance string
	Refused  func(ctx context.Context, sent http.Header, c *upstream.Challenge) (http.Header, error) // of the target
}

// request returns an HTTP request with a body that can be sent again, for
// redirects and other credentials.
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

// do sends a request, once more with other credentials after HTTP 401 when
// there are some. Its error is the context's, that of the
// target's Refused, or a fault.
func (p *Poster) do(req *http.Request) (*http.Response, error) {
	resp, err := p.send(req)
	if err != nil {
		return nil, err
	}
	if p.Refused == nil || resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden {
		return resp, nil
	}
	header, err := p.Refused(req.Context(), req.Header, challengeOf(resp))
	if err == nil && (header == nil || resp.StatusCode != http.StatusUnauthorized) {
		return resp, nil // with HTTP 403 it may have begun to process the request
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
	return p.send(again)
}

// send sends a request. Its error is the context's or a fault. Only to follow
// a redirect the request goes through the whole of the client, which prepares
// for redirects what every request would pay for.
func (p *Poster) send(req *http.Request) (*http.Response, error) {
	if p.URL.User != nil { // the client makes credentials of it
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

// failed returns the error for a failed exchange: the context's or a fault.
func (p *Poster) failed(ctx context.Context, err error) error {
	if ctxErr := ctx.Err(); ctxErr != nil {
		return ctxErr
	}
	return p.broken(err)
}

// post sends a message that has no answer in the HTTP response.
func (p *Poster) post(ctx context.Context, header http.Header, body []byte) error {
	resp, err := p.do(p.request(ctx, http.MethodPost, header, body))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		_, err := p.turnedAway(resp, 0, false)
		return err
	}
	// What some upstreams send in spite of that is read away, so that the
	// connection can be used again.
	_, _ = io.CopyN(io.Discard, resp.Body, maxErrorBytes)
	return nil
}

// turnedAway reads an HTTP answer that is not 2xx. It is the answer to the
// request when it carries a JSON-RPC error that fits; otherwise the error says
// what happened.
func (p *Poster) turnedAway(resp *http.Response, id int64, stateless bool) (Reply, error) {
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
	case m.Answers(id):
		switch {
		case resp.StatusCode == http.StatusNotFound && !stateless:
			answer = code == upstream.CodeMethodNotFound // otherwise the session is gone
		case resp.StatusCode == http.StatusBadRequest:
			// With these numbers upstreams with a handshake say that the
			// session or the version of a request is not theirs.
			answer = !upstream.IsSessionCode(code)
		default:
			answer = true
		}
	case noID:
		// Headers may be refused before the id is known.
		answer = upstream.IsModernCode(code) || stateless && (code == upstream.CodeMethodNotFound || code == upstream.CodeInvalidParams)
	}
	if answer {
		return Reply{RPCError: m.RPCError, Refused: resp.StatusCode == http.StatusBadRequest}, nil
	}
	err = p.refusal(resp, []byte(wire.ErrorText(m.RPCError)))
	var away *Refusal
	if errors.As(err, &away) {
		away.code, away.final = code, m.Answers(id) && !upstream.IsSessionCode(code)
	}
	return Reply{}, err
}

// readBody returns the body of an answer. The error is a fault when the body
// is encoded or larger than an answer may be.
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
		return nil, p.cutOff(err)
	}
	return body, nil
}

// tooLarge is the fault for an answer that exceeds the limit, which is smaller
// than that of all answers where other results of a batch leave less room.
func (p *Poster) tooLarge(limit int64) *fault.Fault {
	if limit < maxAnswerBytes {
		return fault.ResultTooLarge()
	}
	return p.Place.Invalid("sent an answer of more than %d MiB", maxAnswerBytes>>20)
}

// cutOff is the fault for an answer whose connection broke in the middle.
func (p *Poster) cutOff(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return p.Place.Unavailable("broke the connection in the middle of its answer").Because(&lostConnection{err: err})
}

func (p *Poster) checkEncoding(resp *http.Response) error {
	if e := resp.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return p.Place.Invalid("encoded its answer as %s, which was not asked for", wire.Excerpt([]byte(e)))
	}
	return nil
}

// answerServer answers a request of the upstream.
func (p *Poster) answerServer(ctx context.Context, header http.Header, m *wire.Message,
	serve func(context.Context, string, []byte) ([]byte, []byte)) {
	var result, rpcError []byte
	switch {
	case m.Method == "ping":
		result = []byte("{}")
	case serve != nil:
		result, rpcError = serve(ctx, m.Method, m.Params)
	}
	if result == nil && rpcError == nil {
		rpcError = []byte(`{"code":-32601,"message":"the gateway does not answer this request"}`)
	}
	ctx, cancel := context.WithTimeout(ctx, MaxReplyTime)
	defer cancel()
	// The upstream learns of a lost answer by its own time-out; nobody here
	// can do more about it.
	_ = p.post(ctx, header, wire.AppendAnswer(nil, m.ID, result, rpcError))
}

// mediaType returns the media type of an answer in lower case, without its
// parameters.
func mediaType(resp *http.Response) string {
	t := resp.Header.Get("Content-Type")
	if i := strings.IndexByte(t, ';'); i >= 0 {
		t = t[:i]
	}
	return strings.ToLower(strings.TrimSpace(t))
}

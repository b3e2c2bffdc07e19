package upstream

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
)

// transport carries JSON-RPC messages to one upstream.
type transport interface {
	// call sends a request and returns the answer to it. When the context
	// ends first, the error is the context's.
	call(ctx context.Context, x *exchange) (reply, error)
	// notify sends a message that has no answer.
	notify(ctx context.Context, header http.Header, body []byte) error
	// close ends what the transport holds at the upstream.
	close(ctx context.Context, header http.Header)
	// closed reports that the transport is not to be used for further calls.
	closed() bool
	// holdsSession reports that the upstream keeps something of us, which it
	// may forget.
	holdsSession() bool
}

// exchange is one request on its way.
type exchange struct {
	id        int64
	body      []byte
	header    http.Header
	stateless bool

	progressToken []byte // raw; only where calls share a stream
	notify        func(method string, params []byte)
	heard         func(method string, params []byte) // is told of every notification first
	serve         func(ctx context.Context, method string, params []byte) (result, rpcError []byte)
	aside         bool      // a request of the gateway's, which causes no question
	logs          bool      // its client set a level of log messages
	shared        *inFlight // when set, they answer what the upstream asks

	memory   Memory // nil reserves nothing
	reserved bool   // memory must be settled
}

// reply is the result or the error of an exchange; exactly one is set.
type reply struct {
	result, rpcError []byte
	refused          bool // rpcError came with HTTP 400
}

// poster sends JSON-RPC messages by HTTP POST to one URL.
type poster struct {
	http   *http.Client
	tasks  *background.Tasks
	place  place
	url    *url.URL
	filter *credentialFilter
	// instance is the name of this gateway, or empty.
	instance string
	refused  func(ctx context.Context, sent http.Header, c *Challenge) (http.Header, error) // of the target
}

// request returns an HTTP request with a body that can be sent again, for
// redirects and other credentials.
func (p *poster) request(ctx context.Context, method string, header http.Header, body []byte) *http.Request {
	blank := http.Request{Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1} // stays on the stack
	req := blank.WithContext(ctx)
	req.Method, req.URL, req.Host, req.Header = method, p.url, p.url.Host, header
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
func (p *poster) do(req *http.Request) (*http.Response, error) {
	resp, err := p.send(req)
	if err != nil {
		return nil, err
	}
	if p.refused == nil || resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden {
		return resp, nil
	}
	header, err := p.refused(req.Context(), req.Header, challengeOf(resp))
	if err == nil && (header == nil || resp.StatusCode != http.StatusUnauthorized) {
		return resp, nil // with HTTP 403 it may have begun to process the request
	}
	_ = resp.Body.Close()
	if err != nil {
		return nil, err
	}
	p.filter.use(req.Context(), header)
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
func (p *poster) send(req *http.Request) (*http.Response, error) {
	if p.url.User != nil { // the client makes credentials of it
		return p.follow(req)
	}
	resp, err := p.http.Transport.RoundTrip(req)
	if err != nil {
		return nil, p.failed(req.Context(), err)
	}
	p.filter.responseHeader(resp.Header)
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

func (p *poster) follow(req *http.Request) (*http.Response, error) {
	resp, err := p.http.Do(req)
	if err != nil {
		return nil, p.failed(req.Context(), err)
	}
	p.filter.responseHeader(resp.Header)
	return resp, nil
}

// failed returns the error for a failed exchange: the context's or a fault.
func (p *poster) failed(ctx context.Context, err error) error {
	if ctxErr := ctx.Err(); ctxErr != nil {
		return ctxErr
	}
	return p.broken(err)
}

// post sends a message that has no answer in the HTTP response.
func (p *poster) post(ctx context.Context, header http.Header, body []byte) error {
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
func (p *poster) turnedAway(resp *http.Response, id int64, stateless bool) (reply, error) {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBytes))
	body = p.filter.json(body)
	if resp.StatusCode < 400 || resp.StatusCode >= 500 {
		return reply{}, p.refusal(resp, body)
	}
	if mediaType(resp) != typeJSON {
		return reply{}, p.refusal(resp, body)
	}
	m, err := parseMessage(body)
	if err != nil || m.rpcError == nil {
		return reply{}, p.refusal(resp, body)
	}
	code := errorCode(m.rpcError)
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
		return reply{}, p.refusal(resp, body)
	}
	noID := m.id == nil || rawjson.Kind(m.id) == 'n'
	answer := false
	switch {
	case m.answers(id):
		switch {
		case resp.StatusCode == http.StatusNotFound && !stateless:
			answer = code == CodeMethodNotFound // otherwise the session is gone
		case resp.StatusCode == http.StatusBadRequest:
			// With these numbers upstreams with a handshake say that the
			// session or the version of a request is not theirs.
			answer = !isSessionCode(code)
		default:
			answer = true
		}
	case noID:
		// Headers may be refused before the id is known.
		answer = isModernCode(code) || stateless && (code == CodeMethodNotFound || code == CodeInvalidParams)
	}
	if answer {
		return reply{rpcError: m.rpcError, refused: resp.StatusCode == http.StatusBadRequest}, nil
	}
	err = p.refusal(resp, []byte(errorText(m.rpcError)))
	var away *refusal
	if errors.As(err, &away) {
		away.code, away.final = code, m.answers(id) && !isSessionCode(code)
	}
	return reply{}, err
}

// readBody returns the body of an answer. The error is a fault when the body
// is encoded or larger than an answer may be.
func (p *poster) readBody(ctx context.Context, x *exchange, resp *http.Response) ([]byte, error) {
	if err := p.checkEncoding(resp); err != nil {
		return nil, err
	}
	var refused error
	limit := int64(maxAnswerBytes)
	body, err := readBounded(resp.Body, resp.ContentLength, maxAnswerBytes, func() (int64, error) {
		limit, refused = x.reserve(ctx, resp.ContentLength)
		return limit, refused
	})
	switch {
	case refused != nil:
		return nil, refused
	case errors.Is(err, errTooLong):
		return nil, p.tooLarge(limit)
	case err != nil:
		return nil, p.cutOff(err)
	}
	return body, nil
}

// tooLarge is the fault for an answer that exceeds the limit, which is smaller
// than that of all answers where other results of a batch leave less room.
func (p *poster) tooLarge(limit int64) *fault.Fault {
	if limit < maxAnswerBytes {
		return fault.ResultTooLarge()
	}
	return p.place.invalid("sent an answer of more than %d MiB", maxAnswerBytes>>20)
}

// cutOff is the fault for an answer whose connection broke in the middle.
func (p *poster) cutOff(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return p.place.unavailable("broke the connection in the middle of its answer").Because(&lostConnection{err: err})
}

func (p *poster) checkEncoding(resp *http.Response) error {
	if e := resp.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return p.place.invalid("encoded its answer as %s, which was not asked for", Excerpt([]byte(e)))
	}
	return nil
}

// answerServer answers a request of the upstream.
func (p *poster) answerServer(ctx context.Context, header http.Header, m *message,
	serve func(context.Context, string, []byte) ([]byte, []byte)) {
	var result, rpcError []byte
	switch {
	case m.method == "ping":
		result = []byte("{}")
	case serve != nil:
		result, rpcError = serve(ctx, m.method, m.params)
	}
	if result == nil && rpcError == nil {
		rpcError = []byte(`{"code":-32601,"message":"the gateway does not answer this request"}`)
	}
	ctx, cancel := context.WithTimeout(ctx, maxReplyTime)
	defer cancel()
	// The upstream learns of a lost answer by its own time-out; nobody here
	// can do more about it.
	_ = p.post(ctx, header, appendAnswer(nil, m.id, result, rpcError))
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

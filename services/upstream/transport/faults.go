package transport

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"mcpgateway/services/egress"
	"mcpgateway/services/fault"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/wire"
)

// FaultOrigin names an upstream in faults: its alias in messages and the host of its
// URL in details. It never contains more of the URL, because a path or query
// can contain a secret.
type FaultOrigin struct{ Alias, Host string }

// String returns the name of the upstream for the start of a message.
func (p FaultOrigin) String() string {
	if p.Alias == "" {
		return "The upstream"
	}
	return "Upstream " + strconv.Quote(p.Alias)
}

// Fault returns a fault of the upstream. Its message starts with the name.
func (p FaultOrigin) Fault(code fault.Code, format string, args ...any) *fault.Fault {
	f := fault.Upstream(code, "%s "+format, append([]any{p}, args...)...)
	f.Detail = "at " + p.Host
	return f
}

// Unavailable returns an UPSTREAM_UNAVAILABLE fault.
func (p FaultOrigin) Unavailable(format string, args ...any) *fault.Fault {
	return p.Fault(fault.CodeUpstreamUnavailable, format, args...)
}

// Invalid returns an UPSTREAM_INVALID_RESPONSE fault.
func (p FaultOrigin) Invalid(format string, args ...any) *fault.Fault {
	return p.Fault(fault.CodeUpstreamInvalidResponse, format, args...)
}

// TimedOut returns an UPSTREAM_TIMEOUT fault.
func (p FaultOrigin) TimedOut(after time.Duration) *fault.Fault {
	if after >= time.Second {
		after = after.Round(100 * time.Millisecond)
	} else {
		after = after.Round(time.Millisecond)
	}
	f := p.Fault(fault.CodeUpstreamTimeout, "did not respond within %s.", after)
	f.Reason = string(upstream.ReasonTimeout.WithParameter(after.String()))
	return f
}

func (p FaultOrigin) unauthorized(resp *http.Response) *fault.Fault {
	challenge := challengeOf(resp)
	advice, why := "Check its configured credentials.", upstream.ReasonCredentials
	switch {
	case resp.StatusCode == http.StatusForbidden:
		advice, why = "Check that its credentials have the required permissions.", upstream.ReasonForbidden
	case challenge.OffersOAuth():
		why = upstream.ReasonSignIn
	}
	f := p.Fault(fault.CodeUpstreamUnauthorized, "rejected the credentials (HTTP %d). %s", resp.StatusCode, advice).Because(challenge)
	f.Reason = string(why)
	return f
}

func challengeOf(resp *http.Response) *upstream.Challenge {
	return &upstream.Challenge{Status: resp.StatusCode, WWWAuthenticate: resp.Header.Values("WWW-Authenticate")}
}

// broken returns the fault for a failed HTTP request. It omits the URL that
// net/http adds to errors, because its query can contain a secret.
func (p *Poster) broken(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	var unavailable *fault.Fault // a credential of the connection
	if errors.As(err, &unavailable) {
		return unavailable
	}
	var ended *upstream.Ended
	if errors.As(err, &ended) {
		return upstream.Stopped(p.Place.Alias, p.Filter.Text(ended.Text)).Because(&connectionError{err: err})
	}
	var op *net.OpError
	lost := &connectionError{err: err, text: p.Filter.Text(err.Error()), Unsent: egress.IsUnsent(err) || errors.As(err, &op) && op.Op == "dial"}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		f := p.Place.Fault(fault.CodeUpstreamTimeout, "could not be reached in time.").Because(lost)
		f.Reason = string(upstream.ReasonNoConnection)
		return f
	}
	reason, why, detail := reasonOf(err)
	f := p.Place.Unavailable("cannot be reached: %s.", why)
	if detail != "" {
		detail = p.Filter.Text(detail)
		f.Detail += ": " + detail
	}
	switch reason {
	case upstream.ReasonCertificate:
		reason = reason.WithParameter(detail)
	case upstream.ReasonClosed:
		reason = reason.WithParameter(why)
	}
	f.Reason = string(reason)
	return f.Because(lost)
}

// connectionError is the cause of the fault for a request without a complete
// response.
type connectionError struct {
	err    error
	text   string // text of err without credentials, or empty
	Unsent bool   // no byte of the request was written
}

// Error returns the text of the connection error.
func (l *connectionError) Error() string {
	if l.text != "" {
		return l.text
	}
	return l.err.Error()
}

func (l *connectionError) Unwrap() error { return l.err }

// reasonOf returns the reason of a failed connection and its text. detail is only
// for administrators, because it can contain addresses. It may be empty.
func reasonOf(err error) (reason upstream.Reason, why, detail string) {
	var (
		name    *net.DNSError
		op      *net.OpError
		errno   syscall.Errno
		blocked *egress.Blocked
	)
	if why, text, ok := egress.IsCertificateError(err); ok {
		return upstream.ReasonCertificate, why, wire.Excerpt([]byte(text))
	}
	switch {
	case errors.Is(err, context.Canceled):
		// net/http gave this request the connection of another one that was
		// cancelled.
		return upstream.ReasonClosed, "the connection was closed", ""
	case errors.As(err, &name) && name.IsNotFound:
		return upstream.ReasonHost, "the host name does not exist", ""
	case errors.As(err, &name):
		return upstream.ReasonHost, "the host name lookup failed", ""
	case errors.Is(err, syscall.ECONNREFUSED):
		return upstream.ReasonRefused, syscall.ECONNREFUSED.Error(), ""
	case errors.As(err, &errno):
		return upstream.ReasonClosed, errno.Error(), ""
	case errors.As(err, &blocked):
		return upstream.ReasonBlocked, "the address is not allowed", wire.Excerpt([]byte(blocked.Error()))
	case errors.As(err, &op) && op.Err != nil:
		return upstream.ReasonClosed, "the connection failed", wire.Excerpt([]byte(op.Err.Error()))
	}
	if text := err.Error(); text != "EOF" && text != "unexpected EOF" {
		return upstream.ReasonClosed, "the connection failed", wire.Excerpt([]byte(text))
	}
	return upstream.ReasonClosed, "the server closed the connection", ""
}

// Refusal is an HTTP response that is not 2xx. Some reject a request before it
// is processed, so the request can be retried. Otherwise the caller receives
// the fault.
type Refusal struct {
	status int
	fault  *fault.Fault
	said   string // text of the body or of its JSON-RPC error
	// final is set if the body is a JSON-RPC error for this request with a code
	// that is not about the session.
	final bool
	code  int64 // of the JSON-RPC error, or 0
}

// ProvesUnprocessed reports whether the upstream rejected the request before it
// processed it. session reports whether the request had a session ID.
func (r *Refusal) ProvesUnprocessed(session bool) bool {
	switch {
	case r.final:
		return false
	case r.status == http.StatusMethodNotAllowed: // no POST at all
		return true
	case r.status == http.StatusNotFound: // MCP 2025-03-26 to 2025-11-25, "Session Management"
		return session
	case r.status == http.StatusBadRequest: // used by servers that do not follow the specification
		return upstream.IsRevisionCode(r.code) || deniesSession(r.said)
	}
	return false
}

// deniesSession reports whether the text of an HTTP 400 response is one of the
// official SDKs' for an unknown session or protocol revision. The SDKs check
// both before they read the request.
func deniesSession(text string) bool {
	text = strings.ToLower(text)
	if strings.Contains(text, "unsupported protocol version") || strings.Contains(text, "server not initialized") {
		return true
	}
	if !strings.Contains(text, "session") {
		return false
	}
	for _, denial := range [...]string{"no valid", "not found", "no transport found", "invalid or missing", "header is required"} {
		if strings.Contains(text, denial) {
			return true
		}
	}
	return false
}

// IsUnknownHere reports whether the upstream rejected the session or the whole
// transport (MCP 2025-11-25, "Backwards compatibility").
func (r *Refusal) IsUnknownHere() bool {
	switch r.status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusGone:
		return true
	}
	return false
}

// Error returns the text of the fault.
func (r *Refusal) Error() string { return r.fault.Error() }

// Unwrap returns the fault.
func (r *Refusal) Unwrap() error { return r.fault }

// refused returns the error for a non-2xx HTTP response: UPSTREAM_UNAUTHORIZED
// or a *Refusal.
func (p FaultOrigin) refused(resp *http.Response, body []byte) error {
	status, text, said := resp.StatusCode, "", ""
	if len(body) > 0 && mediaType(resp) != "text/html" {
		text = wire.Excerpt(body)
		said = ": " + text
	}
	var f *fault.Fault
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return p.unauthorized(resp)
	case status == http.StatusTooManyRequests || status >= 500:
		f = p.Unavailable("responded with HTTP %d.", status)
		if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && s > 0 && s <= 86_400 {
			f.RetryAfter = time.Duration(s) * time.Second
		}
	case status >= 300 && status < 400:
		f = p.Unavailable("responded with a redirect (HTTP %d), which is not followed.", status)
		if to, err := resp.Location(); err == nil && to.Host != "" {
			f = p.Unavailable("redirects to another address (HTTP %d), which is not followed. If you trust it, configure the new URL.", status)
			f.Detail += ", to " + wire.Excerpt([]byte(to.Host))
		}
	case status == http.StatusNotFound || status == http.StatusMethodNotAllowed || status == http.StatusGone:
		f = p.Unavailable("has no MCP endpoint at the configured URL (HTTP %d%s).", status, said)
	default:
		f = p.Invalid("rejected the request (HTTP %d%s).", status, said)
	}
	f.Reason = string(statusReason(status))
	return &Refusal{status: status, fault: f, said: text}
}

// statusReason returns the reason for a non-2xx status other than 401 and 403.
func statusReason(status int) upstream.Reason {
	switch {
	case status >= 300 && status < 400:
		return upstream.ReasonRedirect
	case status == http.StatusNotFound || status == http.StatusMethodNotAllowed || status == http.StatusGone:
		return upstream.ReasonNoEndpoint
	}
	return upstream.ReasonHTTP.WithParameter(strconv.Itoa(status))
}

// message parses a message of the upstream. Only responses can be larger than
// maxEventBytes.
func (p FaultOrigin) message(data []byte) (wire.Message, error) {
	m, err := wire.ParseMessage(data)
	switch {
	case err != nil:
		return wire.Message{}, p.Invalid("sent an invalid JSON-RPC message: %s", wire.Excerpt(data)).Because(err)
	case m.Method != "" && len(data) > maxEventBytes:
		return wire.Message{}, p.Invalid("sent a notification or request larger than %d MiB.", maxEventBytes>>20)
	}
	return m, nil
}

// refusal returns the error for a non-2xx HTTP response with the body.
func (p *Poster) refusal(resp *http.Response, body []byte) error {
	if resp.StatusCode != http.StatusLoopDetected {
		return p.Place.refused(resp, body)
	}
	f := p.Place.Invalid("is in a loop or behind more than %d gateways. Check its URL.", upstream.MaxHops)
	if p.Instance != "" && resp.Header.Get(upstream.HeaderHops) == p.Instance {
		f = p.Place.Invalid("points back to this gateway. Check its URL.")
	}
	return &Refusal{status: resp.StatusCode, fault: f}
}

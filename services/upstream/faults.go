package upstream

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
	"unicode"
	"unicode/utf8"

	"mcpgateway/services/egress"
	"mcpgateway/services/fault"
)

// place names an upstream in messages: its alias and the host of its URL,
// never more of the URL, because a path or query may hold a secret.
type place struct{ alias, host string }

func (p place) String() string {
	if p.alias == "" {
		return "the upstream at " + p.host
	}
	return "upstream " + strconv.Quote(p.alias) + " at " + p.host
}

func (p place) unavailable(format string, args ...any) *fault.Fault {
	return fault.Upstream(fault.CodeUpstreamUnavailable, "%s "+format, append([]any{p}, args...)...)
}

func (p place) invalid(format string, args ...any) *fault.Fault {
	return fault.Upstream(fault.CodeUpstreamInvalidResponse, "%s "+format, append([]any{p}, args...)...)
}

func (p place) timedOut(after time.Duration) *fault.Fault {
	if after >= time.Second {
		after = after.Round(100 * time.Millisecond)
	} else {
		after = after.Round(time.Millisecond)
	}
	return fault.Upstream(fault.CodeUpstreamTimeout, "%s did not answer within %s", p, after)
}

// Challenge is the cause of an UPSTREAM_UNAUTHORIZED fault: the HTTP status
// and the WWW-Authenticate values with which an upstream turned a request
// away (RFC 9110 section 11.6.1). errors.As finds it.
type Challenge struct {
	Status          int
	WWWAuthenticate []string
}

// Error returns the status and the challenges.
func (c *Challenge) Error() string {
	return "HTTP " + strconv.Itoa(c.Status) + " " + strings.Join(c.WWWAuthenticate, ", ")
}

func (p place) unauthorized(resp *http.Response) *fault.Fault {
	advice := "check the credentials configured for it"
	if resp.StatusCode == http.StatusForbidden {
		advice = "check that its credentials carry the rights it asks for"
	}
	return fault.Upstream(fault.CodeUpstreamUnauthorized, "%s refused our credentials (HTTP %d): %s", p, resp.StatusCode, advice).
		Because(challengeOf(resp))
}

func challengeOf(resp *http.Response) *Challenge {
	return &Challenge{Status: resp.StatusCode, WWWAuthenticate: resp.Header.Values("WWW-Authenticate")}
}

// broken is the fault for a failed HTTP exchange. The URL that net/http puts
// into its errors is left out, because its query may hold a secret.
func (p place) broken(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	var op *net.OpError
	lost := &lostConnection{err: err, unsent: egress.IsUnsent(err) || errors.As(err, &op) && op.Op == "dial"}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return fault.Upstream(fault.CodeUpstreamTimeout, "%s could not be reached in time", p).Because(lost)
	}
	return p.unavailable("cannot be reached: %s", reason(err)).Because(lost)
}

// lostConnection is the cause of the fault for an exchange that failed on the
// way, so that no answer came.
type lostConnection struct {
	err    error
	unsent bool // no byte of the request was written
}

func (l *lostConnection) Error() string { return l.err.Error() }

func (l *lostConnection) Unwrap() error { return l.err }

// reason says briefly why a connection failed.
func reason(err error) string {
	var (
		name  *net.DNSError
		op    *net.OpError
		errno syscall.Errno
	)
	switch {
	case errors.Is(err, context.Canceled):
		// The request was not cancelled, but another one was that net/http had
		// given the same connection.
		return "its connection was closed"
	case errors.As(err, &name) && name.IsNotFound:
		return "its host name does not exist"
	case errors.As(err, &name):
		return "its host name could not be looked up"
	case errors.As(err, &errno):
		return errno.Error()
	case errors.As(err, &op) && op.Err != nil:
		return excerpt([]byte(op.Err.Error()))
	}
	if text := err.Error(); text != "EOF" && text != "unexpected EOF" {
		return excerpt([]byte(text))
	}
	return "it closed the connection"
}

// excerpt returns what can be shown of an upstream's words: the beginning,
// printable, on one line.
func excerpt(b []byte) string {
	cut := len(b) > maxExcerptBytes
	if cut {
		b = b[:maxExcerptBytes]
		for len(b) > 0 && !utf8.RuneStart(b[len(b)-1]) {
			b = b[:len(b)-1]
		}
		if len(b) > 0 && b[len(b)-1] >= utf8.RuneSelf {
			b = b[:len(b)-1]
		}
	}
	s := strings.Map(func(r rune) rune {
		switch {
		case r == utf8.RuneError || !unicode.IsPrint(r) && !unicode.IsSpace(r):
			return '.'
		case unicode.IsSpace(r):
			return ' '
		}
		return r
	}, string(b))
	if cut {
		s += "..."
	}
	return s
}

// refusal is an HTTP answer that is not 2xx. Some of them turn a request away
// before it is processed, so it may be repeated in another way; when that is
// not done, the fault is what the caller gets.
type refusal struct {
	status int
	fault  *fault.Fault
}

// isUnknownHere reports whether the upstream does not know what was addressed:
// the session, or the whole way of speaking (MCP 2025-11-25, "Backwards
// compatibility").
func (r *refusal) isUnknownHere() bool {
	switch r.status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusGone:
		return true
	}
	return false
}

func (r *refusal) Error() string { return r.fault.Error() }

func (r *refusal) Unwrap() error { return r.fault }

// refused returns the error for a non-2xx HTTP answer: UPSTREAM_UNAUTHORIZED,
// or a refusal.
func (p place) refused(resp *http.Response, body []byte) error {
	status := resp.StatusCode
	said := ""
	if len(body) > 0 && mediaType(resp) != "text/html" {
		said = ": " + excerpt(body)
	}
	var f *fault.Fault
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return p.unauthorized(resp)
	case status == http.StatusTooManyRequests || status >= 500:
		f = p.unavailable("answered HTTP %d", status)
		if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && s > 0 && s <= 86_400 {
			f.RetryAfter = time.Duration(s) * time.Second
		}
	case status >= 300 && status < 400:
		f = p.unavailable("answered with a redirect (HTTP %d), which is not followed", status)
		if to, err := resp.Location(); err == nil && to.Host != "" {
			f = p.unavailable("redirects to %s (HTTP %d), which is not followed: configure the new URL if you trust it", excerpt([]byte(to.Host)), status)
		}
	case status == http.StatusNotFound || status == http.StatusMethodNotAllowed || status == http.StatusGone:
		f = p.unavailable("has no MCP endpoint at the configured URL (HTTP %d%s)", status, said)
	default:
		f = p.invalid("refused the request (HTTP %d%s)", status, said)
	}
	return &refusal{status: status, fault: f}
}

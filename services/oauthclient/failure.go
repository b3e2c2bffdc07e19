package oauthclient

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strings"
	"syscall"
	"time"
	"unicode"

	"mcpgateway/services/egress"
	"mcpgateway/services/fault"
)

// failure is what kept a step of a connection from succeeding: the state it
// leaves, a code for machines and a text for administrators. The cause is for
// the log.
type failure struct {
	state State
	code  string
	text  string
	retry time.Duration // when the authorization server asked to come back; 0 when it did not
	cause error

	// Where the gateway could not be registered, and why no other way was
	// left; empty for other failures.
	issuer  string
	reasons []string
}

// Codes of failures that are no OAuth error codes.
const (
	codeUnreachable   = "unreachable"
	codeTimeout       = "timeout"
	codeBlocked       = "blocked_by_policy"
	codeMetadata      = "invalid_metadata"
	codeNoMetadata    = "no_metadata"
	codeResource      = "resource_mismatch"
	codeIssuer        = "issuer_mismatch"
	codePKCE          = "pkce_unsupported"
	codeEndpoint      = "insecure_endpoint"
	codeRegistration  = "registration_unavailable"
	codeTokenAnswer   = "invalid_token_response"
	codeTokenRefused  = "token_refused"
	codeServerError   = "server_error"
	codeIssuerChanged = "issuer_changed"
)

// OAuth error codes that decide what happens next (RFC 6749 section 5.2).
const (
	oauthInvalidGrant  = "invalid_grant"
	oauthInvalidClient = "invalid_client"
)

func (f *failure) Error() string {
	if f.cause != nil {
		return f.text + ": " + f.cause.Error()
	}
	return f.text
}

func (f *failure) Unwrap() error { return f.cause }

// fail returns a failure; text is made presentable.
func fail(state State, code, text string) *failure {
	return &failure{state: state, code: code, text: presentable(text)}
}

func (f *failure) because(cause error) *failure {
	g := *f
	g.cause = cause
	return &g
}

// unreachable returns the failure of an HTTP exchange that broke. The URL that
// net/http puts into its errors is left out, as its query may hold a secret.
func unreachable(who string, err error) *failure {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	var blocked *egress.Blocked
	if errors.As(err, &blocked) {
		return fail(BlockedByPolicy, codeBlocked, who+" cannot be reached: "+blocked.Error()).because(err)
	}
	var slow net.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &slow) && slow.Timeout() {
		return fail(Degraded, codeTimeout, who+" did not answer in time").because(err)
	}
	var errno syscall.Errno
	if errors.As(err, &errno) { // the text of err names addresses, which clients may not read
		return fail(Degraded, codeUnreachable, who+" cannot be reached: "+errno.Error()).because(err)
	}
	return fail(Degraded, codeUnreachable, who+" cannot be reached: "+err.Error()).because(err)
}

// failureOf returns err as a failure; anything else becomes one that is tried
// again.
func failureOf(err error) *failure {
	var f *failure
	if errors.As(err, &f) {
		return f
	}
	return fail(Degraded, codeServerError, fault.From(err).Message).because(err)
}

// asFault returns what callers get for a failure while the server with the
// alias was being connected or called.
func (f *failure) asFault(alias string) *fault.Fault {
	code := fault.CodeUpstreamUnauthorized
	switch {
	case f.state == Degraded && f.code == codeTimeout:
		code = fault.CodeUpstreamTimeout
	case f.state == Degraded || f.state == BlockedByPolicy:
		code = fault.CodeUpstreamUnavailable
	}
	out := fault.Upstream(code, "the OAuth connection of server %s: %s", alias, f.text)
	out.RetryAfter = f.retry
	return out.Because(f.cause)
}

// presentable returns text as administrators see it: printable, on one line,
// without marks that change the direction of writing, of at most maxText
// characters.
func presentable(text string) string {
	text = strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, text)), " ")
	if r := []rune(text); len(r) > maxText {
		return string(r[:maxText-1]) + "…"
	}
	return text
}

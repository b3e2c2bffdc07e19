package authserver

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
)

// Error is a failed step at an authorization server. All methods of Client
// return errors of this type.
type Error struct {
	Kind       Kind
	Code       string        // an OAuth error code or one of the package
	Text       string        // for administrators
	RetryAfter time.Duration // requested by the authorization server; 0 if not
	Cause      error         // for the log; may be nil
}

// Kind classifies an Error by the action that can resolve it.
type Kind int

// The kinds of errors.
const (
	Temporary      Kind = iota // retry later
	Blocked                    // allow the address in GATEWAY_EGRESS_ALLOW
	GrantRejected              // authorize again
	ClientRejected             // register again, or enter another client
)

// Codes of errors. Others are OAuth error codes of the authorization server.
const (
	CodeTimeout       = "timeout"
	CodeServerError   = "server_error"
	CodeIssuer        = "issuer_mismatch"
	CodeRegistration  = "registration_unavailable"
	CodeTokenResponse = "invalid_token_response"

	codeUnreachable = "unreachable"
	codeBlocked     = "blocked_by_policy"
	codeMetadata    = "invalid_metadata"
	codeNoMetadata  = "no_metadata"
	codeResource    = "resource_mismatch"
	codePKCE        = "pkce_unsupported"
	codeEndpoint    = "insecure_endpoint"
	codeAssertion   = "invalid_private_key"
)

// OAuth error codes with a Kind (RFC 6749 section 5.2).
const (
	CodeInvalidClient = "invalid_client"

	codeInvalidGrant = "invalid_grant"
)

// maxText is the maximum length of a displayed error in characters.
const maxText = 200

// Error returns the text with the cause.
func (e *Error) Error() string {
	if e.Cause != nil {
		return e.Text + ": " + e.Cause.Error()
	}
	return e.Text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

func newError(kind Kind, code, text string) *Error {
	return &Error{Kind: kind, Code: DisplayText(code), Text: DisplayText(text)}
}

func (e *Error) because(cause error) *Error {
	e.Cause = cause
	return e
}

// unreachable returns the error of a failed HTTP request. It omits the URL that
// net/http adds to its errors, because the query may contain a secret.
func unreachable(who string, err error) *Error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	var blocked *egress.Blocked
	if errors.As(err, &blocked) {
		return newError(Blocked, codeBlocked, who+" can't be reached: "+blocked.Error()).because(err)
	}
	var slow net.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &slow) && slow.Timeout() {
		return newError(Temporary, CodeTimeout, who+" didn't respond in time.").because(err)
	}
	var errno syscall.Errno
	if errors.As(err, &errno) { // err contains addresses, which clients must not see
		return newError(Temporary, codeUnreachable, who+" can't be reached: "+errno.Error()).because(err)
	}
	return newError(Temporary, codeUnreachable, who+" can't be reached: "+err.Error()).because(err)
}

// DisplayText returns text for display: printable, on one line, without
// bidirectional control characters, and truncated to 200 characters.
func DisplayText(text string) string {
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

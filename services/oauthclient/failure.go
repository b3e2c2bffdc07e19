package oauthclient

import (
	"errors"
	"time"

	"mcpgateway/services/fault"
	"mcpgateway/services/oauthclient/authserver"
	"mcpgateway/services/upstream"
)

// failure is a failed step of a connection: the resulting state, a code for
// machines and a text for administrators. The cause is for the log.
type failure struct {
	state State
	code  string
	text  string
	retry time.Duration // requested by the authorization server; 0 if not
	cause error

	// For a failed registration: the issuer, and the reasons no registration
	// was possible.
	issuer  string
	reasons []string
}

// Codes of failures besides those of package authserver.
const (
	codeTokenRejected = "token_refused"
	codeIssuerChanged = "issuer_changed"
	codeNoSecret      = "no_client_secret"
)

// Error returns the text with the cause.
func (f *failure) Error() string {
	if f.cause != nil {
		return f.text + ": " + f.cause.Error()
	}
	return f.text
}

// Unwrap returns the cause.
func (f *failure) Unwrap() error { return f.cause }

func fail(state State, code, text string) *failure {
	return &failure{state: state, code: code, text: authserver.DisplayText(text)}
}

func (f *failure) because(cause error) *failure {
	g := *f
	g.cause = cause
	return &g
}

// asFailure returns the failure in err. ok is false if there is none.
func asFailure(err error) (f *failure, ok bool) {
	if errors.As(err, &f) {
		return f, true
	}
	var e *authserver.Error
	if !errors.As(err, &e) {
		return nil, false
	}
	return &failure{state: stateAfter(e.Kind), code: e.Code, text: e.Text, retry: e.RetryAfter, cause: e.Cause}, true
}

// stateAfter returns the state of a connection after an error of the
// authorization server.
func stateAfter(kind authserver.Kind) State {
	switch kind {
	case authserver.Blocked:
		return BlockedByPolicy
	case authserver.GrantRejected:
		return NeedsReauth
	case authserver.ClientRejected:
		return RegistrationRejected
	default:
		return Degraded
	}
}

// failureOf returns the failure in err, or a temporary one for other errors.
func failureOf(err error) *failure {
	if f, ok := asFailure(err); ok {
		return f
	}
	return fail(Degraded, authserver.CodeServerError, fault.From(err).Message).because(err)
}

// reason returns the reason of the failure for pages.
func (f *failure) reason() upstream.Reason {
	switch {
	case f.state == NeedsReauth:
		return upstream.ReasonRevoked
	case f.state == NotConnected:
		return upstream.ReasonNotConnected
	case f.state == BlockedByPolicy:
		return upstream.ReasonBlocked
	case f.state == Degraded && f.code == authserver.CodeTimeout:
		return upstream.ReasonTimeout
	}
	return upstream.ReasonOther
}

// asFault returns the fault for callers of the server with the alias.
func (f *failure) asFault(alias string) *fault.Fault {
	code := fault.CodeUpstreamUnauthorized
	switch {
	case f.state == Degraded && f.code == authserver.CodeTimeout:
		code = fault.CodeUpstreamTimeout
	case f.state == Degraded || f.state == BlockedByPolicy:
		code = fault.CodeUpstreamUnavailable
	}
	out := fault.Upstream(code, "Can't authorize requests to server %s. %s", alias, f.text)
	out.RetryAfter, out.Reason = f.retry, string(f.reason())
	return out.Because(f.cause)
}

package upstream

import (
	"slices"
	"strconv"
	"strings"

	"mcpgateway/services/upstream/wire"
)

// Challenge is the cause of an UPSTREAM_UNAUTHORIZED fault: the HTTP status and
// the WWW-Authenticate values of the upstream (RFC 9110, section 11.6.1).
// errors.As finds it.
type Challenge struct {
	Status          int
	WWWAuthenticate []string
}

// Error returns the status and the challenges.
func (c *Challenge) Error() string {
	return "HTTP " + strconv.Itoa(c.Status) + " " + strings.Join(c.WWWAuthenticate, ", ")
}

// OffersOAuth reports whether the challenge refers to protected resource metadata
// (RFC 9728, section 5.1).
func (c *Challenge) OffersOAuth() bool {
	return slices.ContainsFunc(c.WWWAuthenticate, func(s string) bool { return strings.Contains(s, "resource_metadata") })
}

// AnswerError is a raw JSON-RPC error object from an upstream.
type AnswerError struct{ Raw []byte }

// Error returns the code and the message of the error.
func (e *AnswerError) Error() string { return "upstream error: " + wire.ErrorText(e.Raw) }

package upstream

import (
	"strconv"
	"strings"

	"mcpgateway/services/upstream/wire"
)

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

// AnswerError is the JSON-RPC error object, raw, with which an upstream
// refused something.
type AnswerError struct{ Raw []byte }

// Error returns the number and the message of the error.
func (e *AnswerError) Error() string { return "the upstream answered " + wire.ErrorText(e.Raw) }

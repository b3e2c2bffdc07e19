package upstream

import (
	"crypto/sha256"
	"maps"
	"slices"

	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
)

// Credentials authenticate requests to a server.
type Credentials struct {
	Bearer  secrets.Value            // zero without a bearer token
	Headers map[string]secrets.Value // values that a user entered, by header name; not modified
}

// IsZero reports whether there are no credentials.
func (c Credentials) IsZero() bool { return c.Bearer.IsZero() && len(c.Headers) == 0 }

// Equal reports whether both are the same.
func (c Credentials) Equal(other Credentials) bool {
	return c.Bearer.Reveal() == other.Bearer.Reveal() &&
		maps.EqualFunc(c.Headers, other.Headers, func(a, b secrets.Value) bool { return a.Reveal() == b.Reveal() })
}

// Fingerprint returns a hash that is the same for equal credentials.
func (c Credentials) Fingerprint() string {
	h := sha256.New()
	h.Write([]byte(c.Bearer.Reveal()))
	for _, name := range slices.Sorted(maps.Keys(c.Headers)) {
		h.Write([]byte("\n" + name + "\n" + c.Headers[name].Reveal()))
	}
	return string(h.Sum(nil))
}

// The codes of warnings about servers whose tools are listed but can't be called
// before an administrator or the user acts.
const (
	WarningNeedsConnection = "SERVER_NEEDS_CONNECTION" // an administrator or the user must connect it
	WarningNeedsPerson     = "SERVER_NEEDS_PERSON"     // the caller must be a user
)

// Pending is the reason for which calls to a server wait. In the zero value they
// can be sent.
type Pending struct {
	Code   string // of the warning
	Reason string // a clause for display to clients
}

// PersonRequired returns the fault for a request without a user to a server
// that everyone uses with their own account.
func PersonRequired(alias string) *fault.Fault {
	return fault.New(fault.KindDisabled, fault.CodePersonRequired, "%s acts for people: use a personal key, or an app that signs in.", alias)
}

// ConnectionRequired returns the fault for a request of a user whose own
// connection to the server is missing, has ended or was rejected.
func ConnectionRequired(alias string, reason Reason) *fault.Fault {
	f := fault.Upstream(fault.CodeConnectionRequired, "%s needs your account. Connect it and try again.", alias)
	f.Reason = string(reason)
	return f
}

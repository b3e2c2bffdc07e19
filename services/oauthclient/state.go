package oauthclient

// State is how a connection stands, as administrators see it.
type State string

// The states of a connection. Authorizing and expiring are never stored: they
// follow from the flows and times.
const (
	NotConnected         State = "not_connected"
	Authorizing          State = "authorizing" // somebody has begun and not come back yet
	Connected            State = "connected"
	Expiring             State = "expiring"              // works, and cannot be renewed when its token ends
	Degraded             State = "degraded"              // its renewal fails at present and is tried again
	NeedsReauth          State = "needs_reauth"          // a person must authorize it again
	IssuerChanged        State = "issuer_changed"        // the server trusts another authorization server now
	RegistrationRejected State = "registration_rejected" // the authorization server does not accept the gateway as a client
	BlockedByPolicy      State = "blocked_by_policy"     // GATEWAY_EGRESS_ALLOW forbids the authorization server's address
)

// Why a person is needed; the reasons of NeedsReauth.
const (
	ReasonInvalidGrant      = "invalid_grant"      // the authorization ended or was withdrawn
	ReasonNoRefreshToken    = "no_refresh_token"   // the access token ended, and there is nothing to renew it with
	ReasonInsufficientScope = "insufficient_scope" // the server asks for rights that were not granted
	ReasonURLChanged        = "url_changed"        // the tokens are for another URL than the configured one
	ReasonClientChanged     = "client_changed"     // another static client was entered
)

// needsPerson reports whether nothing but an authorization helps.
func (s State) needsPerson() bool {
	switch s {
	case NeedsReauth, IssuerChanged, RegistrationRejected:
		return true
	}
	return false
}

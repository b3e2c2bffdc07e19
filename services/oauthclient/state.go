package oauthclient

// State is the state of a connection as shown to administrators.
type State string

// The states of a connection. Authorizing and Expiring are never stored: they
// are derived from flows and times.
const (
	NotConnected         State = "not_connected"
	Authorizing          State = "authorizing" // an authorization was started and not finished
	Connected            State = "connected"
	Expiring             State = "expiring"              // valid, but without a refresh token
	Degraded             State = "degraded"              // refreshes fail and are retried
	NeedsReauth          State = "needs_reauth"          // an administrator must authorize it again
	IssuerChanged        State = "issuer_changed"        // the server trusts another authorization server
	RegistrationRejected State = "registration_rejected" // the authorization server rejects the gateway as a client
	BlockedByPolicy      State = "blocked_by_policy"     // GATEWAY_EGRESS_ALLOW doesn't allow the authorization server's address
)

// Reasons of NeedsReauth.
const (
	ReasonInvalidGrant      = "invalid_grant"      // the authorization expired or was revoked
	ReasonNoRefreshToken    = "no_refresh_token"   // the access token expired without a refresh token
	ReasonInsufficientScope = "insufficient_scope" // the server requires scopes that weren't granted
	ReasonURLChanged        = "url_changed"        // the tokens are for another URL than the configured one
	ReasonClientChanged     = "client_changed"     // the static client was changed
)

// needsPerson reports whether an administrator must authorize the connection.
func (s State) needsPerson() bool {
	switch s {
	case NeedsReauth, IssuerChanged, RegistrationRejected:
		return true
	}
	return false
}

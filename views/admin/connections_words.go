package admin

import (
	"strings"

	"mcpgateway/views/ui"
)

// ConnectionState is the label and tone of a connection's state.
type ConnectionState struct {
	Kind string
	Tone ui.Tone
	Word string
}

// ConnectionStates returns all states of connections, worst first.
func ConnectionStates() []ConnectionState {
	return []ConnectionState{
		{"issuer_changed", ui.Bad, "Provider changed"},
		{"registration_rejected", ui.Bad, "Client rejected"},
		{"blocked_by_policy", ui.Bad, "Blocked"},
		{"needs_reauth", ui.Warn, "Reconnect needed"},
		{"not_connected", ui.Neutral, "Not connected"},
		{"authorizing", ui.Neutral, "Connecting"},
		{"expiring", ui.Warn, "Expiring"},
		{"degraded", ui.Warn, "Not renewed"},
		{"connected", ui.OK, "Connected"},
	}
}

// ConnectionStateOf returns the state of a kind.
func ConnectionStateOf(kind string) ConnectionState {
	for _, s := range ConnectionStates() {
		if s.Kind == kind {
			return s
		}
	}
	return ConnectionState{kind, ui.Neutral, kind}
}

// Works reports whether calls of the server can currently be authorized.
func (s ConnectionState) Works() bool {
	return s.Kind == "connected" || s.Kind == "expiring" || s.Kind == "degraded"
}

// toDo returns the next step for a connection, by a user or by the gateway, or
// "" if there is none.
func (r ConnectionRow) toDo() string {
	if r.OwnClient {
		return r.ownClientWords()
	}
	switch r.State.Kind {
	case "not_connected":
		return "Sign in at its provider so that we can read its tools."
	case "authorizing":
		return "Authorization was started and isn't finished yet."
	case "expiring":
		return "Its access can't be renewed. Reconnect it before it expires."
	case "degraded":
		return "The provider didn't renew the access. The gateway keeps retrying."
	case "issuer_changed":
		return "The server now uses another provider. Reconnect to sign in there."
	case "registration_rejected":
		return "The provider doesn't recognize the gateway. Register it again, or enter a client issued by the provider."
	case "blocked_by_policy":
		return "GATEWAY_EGRESS_ALLOW doesn't allow the address of its provider."
	case "needs_reauth":
		return r.reauthWords()
	}
	return ""
}

// ownClientWords is toDo for client credentials.
func (r ConnectionRow) ownClientWords() string {
	switch r.State.Kind {
	case "not_connected":
		return "The gateway requests a token at the next call."
	case "degraded":
		return "The provider issued no token. The gateway keeps retrying."
	case "issuer_changed":
		return "The server now uses another provider. If that is right, disconnect it: the next call sends the client credentials there."
	case "blocked_by_policy":
		return "GATEWAY_EGRESS_ALLOW doesn't allow the address of its provider."
	case "registration_rejected", "needs_reauth":
		return "The provider rejects the client credentials. Correct them in the settings of the server."
	}
	return ""
}

func (r ConnectionRow) reauthWords() string {
	switch r.Reason {
	case "invalid_grant":
		return r.Alias + " revoked our access. Reconnect to sign in again."
	case "insufficient_scope":
		return "The server requires scopes that weren't granted. Reconnect to grant them."
	case "no_refresh_token":
		return "Its access expired and can't be renewed. Reconnect to sign in again."
	case "url_changed":
		return "Its URL changed, and the access is for the old one. Reconnect to sign in again."
	case "client_changed":
		return "The OAuth client changed. Reconnect to sign in again."
	}
	return "Access was revoked or expired. Reconnect to sign in again."
}

// connectLabel returns the label of the link that starts an authorization.
func (r ConnectionRow) connectLabel() string {
	if r.ConnectedAt == nil {
		return "Connect"
	}
	return "Reconnect"
}

// registrationWords describes how the gateway is registered with a provider.
func registrationWords(kind string) string {
	switch kind {
	case "dynamic":
		return "Registered automatically"
	case "document":
		return "Client document"
	case "static":
		return "A client you entered"
	case "client_credentials":
		return "Client credentials"
	}
	return "Not chosen yet"
}

// eventWords describes an audit log entry about a connection.
func eventWords(action string) string {
	words := map[string]string{
		"connection.started": "Sign-in started", "connection.connected": "Connected", "connection.disconnected": "Disconnected",
		"connection.registered": "Registered automatically", "connection.registration_dropped": "Registration removed",
		"connection.needs_reauth": "Reconnect needed", "connection.failed": "Failed",
	}
	if w := words[action]; w != "" {
		return w
	}
	return strings.TrimPrefix(action, "connection.")
}

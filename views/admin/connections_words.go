package admin

import (
	"strings"
	"time"

	"mcpgateway/views/ui"
)

// ConnectionState is the label and tone of a connection's state.
type ConnectionState struct {
	Kind string
	Tone ui.Tone
	Word string
}

// ConnectionStates returns every state that a connection can have, the worst
// first.
func ConnectionStates() []ConnectionState {
	return []ConnectionState{
		{"issuer_changed", ui.Bad, "Provider changed"},
		{"registration_rejected", ui.Bad, "Client refused"},
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

// toDo returns what a user has to do about a connection, or what the gateway
// does; "" when there is nothing to do.
func (r ConnectionRow) toDo() string {
	switch r.State.Kind {
	case "not_connected":
		return "Connect it: you sign in at its provider and let the gateway in."
	case "authorizing":
		return "Authorization was started and isn't finished yet."
	case "expiring":
		return "Its access cannot be renewed. Reconnect it before the access ends."
	case "degraded":
		return "The provider currently doesn't renew the access. The gateway keeps retrying."
	case "issuer_changed":
		return "The server trusts another provider now. Reconnect it there."
	case "registration_rejected":
		return "The provider doesn't recognize the gateway. Register it again, or enter a client issued by the provider."
	case "blocked_by_policy":
		return "GATEWAY_EGRESS_ALLOW forbids the address of its provider."
	case "needs_reauth":
		return reauthWords(r.Reason)
	}
	return ""
}

func reauthWords(reason string) string {
	switch reason {
	case "insufficient_scope":
		return "The server asks for rights that were not granted. Reconnect it to grant them."
	case "no_refresh_token":
		return "Its access ended and cannot be renewed. Reconnect it."
	case "url_changed":
		return "Its address was changed, and the access is for the old one. Reconnect it."
	case "client_changed":
		return "Another client was entered. Reconnect it."
	}
	return "The authorization ended or was withdrawn. Reconnect it."
}

// connectLabel returns the label of the link that starts an authorization.
func (r ConnectionRow) connectLabel() string {
	if r.ConnectedAt == nil {
		return "Connect"
	}
	return "Reconnect"
}

// ends says when the access token ends, or is renewed.
func (r ConnectionRow) ends(now time.Time) string {
	if r.ExpiresAt == nil {
		return ""
	}
	if !r.ExpiresAt.After(now) {
		return "ended " + ui.Ago(now, *r.ExpiresAt)
	}
	return "in " + span(r.ExpiresAt.Sub(now))
}

// span returns a duration in its largest unit.
func span(d time.Duration) string {
	switch {
	case d < time.Minute:
		return ui.Plural(max(int(d.Seconds()), 1), "second", "seconds")
	case d < time.Hour:
		return ui.Plural(int(d.Minutes()), "minute", "minutes")
	case d < 48*time.Hour:
		return ui.Plural(int(d.Hours()), "hour", "hours")
	}
	return ui.Plural(int(d.Hours()/24), "day", "days")
}

// registrationWords describes how the gateway is registered with a provider.
func registrationWords(kind string) string {
	switch kind {
	case "dynamic":
		return "It registered itself"
	case "document":
		return "By its client document"
	case "static":
		return "As the client that was entered"
	}
	return "Not known yet"
}

// eventWords describes an audit log entry about a connection.
func eventWords(action string) string {
	words := map[string]string{
		"connection.started": "Connecting began", "connection.connected": "Connected", "connection.disconnected": "Disconnected",
		"connection.registered": "The gateway registered itself", "connection.registration_dropped": "The registration was dropped",
		"connection.needs_reauth": "A person is needed", "connection.failed": "Failed",
	}
	if w := words[action]; w != "" {
		return w
	}
	return strings.TrimPrefix(action, "connection.")
}

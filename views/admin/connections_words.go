package admin

import (
	"strings"
	"time"

	"mcpgateway/views/ui"
)

// ConnectionState is how a connection stands, in a word.
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

// Works reports whether calls of the server can be authorized at present.
func (s ConnectionState) Works() bool {
	return s.Kind == "connected" || s.Kind == "expiring" || s.Kind == "degraded"
}

// toDo says what a person has to do, or what the gateway does, about a
// connection; "" when nothing is to do.
func (r ConnectionRow) toDo() string {
	switch r.State.Kind {
	case "not_connected":
		return "Connect it: you sign in at its provider and let the gateway in."
	case "authorizing":
		return "Somebody began to connect it and has not come back yet."
	case "expiring":
		return "Its access cannot be renewed. Reconnect it before the access ends."
	case "degraded":
		return "Its provider does not renew the access at present. The gateway goes on trying."
	case "issuer_changed":
		return "The server trusts another provider now. Reconnect it there."
	case "registration_rejected":
		return "The provider does not know the gateway. Register it anew, or enter a client that the provider issued."
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

// connectLabel is what the link is called that begins an authorization.
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

// registrationWords says how the gateway is known at a provider.
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

// eventWords says what an entry of the audit log about a connection means.
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


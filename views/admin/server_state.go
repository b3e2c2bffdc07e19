package admin

import (
	"strings"

	"mcpgateway/views/ui"
)

// ServerState is the label and tone of a server's state.
type ServerState struct {
	Kind string // one of the States
	Tone ui.Tone
	Word string
}

// The kinds of states, as used by filter chips, worst first.
const (
	StateDown        = "down"
	StateReconnect   = "reconnect"   // it was connected before
	StateRefused     = "refused"     // it does not accept the credentials
	StateNoToken     = "no-token"    // it has no credentials
	StateUnconnected = "unconnected" // it was never connected
	StateSlow        = "slow"        // it works, but takes longer than usual
	StateUnread      = "unread"
	StateOK          = "ok"
	StateOff         = "off"
)

// StateOf returns the state of a kind.
func StateOf(kind string) ServerState {
	switch kind {
	case StateDown:
		return ServerState{kind, ui.Bad, "Down"}
	case StateReconnect:
		return ServerState{kind, ui.Warn, "Reconnect needed"}
	case StateRefused:
		return ServerState{kind, ui.Warn, "Token rejected"}
	case StateNoToken:
		return ServerState{kind, ui.Warn, "Token missing"}
	case StateUnconnected:
		return ServerState{kind, ui.Warn, "Not connected"}
	case StateSlow:
		return ServerState{kind, ui.Warn, "Slow"}
	case StateUnread:
		return ServerState{kind, ui.Neutral, "Not checked yet"}
	case StateOff:
		return ServerState{kind, ui.Neutral, "Off"}
	case StateStarting:
		return ServerState{kind, ui.Neutral, "Starting"}
	case StateHeld:
		return ServerState{kind, ui.Warn, "Reload needed"}
	case StateUndeclared:
		return ServerState{kind, ui.Warn, "Not in the file"}
	case StateOffline:
		return ServerState{kind, ui.Bad, "Computer not connected"}
	default:
		return ServerState{StateOK, ui.OK, "Up"}
	}
}

// States returns all states, worst first.
func States() []ServerState {
	var all []ServerState
	for _, kind := range []string{StateDown, StateOffline, StateReconnect, StateRefused, StateNoToken, StateUnconnected, StateHeld, StateUndeclared, StateSlow, StateStarting, StateUnread, StateOK, StateOff} {
		all = append(all, StateOf(kind))
	}
	return all
}

// authWords returns the label of an authMode.
func authWords(mode string) string {
	switch mode {
	case "none":
		return "Open"
	case "oauth":
		return "Sign-in"
	}
	return "API keys"
}

// sentence returns the text of a fault as a sentence.
func sentence(s string) string {
	s = ui.Clean(strings.TrimSpace(s))
	if s == "" {
		return ""
	}
	if word, _, _ := strings.Cut(s, " "); strings.HasSuffix(word, ":") {
		return ended(s) // a name, which is case-sensitive
	}
	r := []rune(s)
	return ended(strings.ToUpper(string(r[0])) + string(r[1:]))
}

// ended returns s with a full stop unless it ends with punctuation.
func ended(s string) string {
	if !strings.HasSuffix(s, ".") && !strings.HasSuffix(s, "?") && !strings.HasSuffix(s, "…") {
		s += "."
	}
	return s
}

// fieldErrors returns the messages of a rejected form for its summary. Each
// name is looked up as a field with the id prefix + name. Messages of other
// names are prefixed with the name.
func fieldErrors(prefix string, fields map[string]string, order ...string) []ui.FieldError {
	var all []ui.FieldError
	seen := map[string]bool{}
	for _, name := range order {
		if why := fields[name]; why != "" {
			all = append(all, ui.FieldError{FieldID: prefix + name, Message: sentence(why)})
		}
		seen[name] = true
	}
	for _, name := range sortedKeys(fields) {
		if !seen[name] && name != "" {
			all = append(all, ui.FieldError{Message: ended(ui.Clean(name + ": " + strings.TrimSpace(fields[name])))})
		}
	}
	if why := fields[""]; why != "" {
		all = append(all, ui.FieldError{Message: sentence(why)})
	}
	return all
}

package admin

import (
	"strings"
	"time"

	"mcpgateway/views/ui"
)

// The kinds of states that only programs have.
const (
	StateStarting   = "starting"
	StateHeld       = "held"       // its command changed in the file
	StateUndeclared = "undeclared" // in no file
	StateOffline    = "offline"    // its runner is not connected
)

// Program describes a server that is a program, as its runner reports it.
type Program struct {
	State     string // wire.State
	Message   string // of the state; may be empty
	Since     time.Time
	RetryAt   *time.Time
	Held      bool // the file has another command, which waits for a reload
	Connector bool // on another computer
	Connected bool // its runner is connected to this process
}

// maxStateWord is the maximum length of a state in characters. A state can end
// with a line of the program's output.
const maxStateWord = 120

// Word returns the state in words, with its remaining or elapsed time.
func (p Program) Word(now time.Time) string {
	text := ui.Clean(strings.TrimSpace(p.Message))
	switch p.State {
	case "running":
		return "Running"
	case "stopped":
		return "Stopped until called"
	case "starting":
		_, line, found := strings.Cut(text, ": ")
		text = "Starting, " + seconds(now.Sub(p.Since))
		if found {
			text += ": " + line
		}
	case "backoff":
		text, _, _ = strings.Cut(text, ", again in ")
		if text == "" {
			text = "Ended"
		}
		if p.RetryAt != nil {
			text += ", again in " + seconds(p.RetryAt.Sub(now)+time.Second-time.Nanosecond)
		}
	case "held":
		text = heldWord
	case "undeclared":
		text = "Not in the file"
	}
	return clipped(text, maxStateWord)
}

// heldWord is the state of a program whose command changed in the file.
const heldWord = "Changed in the file: reload needed"

// seconds returns a duration in whole seconds, rounded down.
func seconds(d time.Duration) string { return ui.Count(int(max(d, 0)/time.Second)) + " s" }

func clipped(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// StateWith returns the state of a program. health is the state of its server
// according to syncs and calls.
func (p Program) StateWith(health ServerState, now time.Time) ServerState {
	state := func(kind string, tone ui.Tone) ServerState { return ServerState{kind, tone, p.Word(now)} }
	switch p.State {
	case "starting":
		return state(StateStarting, ui.Neutral)
	case "backoff", "failed":
		return state(StateDown, ui.Bad)
	case "held":
		return state(StateHeld, ui.Warn)
	case "undeclared":
		return state(StateUndeclared, ui.Warn)
	case "offline":
		if p.Connector && !p.Elsewhere() {
			return state(StateOffline, ui.Bad)
		}
		return state(StateOffline, ui.Neutral)
	}
	switch {
	case p.Held:
		return ServerState{StateHeld, ui.Warn, heldWord}
	case health.Kind == StateOK:
		return state(StateOK, ui.OK)
	case health.Kind == StateUnread:
		return state(StateUnread, ui.Neutral)
	}
	return health
}

// Elsewhere reports whether another process of the gateway has the program.
func (p Program) Elsewhere() bool {
	return p.State == "offline" && strings.Contains(p.Message, "another replica")
}

// FixRestart restarts a program.
const FixRestart Fix = "restart"

// Failure returns why the program doesn't serve calls, or nil if it does.
func (p Program) Failure(now time.Time) *Failure {
	f := &Failure{Title: p.Word(now), Fix: FixNone}
	switch p.State {
	case "backoff":
		f.Fix, f.Advice = FixRestart, "Its last lines are in the process log."
	case "failed":
		f.Fix, f.Advice = FixRestart, "Find the cause in the process log, then restart it."
	case "held":
		f.Advice = "Check the change, then run gateway runner reload where the file is."
	case "undeclared":
		f.Advice = "Its tools are hidden and its settings kept. Add it to the file again, or delete it here."
	case "offline":
		if !p.Connector || p.Elsewhere() {
			return nil
		}
		f.Advice = "Start gateway runner on that computer. Calls fail until it connects."
	default:
		if !p.Held {
			return nil
		}
		f.Title, f.Advice = heldWord, "The earlier command serves on. Check the change, then run gateway runner reload where the file is."
	}
	return f
}

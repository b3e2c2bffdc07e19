package admin

import (
	"strconv"

	"mcpgateway/views/ui"
)

// ToolState is the label and tone of a tool's visibility to clients.
type ToolState struct {
	Kind       string // ToolOn, ToolOff or ToolApprove
	Tone       ui.Tone
	Word       string
	Note       string // why the switch of the tool has no effect; may be empty
	On         bool
	Switchable bool // the switch of the tool alone decides
}

// The kinds of states of a tool, as in the qualifier state of its list.
const (
	ToolOn      = "on"
	ToolOff     = "off"
	ToolApprove = "approve"
)

// ToolStateOf returns the state of a kind. note is the reason for a tool that is
// off although its switch is on.
func ToolStateOf(kind, note string) ToolState {
	switch kind {
	case ToolOn:
		return ToolState{Kind: kind, Tone: ui.OK, Word: "On", On: true, Switchable: true}
	case ToolApprove:
		return ToolState{Kind: kind, Tone: ui.Warn, Word: "To approve"}
	}
	return ToolState{Kind: ToolOff, Tone: ui.Neutral, Word: "Off", Note: note, Switchable: note == ""}
}

// ToolRow is one tool.
type ToolRow struct {
	Name        string // alias__tool
	Listed      string // the name seen by clients
	Title       string // may be empty
	Description string
	Server      string
	State       ToolState
	Hidden      bool   // its texts contain hidden characters
	LongName    string // warning about a long name; may be empty
	Override    string // "Renamed", "Overridden" or empty
	Own         string // the server's own name; empty unless it is renamed
	Task        bool   // it can only run as a task
}

// Name lengths above which some clients reject a tool.
const (
	longName    = 64
	tooLongName = 128
)

// LongNameWords returns a warning if a tool name is too long, else "".
func LongNameWords(name string) string {
	switch n := len(name); {
	case n > tooLongName:
		return "name longer than " + strconv.Itoa(tooLongName) + " characters"
	case n > longName:
		return "name longer than " + strconv.Itoa(longName) + " characters"
	}
	return ""
}

// firstOf returns the first characters of a text.
func firstOf(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most]) + "…"
}

func truth(b bool) string {
	if b {
		return "true"
	}
	return "false"
}

// elseText returns text, or other if text is empty.
func elseText(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

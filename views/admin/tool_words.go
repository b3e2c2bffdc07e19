package admin

import (
	"net/url"
	"slices"
	"strconv"

	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
)

// ToolState is the label and tone of a tool's visibility to clients.
type ToolState struct {
	Kind       string // one of ToolStates
	Tone       ui.Tone
	Word       string
	On         bool
	Switchable bool // the switch of the tool alone decides
}

// The kinds of states of a tool, as used by filter chips.
const (
	ToolEnabled = "enabled"
	ToolOff     = "off"
	ToolChanged = "changed"
	ToolHidden  = "hidden"
)

// ToolStateOf returns the state of a kind.
func ToolStateOf(kind string) ToolState {
	switch kind {
	case ToolEnabled:
		return ToolState{kind, ui.OK, "On", true, true}
	case ToolOff:
		return ToolState{kind, ui.Neutral, "Off", false, true}
	case ToolChanged:
		return ToolState{kind, ui.Warn, "To approve", false, false}
	default:
		return ToolState{ToolHidden, ui.Neutral, "Hidden", false, false}
	}
}

// ToolStates returns every kind of state with the label of its chip.
func ToolStates() [][2]string {
	return [][2]string{{ToolEnabled, "On"}, {ToolOff, "Off"}, {ToolChanged, "To approve"}, {ToolHidden, "Hidden"}}
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

func (p ToolsProps) columns() []ui.Column {
	columns := []ui.Column{{Label: "Tool"}, {Label: "Server", Wide: true}, {Label: "Parameters", Num: true, Wide: true}, {Label: "State", Wide: p.Admin()}}
	if p.Admin() {
		columns = append([]ui.Column{{Label: "Select", Hidden: true}}, columns...)
		columns = append(columns, ui.Column{Label: "On or off", Hidden: true})
	}
	return columns
}

// anyWaiting reports whether a tool on the page can be approved.
func (p ToolsProps) anyWaiting() bool {
	return slices.ContainsFunc(p.Rows, func(row ToolRow) bool { return row.State.Kind == ToolChanged })
}

// reviewURL returns the URL of the review page for the tools that match query.
func reviewURL(slug, query string) string {
	if query == "" {
		return paths.ToolReview(slug)
	}
	return paths.ToolReview(slug) + "?query=" + url.QueryEscape(query)
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

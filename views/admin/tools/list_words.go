// Package tools has the pages of a project's tools: the list, the review of
// definitions, and the test of the tool search.
package tools

import (
	"strconv"

	"mcpgateway/views/ui"
)

// words returns the numbers of tools by state, without the states that no tool
// has.
func (c Counts) words() string {
	if c.All == 0 {
		return ""
	}
	text := ui.Plural(c.All, "tool", "tools")
	if c.On > 0 {
		text += " · " + ui.Count(c.On) + " on"
	}
	if c.Approve > 0 {
		text += " · " + ui.Count(c.Approve) + " to approve"
	}
	if c.Off > 0 {
		text += " · " + ui.Count(c.Off) + " off"
	}
	return text
}

func (d Density) name() string {
	if d.Cosy {
		return "cosy"
	}
	return "compact"
}

func (d Density) label() string { return "Row height: " + d.name() }

func (a GroupAction) kind() ui.Kind {
	if a.Quiet {
		return ui.Quiet
	}
	return ui.Plain
}

func (p ListProps) caption() string {
	if p.Grouped {
		return "Tools by server"
	}
	return "Tools"
}

// columns returns the headings, with the checkbox of the page for administrators.
func (p ListProps) columns() []ui.Column {
	if !p.Admin() {
		return p.Columns
	}
	page := ui.Column{Label: "Select", Class: "fit", Control: ui.Tick(ui.TickProps{Label: "Select all on this page", Page: true})}
	return append([]ui.Column{page}, p.Columns...)
}

// visibleServers returns the first servers, and the chosen one.
func (p ListProps) visibleServers() []ui.Chip {
	var out []ui.Chip
	for i, c := range p.ByServer {
		if i < maxServerChips || c.On {
			out = append(out, c)
		}
	}
	return out
}

func (p ListProps) moreServers() []ui.Chip {
	var out []ui.Chip
	for i, c := range p.ByServer {
		if i >= maxServerChips && !c.On {
			out = append(out, c)
		}
	}
	return out
}

// barWidth returns the width of a bar with a share of 48 px. Every bar is visible.
func barWidth(share float64) string {
	return strconv.FormatFloat(max(48*share, 1), 'f', 1, 64)
}

func truth(b bool) string {
	if b {
		return "true"
	}
	return "false"
}

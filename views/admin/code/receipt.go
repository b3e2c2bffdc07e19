package code

import (
	"strings"

	"mcpgateway/views/ui"
)

// wide reports whether the result needs the width of the page: it has long or
// many lines.
func (o Outcome) wide() bool {
	if !o.OK {
		return true
	}
	lines := 0
	for line := range strings.Lines(o.Result) {
		if lines++; lines > 16 || len(line) > 64 {
			return true
		}
	}
	return false
}

// rejected reports whether the run failed because of its diagnostics.
func (o Outcome) rejected() bool {
	return o.Error != nil && o.Error.Phase == "typecheck" && len(o.Diagnostics) > 0
}

// timed reports whether the start of any call is known.
func (o Outcome) timed() bool {
	for _, c := range o.Calls {
		if c.Started {
			return true
		}
	}
	return false
}

// failed returns the number of failed calls.
func (o Outcome) failed() int {
	n := 0
	for _, c := range o.Calls {
		if !c.OK {
			n++
		}
	}
	return n
}

// writes returns the number of calls that can change data.
func (o Outcome) writes() int {
	n := 0
	for _, c := range o.Calls {
		if c.Effect != "read" && !c.DryRun {
			n++
		}
	}
	return n
}

// title returns the state of a run, such as "Done with 1 failure".
func (o Outcome) title() string {
	switch failed := o.failed(); {
	case o.Error != nil && o.Error.Phase == phaseStopped:
		return "Run stopped"
	case !o.OK:
		return "Run failed"
	case failed > 0:
		return "Done with " + ui.Plural(failed, "failure", "failures")
	case o.DryRun:
		return "Dry run done"
	}
	return "Done"
}

func (o Outcome) tone() ui.Tone {
	switch {
	case o.Error != nil && o.Error.Phase == phaseStopped:
		return ui.Neutral
	case !o.OK:
		return ui.Bad
	case o.failed() > 0:
		return ui.Warn
	}
	return ui.OK
}

// summary returns what a run used, such as "1.1 s · 6 calls · 14 MB".
func (o Outcome) summary() string {
	parts := []string{ui.Milliseconds(o.MS), ui.Plural(len(o.Calls), "call", "calls")}
	if o.Memory > 0 {
		parts = append(parts, size(o.Memory))
	}
	return strings.Join(parts, " · ")
}

// waterfall returns the calls in time.
func (o Outcome) waterfall() ui.WaterfallProps {
	p := ui.WaterfallProps{TotalMS: 1}
	for _, c := range o.Calls {
		if !c.Started {
			continue
		}
		row := ui.WaterfallRow{Name: c.Tool, URL: c.URL, StartMS: c.StartMS, MS: c.MS, Tone: ui.OK, Text: ui.Milliseconds(c.MS)}
		switch {
		case c.DryRun:
			row.Tone, row.Text = ui.Neutral, "Not sent"
		case !c.OK:
			row.Tone, row.Text = ui.Bad, "Failed, "+row.Text
		}
		p.TotalMS = max(p.TotalMS, c.StartMS+c.MS)
		p.Rows = append(p.Rows, row)
	}
	p.Label = ui.Plural(len(p.Rows), "call", "calls") + " over " + ui.Milliseconds(p.TotalMS)
	if failed := o.failed(); failed > 0 {
		p.Label += ", " + ui.Count(failed) + " failed"
	}
	return p
}

// receiptRow is a line of the receipt: what the calls of a run did.
type receiptRow struct {
	Label   string
	Text    string
	What    []string
	Nothing bool
}

// maxReceiptTools is the maximum number of tools that a line names.
const maxReceiptTools = 5

// receipt returns what a run read, changed and sent to public URLs, from the
// records of its calls. Failed calls count, because they may have had an effect.
func (o Outcome) receipt() []receiptRow {
	var reads, changes, requests, planned []Call
	received, sent := int64(0), int64(0)
	for _, c := range o.Calls {
		switch {
		case c.DryRun:
			planned = append(planned, c)
		case !c.Sent:
		case c.Fetch:
			requests = append(requests, c)
			sent += int64(c.ArgsBytes)
		case c.Effect == "read":
			reads = append(reads, c)
			received += int64(c.ResultSize)
		default:
			changes = append(changes, c)
		}
	}
	rows := []receiptRow{
		{Label: "Read", Text: countOf(reads, "call", "calls") + " · " + size(received), Nothing: len(reads) == 0},
		{Label: "Changed", Text: countOf(changes, "call", "calls"), What: toolsOf(changes), Nothing: len(changes) == 0},
		{Label: "Sent outside", Text: countOf(requests, "request", "requests") + " · " + size(sent), Nothing: len(requests) == 0},
	}
	if len(planned) > 0 {
		rows = append(rows, receiptRow{Label: "Not sent", Text: countOf(planned, "call", "calls"), What: toolsOf(planned)})
	}
	return rows
}

// countOf returns the number of calls, and how many of them failed.
func countOf(calls []Call, one, many string) string {
	text := ui.Plural(len(calls), one, many)
	if failed := (Outcome{Calls: calls}).failed(); failed > 0 {
		text += ", " + ui.Count(failed) + " failed"
	}
	return text
}

// toolsOf returns the tools of calls, each once. A tool without annotations only
// may have changed something.
func toolsOf(calls []Call) []string {
	var names []string
	seen := map[string]bool{}
	for _, c := range calls {
		name := c.Tool
		if c.Effect == "unknown" {
			name += " (may write)"
		}
		if !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	if more := len(names) - maxReceiptTools; more > 0 {
		names = append(names[:maxReceiptTools], "and "+ui.Count(more)+" more")
	}
	return names
}

// effectTone and effectWords describe the effect of a call: read or write.
func effectTone(effect string) ui.Tone {
	if effect == "read" {
		return ui.Neutral
	}
	return ui.Warn
}

func effectWords(effect string) string {
	switch effect {
	case "read":
		return "Read"
	case "write":
		return "Write"
	default:
		return "May write"
	}
}

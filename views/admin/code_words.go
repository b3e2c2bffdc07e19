package admin

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
)

func declarationsURL(slug, filter string) string {
	address := paths.CodeMode(slug) + "/declarations"
	if filter != "" {
		address += "?" + url.Values{"filter": {filter}}.Encode()
	}
	return address
}

// OnOff names the states of a switch.
func OnOff(on bool) string {
	if on {
		return "On"
	}
	return "Off"
}

// memoryOf returns the memory of a run, or a dash for a killed run, whose memory
// is unknown.
func memoryOf(o CodeOutcome) string {
	if o.Memory == 0 {
		return "–"
	}
	return byteSize(int(o.Memory))
}

// byteSize returns a number of bytes with its unit.
func byteSize(n int) string {
	switch {
	case n < 1<<10:
		return ui.Plural(n, "byte", "bytes")
	case n < 1<<20:
		return strconv.FormatFloat(float64(n)/(1<<10), 'f', 1, 64) + " KiB"
	default:
		return strconv.FormatFloat(float64(n)/(1<<20), 'f', 1, 64) + " MiB"
	}
}

func ofAll(p CodePreview) string {
	if p.Tools == p.All {
		return "all tools"
	}
	return "of " + ui.Count(p.All)
}

func previewLabel(p CodePreview) string {
	if p.Cut {
		return "First part; download for all"
	}
	return "Declarations"
}

// phaseStopped is the phase of a run that its client cancelled.
const phaseStopped = "cancelled"

// runTone returns the tone of an unsuccessful run. A stopped run is neutral.
func runTone(phase string) ui.Tone {
	if phase == phaseStopped {
		return ui.Neutral
	}
	return ui.Bad
}

// phaseWords returns the label of the phase in which a run failed.
func phaseWords(phase string) string {
	switch phase {
	case "parse":
		return "Invalid code"
	case "typecheck":
		return "Type error"
	case "timeout":
		return "Timed out"
	case "memory":
		return "Out of memory"
	case "limit":
		return "Limit reached"
	case phaseStopped:
		return "Stopped"
	default:
		return "Runtime error"
	}
}

// duration returns milliseconds with their unit.
func duration(ms int64) string {
	if ms < 10_000 {
		return ui.Count(int(ms)) + " ms"
	}
	return strconv.FormatFloat(float64(ms)/1000, 'f', 1, 64) + " s"
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
		return "reads"
	case "write":
		return "writes"
	default:
		return "may write"
	}
}

// CodeLine is a line of code around an error.
type CodeLine struct {
	Number int
	Text   string
	Wrong  bool
}

// around is the number of lines shown before and after the wrong one.
const around = 3

// maxExcerptLine is the maximum length of a shown line, in characters.
const maxExcerptLine = 200

// Excerpt returns the lines around the 1-based line, or nil if code has no such
// line.
func Excerpt(code string, line int) []CodeLine {
	lines := strings.Split(code, "\n")
	if line < 1 || line > len(lines) {
		return nil
	}
	var out []CodeLine
	for n := max(1, line-around); n <= min(len(lines), line+around); n++ {
		text := []rune(ui.Clean(strings.ReplaceAll(lines[n-1], "\t", "  ")))
		if len(text) > maxExcerptLine {
			text = append(text[:maxExcerptLine:maxExcerptLine], '…')
		}
		out = append(out, CodeLine{Number: n, Text: string(text), Wrong: n == line})
	}
	return out
}

// String returns the line prefixed with its number.
func (l CodeLine) String() string { return fmt.Sprintf("%4d  %s", l.Number, l.Text) }

// where returns the position of the error, or "" if it is unknown.
func (e CodeError) where() string {
	if e.Line < 1 {
		return ""
	}
	if e.Column < 1 {
		return "Line " + strconv.Itoa(e.Line)
	}
	return "Line " + strconv.Itoa(e.Line) + ", column " + strconv.Itoa(e.Column)
}

func (o CodeOutcome) writes() int {
	n := 0
	for _, c := range o.Calls {
		if c.Effect != "read" && !c.DryRun {
			n++
		}
	}
	return n
}

package code

import (
	"net/url"
	"strconv"
	"strings"

	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
)

// OnOff names the states of a switch.
func OnOff(on bool) string {
	if on {
		return "On"
	}
	return "Off"
}

func yesNo(yes bool) string {
	if yes {
		return "Yes"
	}
	return "No"
}

// sentence returns a message with a capital letter and a full stop.
func sentence(s string) string {
	runes := []rune(ui.Sentence(ui.Clean(s)))
	if len(runes) == 0 {
		return ""
	}
	return strings.ToUpper(string(runes[:1])) + string(runes[1:])
}

// formErrors returns the errors of a form: those of the named fields in order,
// then the one of the whole form.
func formErrors(fields map[string]string, order ...string) []ui.FieldError {
	var all []ui.FieldError
	for _, name := range order {
		if why := fields[name]; why != "" {
			all = append(all, ui.FieldError{FieldID: "f-" + name, Message: sentence(why)})
		}
	}
	if why := fields[""]; why != "" {
		all = append(all, ui.FieldError{Message: sentence(why)})
	}
	return all
}

// size returns a number of bytes with its unit.
func size(n int64) string {
	switch {
	case n < 1000:
		return ui.Plural(int(n), "byte", "bytes")
	case n < 999_500:
		return strconv.FormatInt((n+500)/1000, 10) + " KB"
	case n < 9_950_000:
		return strconv.FormatFloat(float64(n)/1e6, 'f', 1, 64) + " MB"
	default:
		return strconv.FormatInt((n+500_000)/1_000_000, 10) + " MB"
	}
}

// phaseStopped is the phase of a run that its client cancelled.
const phaseStopped = "cancelled"

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

// runTone returns the tone of an unsuccessful run. A stopped run is neutral.
func runTone(phase string) ui.Tone {
	if phase == phaseStopped {
		return ui.Neutral
	}
	return ui.Bad
}

// joined returns numbers with spaces between them.
func joined(numbers []int) string {
	words := make([]string, len(numbers))
	for i, n := range numbers {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, " ")
}

// place returns a position in the code, or "" if it is unknown.
func place(line, column int) string {
	switch {
	case line < 1:
		return ""
	case column < 1:
		return "Line " + strconv.Itoa(line)
	}
	return "Line " + strconv.Itoa(line) + ", column " + strconv.Itoa(column)
}

func declarationsURL(slug, filter string) string {
	address := paths.CodeMode(slug) + "/declarations"
	if filter != "" {
		address += "?" + url.Values{"filter": {filter}}.Encode()
	}
	return address
}

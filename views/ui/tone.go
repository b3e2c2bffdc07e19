package ui

// Tone is the color of a state. A word always accompanies it.
type Tone string

// The tones. Neutral carries no judgment.
const (
	Neutral Tone = ""
	OK      Tone = "ok"
	Warn    Tone = "warn"
	Bad     Tone = "bad"
)

// icon returns the icon of a message in this tone.
func (t Tone) icon() string {
	switch t {
	case OK:
		return "circle-check"
	case Warn:
		return "triangle-alert"
	case Bad:
		return "circle-alert"
	}
	return "info"
}

// Kind is the look of a button.
type Kind string

// The kinds of buttons: a page has at most one Primary, and Danger destroys.
const (
	Plain   Kind = ""
	Primary Kind = "primary"
	Quiet   Kind = "quiet"
	Danger  Kind = "danger"
)

// Pair is a hidden field of a form.
type Pair struct{ Name, Value string }

package public

import (
	"time"

	"mcpgateway/models"
	"mcpgateway/views/ui"
)

// checkFacts returns the result of the last check and its time, or nothing
// without a check.
func (s CatalogEntry) checkFacts() []ui.Fact {
	if s.Check == nil {
		return nil
	}
	result := ui.Fact{Label: "Last check", State: true}
	switch s.Check.State {
	case models.CheckReachable:
		result.Value, result.Tone = "Responds", ui.OK
	case models.CheckSignIn:
		result.Value, result.Tone = "Responds, sign-in required", ui.OK
	default:
		result.Value, result.Tone = "Doesn't respond", ui.Bad
	}
	facts := []ui.Fact{result, {Label: "Checked", Value: dayTime(s.Check.CheckedAt)}}
	if s.Check.FailingSince != nil {
		facts = append(facts, ui.Fact{Label: "Failing since", Value: dayTime(*s.Check.FailingSince)})
	}
	if s.Check.Revision != "" {
		facts = append(facts, ui.Fact{Label: "MCP revision", Value: ui.Clean(s.Check.Revision), Mono: true})
	}
	return facts
}

func dayTime(at time.Time) string { return at.UTC().Format("2 Jan 2006, 15:04") + " UTC" }

// sinks reports whether the server has not responded for so long that it is
// listed last.
func (s CatalogEntry) sinks() bool { return s.Check != nil && s.Check.Sinks() }

package admin

import (
	"strconv"
	"time"

	"mcpgateway/models"
	"mcpgateway/views/ui"
)

// shownLatencies is the maximum number of tools and of servers with a row, the most
// called ones.
const shownLatencies = 10

// OutcomeState is the label and tone of a call's outcome.
type OutcomeState struct {
	Tone ui.Tone
	Word string
}

// OutcomeOf returns the word for an outcome and the code of its failure.
func OutcomeOf(outcome, code string) OutcomeState {
	switch models.Outcome(outcome) {
	case models.CallOK:
		return OutcomeState{ui.OK, "OK"}
	case models.CallToolError:
		return OutcomeState{ui.Warn, "Tool failed"}
	case models.CallCancelled:
		return OutcomeState{ui.Neutral, "Cancelled"}
	}
	switch code {
	case "", "UPSTREAM_TIMEOUT", "UPSTREAM_UNAVAILABLE", "UPSTREAM_INVALID_RESPONSE", "SEARCH_FAILED", "UNAVAILABLE", "INTERNAL":
		return OutcomeState{ui.Bad, "No response"}
	}
	// With all other codes the server or the gateway rejected the call and
	// returned an error to the client.
	return OutcomeState{ui.Warn, "Rejected"}
}

// took returns a duration with three digits at most.
func took(d time.Duration) string {
	ms := float64(d.Microseconds()) / 1000
	switch {
	case d <= 0:
		return "–"
	case ms < 10:
		return strconv.FormatFloat(ms, 'f', 1, 64) + " ms"
	case ms < 1000:
		return strconv.FormatFloat(ms, 'f', 0, 64) + " ms"
	case ms < 100_000:
		return strconv.FormatFloat(ms/1000, 'f', 1, 64) + " s"
	}
	return strconv.FormatFloat(ms/1000, 'f', 0, 64) + " s"
}

// share returns a part of all in percent.
func share(part, all int) string {
	if all == 0 || part == 0 {
		return "0%"
	}
	percent := 100 * float64(part) / float64(all)
	switch {
	case percent < 0.1:
		return "<0.1%"
	case percent < 10:
		return strconv.FormatFloat(percent, 'f', 1, 64) + "%"
	}
	return strconv.FormatFloat(percent, 'f', 0, 64) + "%"
}

// failureTone returns the tone for a share of failed calls.
func failureTone(failed, all int) ui.Tone {
	switch {
	case all == 0 || failed == 0:
		return ui.Neutral
	case failed*20 >= all:
		return ui.Bad
	}
	return ui.Warn
}

// size returns a number of bytes.
func size(bytes int64) string {
	switch {
	case bytes < 1000:
		return ui.Plural(int(bytes), "byte", "bytes")
	case bytes < 1_000_000:
		return strconv.FormatFloat(float64(bytes)/1000, 'f', 1, 64) + " kB"
	}
	return strconv.FormatFloat(float64(bytes)/1_000_000, 'f', 1, 64) + " MB"
}

func activityTime(r ActivityRow) string {
	if r.Today {
		return r.At.UTC().Format("15:04:05")
	}
	return r.At.UTC().Format("Mon 15:04") // calls are kept for a week
}

func activityNoneText(filters bool) string {
	if filters {
		return "Change the search or choose a longer period."
	}
	return "Choose a longer period."
}

func activityMost(rows []ActivityLatency, one string) string {
	if len(rows) <= shownLatencies {
		return ""
	}
	return "The " + strconv.Itoa(shownLatencies) + " most called of " + ui.Plural(len(rows), one, one+"s")
}

func activityLogTitle(p ActivityProps) string {
	if p.LiveURL == "" {
		return "Earlier calls"
	}
	return "Latest calls"
}

func activityLogLead(p ActivityProps) string {
	if len(p.Rows) == 0 && p.LiveURL != "" {
		return "Calls show up within a second. Times are in UTC."
	}
	return "Times are in UTC."
}

// serverWords returns the alias of the called server, or a label for calls that
// reached no server.
func serverWords(alias string, builtin bool) string {
	switch {
	case builtin:
		return "Gateway (built-in tool)"
	case alias == "":
		return "No server (unknown tool)"
	}
	return ui.Clean(alias)
}

// failureWords returns the cause of a failed call and what to do about it.
func failureWords(outcome, code string) string {
	switch models.Outcome(outcome) {
	case models.CallOK:
		return ""
	case models.CallToolError:
		return "The tool ran and returned an error. The client got its message."
	case models.CallCancelled:
		return "The client disconnected before the result was ready."
	}
	switch code {
	case "TOOL_NOT_FOUND":
		return "No tool in this project has this name. The client may have an outdated tool list."
	case "TOOL_DISABLED":
		return "This tool is off. The project's tool list gives the reason."
	case "UPSTREAM_TIMEOUT":
		return "The server didn't respond in time. Its timeout is in its settings."
	case "UPSTREAM_UNAVAILABLE":
		return "The server couldn't be reached. Its page shows the cause."
	case "UPSTREAM_UNAUTHORIZED":
		return "The server rejected the gateway's credentials. Renew them on the server's page."
	case "UPSTREAM_INVALID_RESPONSE":
		return "The server responded, but not with MCP."
	case "UPSTREAM_ERROR":
		return "The server rejected the call with an error. The client got its message."
	case "RATE_LIMITED":
		return "The caller exceeded the rate limit."
	case "CODE_MODE_DISABLED":
		return "The client sent code, but Code Mode is off in this project."
	case "INVALID_PARAMETER":
		return "The client sent arguments that this tool doesn't accept."
	}
	return "The call ended without a result."
}

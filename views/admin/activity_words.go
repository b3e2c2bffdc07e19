package admin

import (
	"strconv"

	"mcpgateway/models"
	"mcpgateway/views/ui"
)

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

// causeWords returns the cause of a failed call in a few words, for a row of a
// list.
func causeWords(outcome, code string) string {
	if models.Outcome(outcome) != models.CallFailed {
		return ""
	}
	switch code {
	case "TOOL_NOT_FOUND":
		return "unknown tool"
	case "TOOL_AMBIGUOUS":
		return "name isn't clear"
	case "TOOL_DISABLED":
		return "tool is off"
	case "UPSTREAM_TIMEOUT":
		return "timed out"
	case "UPSTREAM_UNAVAILABLE":
		return "server unreachable"
	case "UPSTREAM_UNAUTHORIZED":
		return "credentials rejected"
	case "UPSTREAM_INVALID_RESPONSE":
		return "not MCP"
	case "UPSTREAM_ERROR":
		return "rejected by the server"
	case "RATE_LIMITED":
		return "rate limit"
	case "CODE_MODE_DISABLED":
		return "Code Mode is off"
	case "INVALID_PARAMETER":
		return "invalid arguments"
	}
	return ""
}

// failureWords returns the cause of a failed call and what to do about it.
func failureWords(p ActivityCallProps) string {
	switch models.Outcome(p.Outcome) {
	case models.CallOK:
		return ""
	case models.CallToolError:
		return "The tool ran and returned an error. The client got its message."
	case models.CallCancelled:
		return "The client disconnected before the result was ready."
	}
	switch p.Code {
	case "TOOL_NOT_FOUND":
		return "No tool in this project has this name. The client may have an outdated tool list."
	case "TOOL_AMBIGUOUS":
		return "An app called a name that several servers have. Give each of them its own project."
	case "TOOL_DISABLED":
		return "This tool is off. The project's tool list gives the reason."
	case "UPSTREAM_TIMEOUT":
		return "The server didn't respond in time. Its timeout is in its settings."
	case "UPSTREAM_UNAVAILABLE":
		return unreachable(p)
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

// unreachable returns the words for a server that couldn't be reached, with the
// cause if it is still down.
func unreachable(p ActivityCallProps) string {
	words := or(ui.Clean(p.Server), "The server") + " couldn't be reached"
	if p.ServerProblem != "" {
		return ui.Sentence(words + ": " + ui.Clean(p.ServerProblem))
	}
	return words + "."
}

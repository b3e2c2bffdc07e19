package codemode

import (
	"strings"

	"mcpgateway/services/codemode/hints"
	"mcpgateway/services/sandbox"
)

// hintsFor returns the hints for the outcome of a run. Facts are nil if the
// code did not end on its own.
func hintsFor(q *Request, out *Outcome, facts *sandbox.Facts) []string {
	run := hints.Run{Code: q.Code, Tools: q.hintTools, Fetch: q.AllowFetch, Seen: facts, Error: out.Error, Result: string(out.Result)}
	for _, c := range out.Calls {
		receipt := hints.Call{Tool: c.Tool}
		if c.Error != notSent && !strings.HasPrefix(c.Error, outcomeUnknownPrefix) {
			receipt.Error = c.Error
		}
		run.Calls = append(run.Calls, receipt)
	}
	for _, line := range out.Logs {
		run.Logs = append(run.Logs, line.Text)
	}
	return hints.Of(run)
}

func (q *Request) hintTools() []hints.Tool {
	tools := make([]hints.Tool, 0, len(q.Tools))
	for _, t := range q.Tools {
		if t.Alias == ownAlias {
			continue // no namespace of the code
		}
		tools = append(tools, hints.Tool{Full: t.Name, Alias: t.Alias, Name: t.ToolName})
	}
	return tools
}

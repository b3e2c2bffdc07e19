package code

import (
	"bytes"
	"encoding/json"
	"strings"

	"mcpgateway/models"
	"mcpgateway/services/codemode"
	"mcpgateway/services/toolset"
	views "mcpgateway/views/admin/code"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
)

// maxShown is the maximum size of a shown result and of a shown log, in bytes.
// Planned arguments use an eighth of it.
const maxShown = 24 << 10

// outcomeOf returns the outcome of a stored run.
func outcomeOf(p *toolset.Snapshot, row models.CodeRun) views.Outcome {
	var out codemode.Outcome
	if json.Unmarshal([]byte(row.Outcome), &out) != nil {
		out = codemode.Outcome{} // the columns below are still valid
	}
	out.OK, out.Usage.MS = row.OK, row.DurationMS
	shown := shownOutcome(p, out, row.Code)
	shown.DryRun = row.DryRun
	return shown
}

// shownOutcome converts an outcome for its page.
func shownOutcome(p *toolset.Snapshot, out codemode.Outcome, code string) views.Outcome {
	shown := views.Outcome{OK: out.OK, MS: out.Usage.MS, Memory: out.Usage.MemoryBytes}
	if result := string(out.Result); result == "" || result == "null" {
		shown.NoResult = true
	} else {
		text := readable(out.Result)
		shown.Result = ui.Beginning(text, maxShown)
		if len(shown.Result) < len(text) {
			shown.ResultCut = len(text)
		}
	}
	for _, d := range out.Diagnostics() {
		shown.Diagnostics = append(shown.Diagnostics, views.Diagnostic{Line: d.Line, Column: d.Column, Code: d.Code, Text: d.Text})
	}
	shown.Hints = out.Hints
	showLogs(&shown, out)
	if t := out.Truncated; t != nil {
		shown.ResultCut, shown.LogsCut = max(shown.ResultCut, t.Result), shown.LogsCut+t.Logs
	}
	for _, call := range out.Calls {
		shown.Calls = append(shown.Calls, callOf(p, call))
	}
	for _, planned := range out.Plan {
		shown.Plan = append(shown.Plan, views.Planned{Seq: planned.Seq, Tool: planned.Tool, Arguments: ui.Beginning(readable(planned.Arguments), maxShown/8)})
	}
	if e := out.Error; e != nil {
		shown.Error = &views.RunError{
			Phase: string(e.Phase), Name: e.Name, Message: e.Message, Hint: e.Hint, Line: e.Line, Column: e.Column, Excerpt: views.Excerpt(code, e.Line),
		}
	} else if !out.OK {
		shown.Error = &views.RunError{Name: "Error", Message: "The error was too large to keep."}
	}
	return shown
}

// showLogs adds the lines of the console up to maxShown bytes. Type errors are
// shown apart.
func showLogs(shown *views.Outcome, out codemode.Outcome) {
	size := 0
	for i, l := range out.Logs {
		if codemode.IsDiagnostic(l) {
			continue
		}
		if l.Text == codemode.UncheckedText {
			shown.Unchecked = true
		}
		text := ui.Clean(l.Text)
		if size += len(text); size > maxShown {
			shown.LogsCut = len(out.Logs) - i
			return
		}
		shown.Logs = append(shown.Logs, views.Log{MS: l.MS, Level: l.Level, Text: text})
	}
}

// callOf converts the receipt of a call. A tool that the project shows is linked.
func callOf(p *toolset.Snapshot, call codemode.CallRecord) views.Call {
	shown := views.Call{
		Seq: call.Seq, Tool: call.Tool, MS: call.MS, OK: call.OK, DryRun: call.DryRun, Sent: call.WasSent(), Error: call.Error, Effect: string(call.Effect),
		Fetch: call.Tool == "fetch", ArgsBytes: call.ArgsBytes, ResultSize: call.ResultBytes,
	}
	if call.StartMS != nil {
		shown.Started, shown.StartMS = true, *call.StartMS
	}
	if tool, err := p.Resolve(call.Tool); err == nil && !strings.HasPrefix(call.Tool, "gateway_") {
		shown.URL = paths.Tool(p.Project.Slug, tool.FullName)
	}
	return shown
}

// readable returns a JSON string as plain text and any other JSON indented.
func readable(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return ui.Clean(text)
	}
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return ui.Clean(string(raw))
	}
	return ui.Clean(b.String())
}

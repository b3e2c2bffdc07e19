package upstreamtest

import (
	"context"
	"fmt"
	"strings"

	"mcpgateway/services/rawjson"
)

// The vocabulary of generated tools: what a business service's tools speak of.
var (
	generatedActions = []string{"find", "read", "add", "change", "remove", "close", "reopen", "copy", "move", "tag", "watch", "share"}
	generatedThings  = []string{"task", "file", "folder", "release", "build", "review", "incident", "runbook", "account", "subscription", "quote", "shipment", "meeting", "room", "channel", "post", "survey", "report", "dashboard", "metric", "secret", "role", "team", "device"}
	generatedSystems = []string{"tracker", "storage", "billing", "scheduler", "messaging", "analytics", "directory", "inventory"}
)

// Generated returns n realistic tools with definitions of 0.4 to 1.3 KB. The
// result is deterministic, and a prefix of that for a larger n. A call returns
// the tool's name and its arguments.
func Generated(n int) []Tool {
	tools := make([]Tool, 0, max(n, 0))
	for i := range max(n, 0) {
		tools = append(tools, generated(i))
	}
	return tools
}

func generated(i int) Tool {
	action := generatedActions[i%len(generatedActions)]
	thing := generatedThings[i/len(generatedActions)%len(generatedThings)]
	system := generatedSystems[(i*5+i/7)%len(generatedSystems)]
	name := action + "_" + thing
	if round := i / (len(generatedActions) * len(generatedThings)); round > 0 {
		name = fmt.Sprintf("%s_%d", name, round+1)
	}

	var d strings.Builder
	fmt.Fprintf(&d, `{"name":%q,"title":%q,"description":"%s a %s in the %s.`, name, capital(action)+" "+thing, capital(action), thing, system)
	if i%3 > 0 {
		fmt.Fprintf(&d, ` Only those that the signed-in account may see are considered; ask for the identifier with find_%s when it is not known.`, thing)
	}
	if i%3 == 2 {
		fmt.Fprintf(&d, ` Answers with the %s as it stands after the call, including when and by whom it was last changed.`, thing) // language:ignore: generated fixture
	}
	fmt.Fprintf(&d, `","inputSchema":{"type":"object","properties":{"%s_id":{"type":"string","description":"Identifier of the %s, for example %s-%d."}`, thing, thing, strings.ToUpper(thing[:2]), 1000+i)
	optional := []string{
		`"limit":{"type":"integer","minimum":1,"maximum":200,"default":50,"description":"How many entries to answer with at most."}`,
		`"state":{"type":"string","enum":["open","waiting","done","dropped"],"description":"Only entries in this state."}`,
		`"labels":{"type":"array","items":{"type":"string","maxLength":64},"maxItems":20,"description":"Entries must carry all of these labels."}`,
		`"changed":{"type":"object","description":"Only entries changed in this period.","properties":{"after":{"type":"string","format":"date-time"},"before":{"type":"string","format":"date-time"}},"additionalProperties":false}`,
		`"dry_run":{"type":"boolean","default":false,"description":"Say what would happen, but do nothing."}`,
		`"note":{"type":"string","maxLength":2000,"description":"A remark that is kept in the history of the entry."}`,
	}
	for k := range 1 + (i*5+i/4)%4 {
		d.WriteString("," + optional[(i+k*5)%len(optional)])
	}
	fmt.Fprintf(&d, `},"required":["%s_id"],"additionalProperties":false},"annotations":{"readOnlyHint":%t,"destructiveHint":%t}}`, thing, i%len(generatedActions) < 2, action == "remove")

	return Tool{Definition: d.String(), Call: func(_ context.Context, c *Call) Result {
		out := rawjson.AppendString([]byte(`{"tool":`), name)
		out = append(out, `,"arguments":`...)
		out = append(out, orEmpty(c.Arguments)...)
		return Text(string(append(out, '}')))
	}}
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

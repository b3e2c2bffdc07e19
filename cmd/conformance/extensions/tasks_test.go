//go:build conformance

package extensions

import (
	"fmt"
	"strings"
	"testing"

	"mcpgateway/cmd/internal/stage"
)

const (
	research = "all__simulate-research-query"
	report   = "Research Report: gateways"
)

// TestResearchAsTask calls the tool of server-everything that exists only as a task:
// plainly, and as a task, whose handle is used after a restart of the gateway, on a
// second replica and with another key.
func TestResearchAsTask(t *testing.T) {
	t.Parallel()
	g := startGateway(t, "api_key", map[string]stage.Server{"all": {URL: startEverything(t).url}})
	key, other := g.key(t, "one"), g.key(t, "another")
	g.awaitTools(t, key)
	call := object{"params": object{"name": research, "arguments": object{"topic": "gateways"}}}

	c := connect(t, sdk1, settings{URL: g.url(), Bearer: key})
	c.tools(t) // the SDK reads there which tools need a task
	plain := connect(t, sdk1, settings{URL: g.url(), Bearer: key})
	plain.tools(t)
	plain.begin(t, "callTool", call)

	call["until"] = "taskCreated"
	var created struct {
		Messages []struct {
			Type string
			Task struct{ TaskID string }
		}
	}
	c.do(t, "callTask", call, &created)
	if n := len(created.Messages); n == 0 || created.Messages[n-1].Task.TaskID == "" {
		t.Fatalf("no task: %+v", created)
	}
	task := object{"taskId": created.Messages[len(created.Messages)-1].Task.TaskID}
	if o := plain.outcome(t); o.err != nil || !strings.Contains(string(o.result), report) {
		t.Errorf("plain call: %v %s", o.err, o.result)
	}

	second := connect(t, sdk1, settings{URL: g.replica(t).Endpoint(project), Bearer: key})
	expectResearch(t, "on a second replica", second, task)
	g.restart(t)
	expectResearch(t, "after a restart, in the same session", c, task)
	expectResearch(t, "after a restart", connect(t, sdk1, settings{URL: g.url(), Bearer: key}), task)

	fault := connect(t, sdk1, settings{URL: g.url(), Bearer: other}).fault(t, "tasks/get", task)
	want(t, "code for another key", fmt.Sprint(fault.Code), "-32602")
}

// expectResearch gets the task and its result.
func expectResearch(t *testing.T, when string, c *client, task object) {
	t.Helper()
	var state struct{ TaskID, Status string }
	c.request(t, "tasks/get", task, &state)
	want(t, "handle "+when, state.TaskID, task["taskId"].(string))
	var result toolResult
	c.request(t, "tasks/result", task, &result)
	if !strings.Contains(result.text(t), report) {
		t.Errorf("result %s: %+v", when, result)
	}
}

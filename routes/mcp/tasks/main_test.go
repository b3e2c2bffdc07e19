// Package tasks_test tests tools that run as tasks, through the MCP endpoint.
package tasks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"mcpgateway/routes/routestest"
	"mcpgateway/services/sandbox/sandboxtest"
	"mcpgateway/services/upstream/upstreamtest"
)

func TestMain(m *testing.M) { sandboxtest.Main(m) }

const (
	handshake = "2025-11-25"
	stateless = routestest.Stateless
	declares  = `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`
	forms     = `{"elicitation":{"form":{}}}`
)

// works is the work of a task: a status, an input if the argument ask is true, and
// a result that waits for the gate of the server if the argument hold is true.
func works(release <-chan struct{}) upstreamtest.Work {
	return func(ctx context.Context, t *upstreamtest.Task) upstreamtest.Result {
		var args struct{ Ask, Hold, Fail bool }
		_ = json.Unmarshal(t.Call.Arguments, &args) // other arguments are the defaults
		t.SetStatus("working", "half way")
		said := ""
		if args.Ask {
			raw, err := t.Ask(ctx, "elicitation/create", []byte(`{"message":"Which?","requestedSchema":{"type":"object","properties":{}}}`))
			if err != nil {
				return upstreamtest.Failure(err.Error())
			}
			said = " " + string(raw)
		}
		if args.Hold {
			select {
			case <-release:
			case <-ctx.Done():
				return upstreamtest.Failure("cut short")
			}
		}
		if args.Fail {
			return upstreamtest.Error(-32050, "no luck")
		}
		return upstreamtest.Text("done" + said)
	}
}

// world is an application with the project p and its servers: core, whose tasks
// are those of 2025-11-25, and ext, which has the extension.
type world struct {
	*routestest.App
	base      string
	core, ext *upstreamtest.Server
	release   chan struct{}
	token     string
}

func tool(name, support string, work upstreamtest.Work) upstreamtest.Tool {
	execution := ""
	if support != "" {
		execution = `,"execution":{"taskSupport":"` + support + `"}`
	}
	return upstreamtest.Tool{
		Definition: `{"name":"` + name + `","inputSchema":{"type":"object"}` + execution + `}`, Task: work,
		Call: func(context.Context, *upstreamtest.Call) upstreamtest.Result { return upstreamtest.Text("plain") },
	}
}

func newWorld(t *testing.T, dsn, project string) *world {
	t.Helper()
	w := &world{release: make(chan struct{})}
	settings := upstreamtest.Tasks{TTL: time.Hour, Poll: 250 * time.Millisecond, Bound: true}
	work := works(w.release)
	tools := []upstreamtest.Tool{tool("needs", "required", work), tool("may", "optional", work), tool("never", "", nil)}
	w.core = upstreamtest.New(upstreamtest.Options{Tools: tools, Tasks: settings, Eras: []upstreamtest.Era{upstreamtest.Era20251125}})
	w.ext = upstreamtest.New(upstreamtest.Options{Tools: tools, Tasks: settings, Eras: []upstreamtest.Era{upstreamtest.Era20260728}})
	w.App = routestest.New(t, dsn)
	w.Apply(t, fmt.Sprintf(`{"projects":{"p":{"authMode":"api_key","codeMode":{"enabled":true}%s,"mcpServers":{"core":{"url":%q},"ext":{"url":%q}}}}}`, project, w.core.Start(t), w.ext.Start(t)))
	w.Sync(t, "p", "core", "ext")
	w.base = w.Serve(t)
	_, w.token = w.Key(t, "p", 0)
	return w
}

func (w *world) client(t *testing.T, version, capabilities string) *routestest.Client {
	t.Helper()
	return (&routestest.Client{Endpoint: w.base + "/v1/mcp/p/request", Token: w.token, Version: version, Capabilities: capabilities}).Open(t)
}

// plain returns a client that sends no version and has no session.
func (w *world) plain(t *testing.T) *routestest.Client {
	t.Helper()
	c := w.client(t, handshake, "")
	c.Header = map[string]string{"Mcp-Session-Id": "", "MCP-Protocol-Version": "2025-06-18"}
	return c
}

func send(t *testing.T, c *routestest.Client, method, params string) string {
	t.Helper()
	m, err := c.Send(t.Context(), method, params)
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	if m.Error != nil {
		return "error " + string(m.Error)
	}
	return string(m.Result)
}

// task are the members of a task in a result of either form.
type task struct {
	TaskID, Status, StatusMessage, ResultType string
	TTL, TTLMs                                *float64
	Result                                    json.RawMessage
	InputRequests                             map[string]json.RawMessage
	Task                                      *task
}

func taskIn(t *testing.T, result string) task {
	t.Helper()
	var got task
	if err := json.Unmarshal([]byte(result), &got); err != nil {
		t.Fatalf("got %s, want a task", result)
	}
	if got.Task != nil {
		return *got.Task
	}
	return got
}

// named returns the params of a request about a task.
func named(id string) string { return fmt.Sprintf(`{"taskId":%q}`, id) }

func wantText(t *testing.T, what, got, want string) {
	t.Helper()
	if !strings.Contains(got, want) {
		t.Errorf("%s: got %s, want %s", what, got, want)
	}
}

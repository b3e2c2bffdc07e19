//go:build conformance

package suite

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"mcpgateway/services/upstream/upstreamtest"
)

const (
	tasksExtension = "io.modelcontextprotocol/tasks"

	codeInvalidParams     = -32602
	codeHeaderMismatch    = -32020
	codeMissingCapability = -32021
)

// object is a JSON object.
type object = map[string]any

// taskServer has the tools and methods that the scenarios of the tasks extension
// require (SEP-2663). No server with them is published as a package that the
// machine's registries have.
type taskServer struct {
	mu    sync.Mutex
	tasks map[string]*task
}

// task is a task. Its status follows from its members and the time.
type task struct {
	id      string
	created time.Time
	due     time.Time         // end of its work, once no input is pending
	pending map[string]object // input requests without a response, by key
	given   map[string]object // responses, by key
	ended   bool              // cancelled
	outcome func(*task) (result, fault object)
}

// newTaskServer returns a server of revision 2026-07-28.
func newTaskServer() *upstreamtest.Server {
	s := &taskServer{tasks: map[string]*task{}}
	return upstreamtest.New(upstreamtest.Options{
		Name: "tasks", Eras: []upstreamtest.Era{upstreamtest.Era20260728}, Record: -1,
		Capabilities: `{"tools":{},"extensions":{"` + tasksExtension + `":{}}}`,
		Tools: []upstreamtest.Tool{
			taskTool("greet", "forbidden", greet),
			taskTool("slow_compute", "optional", s.compute),
			taskTool("failing_job", "required", s.job(time.Second, endsWith(resultOf("simulated failure", true), nil))),
			taskTool("protocol_error_job", "required", s.job(time.Second/2, endsWith(nil, object{"code": -32603, "message": "simulated protocol error"}))),
			taskTool("confirm_delete", "required", s.job(0, confirmed, "confirm")),
			taskTool("multi_input", "required", s.job(0, confirmed, "name", "confirm")),
			taskTool("test_tool_with_task", "required", s.inputFirst),
		},
		Methods: map[string]upstreamtest.Handler{"tasks/get": s.method(get), "tasks/update": s.method(update), "tasks/cancel": s.method(cancel)},
	})
}

func taskTool(name, support string, call upstreamtest.Handler) upstreamtest.Tool {
	return upstreamtest.Tool{
		Definition: `{"name":"` + name + `","inputSchema":{"type":"object"},"execution":{"taskSupport":"` + support + `"}}`, Call: call,
	}
}

// taskParams are the params of tools/call and of the task methods.
type taskParams struct {
	Meta struct {
		Capabilities struct{ Extensions map[string]any } `json:"io.modelcontextprotocol/clientCapabilities"`
	} `json:"_meta"`
	Arguments struct {
		Name    string
		Seconds int
	}
	TaskID         string
	InputResponses map[string]object
}

// parse returns the params, and whether the client declares the extension.
func parse(c *upstreamtest.Call) (p taskParams, declared bool) {
	_ = json.Unmarshal(c.Params, &p) // a wrong type leaves the zero value
	_, declared = p.Meta.Capabilities.Extensions[tasksExtension]
	return p, declared
}

func greet(_ context.Context, c *upstreamtest.Call) upstreamtest.Result {
	p, _ := parse(c)
	return upstreamtest.Text("Hello, " + p.Arguments.Name + "!")
}

// compute works for some seconds, as a task if the client declares tasks and
// otherwise within the call.
func (s *taskServer) compute(ctx context.Context, c *upstreamtest.Call) upstreamtest.Result {
	p, declared := parse(c)
	work := time.Duration(p.Arguments.Seconds) * time.Second
	done := resultOf("computed", false)
	if declared && work > 0 {
		return s.create(work, endsWith(done, nil))
	}
	select {
	case <-time.After(work):
	case <-ctx.Done():
	}
	return encoded(done)
}

// job returns a tool that is always a task. It requires the inputs first.
func (s *taskServer) job(work time.Duration, outcome func(*task) (object, object), inputs ...string) upstreamtest.Handler {
	return func(_ context.Context, c *upstreamtest.Call) upstreamtest.Result {
		if _, declared := parse(c); !declared {
			return missingTasks()
		}
		return s.create(work, outcome, inputs...)
	}
}

// inputFirst requires a name in the call and then creates a task.
func (s *taskServer) inputFirst(_ context.Context, c *upstreamtest.Call) upstreamtest.Result {
	p, declared := parse(c)
	if !declared {
		return missingTasks()
	}
	given, answered := p.InputResponses["name"]
	if !answered {
		return encoded(object{"resultType": "input_required", "inputRequests": object{"name": question("name")}, "requestState": "asked"})
	}
	content, _ := given["content"].(object)
	name, _ := content["name"].(string)
	return s.create(0, endsWith(resultOf("Hello, "+name, false), nil))
}

func (s *taskServer) create(work time.Duration, outcome func(*task) (object, object), inputs ...string) upstreamtest.Result {
	now := time.Now()
	t := &task{id: rand.Text(), created: now, due: now.Add(work), outcome: outcome, pending: map[string]object{}, given: map[string]object{}}
	for _, key := range inputs {
		t.pending[key] = question(key)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tasks[t.id] = t
	described := t.describe()
	described["resultType"], described["status"] = "task", "working"
	return encoded(described)
}

// describe returns the members that are the same in every status.
func (t *task) describe() object {
	stamp := t.created.UTC().Format(time.RFC3339Nano)
	return object{"taskId": t.id, "createdAt": stamp, "lastUpdatedAt": stamp, "ttlMs": 60_000, "pollIntervalMs": 250}
}

// method returns the handler of a task method. It checks the declaration, the
// header and the id.
func (s *taskServer) method(run func(*task, taskParams) object) upstreamtest.Handler {
	return func(_ context.Context, c *upstreamtest.Call) upstreamtest.Result {
		p, declared := parse(c)
		if !declared {
			return missingTasks()
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		t := s.tasks[p.TaskID]
		switch {
		case c.Header.Get("Mcp-Name") != p.TaskID:
			return upstreamtest.Error(codeHeaderMismatch, "Header mismatch: Mcp-Name differs from params.taskId")
		case t == nil:
			return upstreamtest.Error(codeInvalidParams, "Task not found")
		}
		return encoded(run(t, p))
	}
}

func get(t *task, _ taskParams) object {
	out := t.describe()
	switch {
	case t.ended:
		out["status"] = "cancelled"
	case len(t.pending) > 0:
		out["status"], out["inputRequests"] = "input_required", t.pending
	case time.Now().Before(t.due):
		out["status"] = "working"
	default:
		result, fault := t.outcome(t)
		if fault != nil {
			out["status"], out["error"] = "failed", fault
		} else {
			out["status"], out["result"] = "completed", result
		}
	}
	return out
}

func update(t *task, p taskParams) object {
	for key, response := range p.InputResponses {
		if t.pending[key] != nil {
			delete(t.pending, key)
			t.given[key] = response
		}
	}
	return object{}
}

// cancel cancels a task that still works.
func cancel(t *task, p taskParams) object {
	if status := get(t, p)["status"]; status == "working" || status == "input_required" {
		t.ended = true
	}
	return object{}
}

func endsWith(result, fault object) func(*task) (object, object) {
	return func(*task) (object, object) { return result, fault }
}

// confirmed ends with the keys of all responses.
func confirmed(t *task) (result, fault object) {
	return resultOf("given: "+strings.Join(slices.Sorted(maps.Keys(t.given)), ", "), false), nil
}

func question(key string) object {
	return object{"method": "elicitation/create", "params": object{
		"mode": "form", "message": "Please enter: " + key,
		"requestedSchema": object{"type": "object", "properties": object{key: object{"type": "string"}}},
	}}
}

func resultOf(text string, isError bool) object {
	return object{"content": []object{{"type": "text", "text": text}}, "isError": isError}
}

func encoded(o object) upstreamtest.Result {
	raw, err := json.Marshal(o)
	if err != nil {
		return upstreamtest.Failure(err.Error())
	}
	return upstreamtest.JSON(string(raw))
}

// missingTasks is the error for clients without the extension.
func missingTasks() upstreamtest.Result {
	return upstreamtest.Result{Err: &upstreamtest.RPCError{
		Code: codeMissingCapability, Message: "Missing required client capability: " + tasksExtension,
		Data: []byte(`{"requiredCapabilities":{"extensions":{"` + tasksExtension + `":{}}}}`),
	}}
}

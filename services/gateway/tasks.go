package gateway

import (
	"context"
	"strings"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/gateway/tasks"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset"
	"mcpgateway/services/upstream"
)

// appendTasks appends the capability for tasks of MCP 2025-11-25 if the project has
// a server with it, for clients of that version. All callers share the tasks of a
// project without access control, so those can't be listed.
func appendTasks(b []byte, project *toolset.Snapshot, version string) []byte {
	switch {
	case version != VersionLatestHandshake || !project.Capabilities.Tasks:
		return b
	case project.Project.AuthMode == models.AuthNone:
		return append(b, `,"tasks":{"cancel":{},"requests":{"tools":{"call":{}}}}`...)
	}
	return append(b, `,"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}`...)
}

// offersTaskExtension reports whether the capabilities for a client of the version
// include the tasks extension (SEP-2663).
func offersTaskExtension(project *toolset.Snapshot, version string) bool {
	return version >= VersionStateless && project.Capabilities.TaskExtension
}

// taskPlan describes the tasks of a request.
type taskPlan struct {
	tasks.Plan
	place *tasks.Place
	// full is the reason for which the client can't have another task. The
	// extension is then not declared to the server.
	full error

	// Set for a request about a task that the client holds.
	held *tasks.Held
	wait bool // it blocks until the task has ended
}

// planTask returns the plan of a tools/call and removes the task from its
// params, unless the server receives it. It returns RATE_LIMITED for a client with
// too many tasks, and the fault for a tool without support for tasks. The caller
// must release the place of the plan.
func (g *Gateway) planTask(ctx context.Context, project *toolset.Snapshot, client *Client, tool *toolset.Tool, params *rawjson.Object) (p *taskPlan, err error) {
	p = &taskPlan{}
	owner := ownerOf(project, client)
	stateless := tool.Server.Inventory != nil && tool.Server.Inventory.ProtocolVersion >= VersionStateless
	wanted := rawjson.Kind(params.Get("task")) == '{' && client.Version == VersionLatestHandshake && project.Capabilities.Tasks && !client.inner
	switch {
	case client.Stateless():
		p.Repeat = client.inner
		if stateless && !client.inner && tasks.Declares(client.Capabilities) {
			if p.place, p.full = g.tasks.Reserve(ctx, owner); p.full == nil {
				p.Holds = tasks.Extension
			}
		}
	case wanted && !stateless && tool.Tasks == toolset.TasksForbidden:
		return nil, fault.New(fault.KindUnknownMethod, fault.CodeInvalidParameter, "Tool %s can't run as a task. Call it without task.", tool.Name)
	case wanted && !stateless:
		if p.place, err = g.tasks.Reserve(ctx, owner); err != nil {
			return nil, err
		}
		p.Holds = tasks.Core
	default:
		p.Repeat = true
	}
	if p.Holds != tasks.Core {
		params.Delete("task")
	}
	p.Required = !stateless && tool.Tasks == toolset.TasksRequired
	return p, nil
}

func ownerOf(project *toolset.Snapshot, client *Client) tasks.Owner {
	return tasks.Owner{Project: project.Project.ID, Principal: client.Principal.ID()}
}

// prepare sets what an upstream request about tasks needs.
func (p *taskPlan) prepare(request *upstream.Request) {
	if p == nil {
		return
	}
	switch {
	case p.Holds == tasks.Extension:
		request.Client.Capabilities = tasks.Declare(request.Client.Capabilities)
	case p.full != nil:
		request.Client.Capabilities = tasks.Undeclare(request.Client.Capabilities)
	}
	if p.held == nil {
		return
	}
	request.Session, request.Wait = p.held.Handle.Session, p.wait
	if notify := request.Notify; notify != nil {
		request.Notify = func(method string, params []byte) { notify(method, p.related(params)) }
	}
}

// related returns the raw params of a message that belongs to the task, with the
// handle of the task.
func (p *taskPlan) related(params []byte) []byte {
	if p == nil || p.held == nil {
		return params
	}
	return tasks.Related(params, p.held.Text)
}

// sendTask sends an upstream request. A tools/call waits for its task, if the
// server makes one that the client does not hold.
func (g *Gateway) sendTask(ctx context.Context, out *preparedRequest, request *upstream.Request) (*upstream.Response, error) {
	if out.task == nil || out.task.held != nil {
		return g.Upstreams.Call(ctx, out.target, request)
	}
	response, err := g.tasks.Call(ctx, out.target, request, out.task.Plan)
	if err == nil && out.task.full != nil && tasks.RequiresTasks(response.Error) {
		return nil, out.task.full
	}
	return response, err
}

// giveTask returns the result of a tools/call for a client that holds its task.
func (g *Gateway) giveTask(ctx context.Context, project *toolset.Snapshot, client *Client, tool *toolset.Tool, out *preparedRequest, created *tasks.Task, response *upstream.Response) ([]byte, error) {
	held := &tasks.Held{
		Handle: &tasks.Handle{
			Owner:  tasks.Owner{Project: client.Principal.ProjectID(), Principal: client.Principal.ID()},
			Server: tool.Server.Config.ID, Tool: tool.FullName, Session: response.Session,
		},
		Target: out.target, Push: client.Push,
	}
	result, err := g.tasks.Adopt(ctx, held, created, response.Result, out.task.place)
	if err != nil {
		return nil, err
	}
	response.Result = result
	return g.bridgeAnswer(project, response, client)
}

// taskRequest handles the requests about tasks: tasks/get, result, cancel and list
// of MCP 2025-11-25, and tasks/get, update and cancel of the extension, for clients
// that declare it. A task is found only by its owner. A caller without its tool
// receives the same fault as for a call.
func (g *Gateway) taskRequest(ctx context.Context, project *toolset.Snapshot, client *Client, method string, params *rawjson.Object, trace *RequestInfo) ([]byte, error) {
	form := tasks.Core
	switch {
	case client.Stateless() && (method == "tasks/list" || method == "tasks/result"), !client.Stateless() && method == "tasks/update":
		return nil, UnknownMethod(method)
	case client.Stateless() && !tasks.Declares(client.Capabilities):
		return nil, &RPCError{Raw: tasks.MissingCapability()}
	case client.Stateless():
		form = tasks.Extension
	case method == "tasks/list" && project.Project.AuthMode == models.AuthNone:
		return nil, UnknownMethod(method)
	case method == "tasks/list":
		return g.tasks.List(ctx, ownerOf(project, client), params, func(row *models.UpstreamTask) bool {
			tool, err := project.Resolve(row.Tool)
			return err == nil && tool.Server.Config.ID == row.ServerID
		})
	}
	held, tool, err := g.openTask(project, client, form, params, trace)
	if err != nil {
		return nil, err
	}
	plan := &taskPlan{held: held, wait: method == "tasks/result"}
	plan.Holds = form
	if plan.wait {
		leave, err := g.tasks.Wait(held.Handle.Server)
		if err != nil {
			return nil, err
		}
		defer leave()
	}
	response, err := g.forwardTask(ctx, client, &preparedRequest{server: tool.Server, method: method, params: params, name: held.Text, task: plan})
	if err != nil {
		return nil, err
	}
	return g.taskAnswer(ctx, project, client, method, tool, held, response)
}

// openTask returns the task that the params name.
func (g *Gateway) openTask(project *toolset.Snapshot, client *Client, form tasks.Form, params *rawjson.Object, trace *RequestInfo) (*tasks.Held, *toolset.Tool, error) {
	text, err := tasks.Requested(params)
	if err != nil {
		return nil, nil, err
	}
	h, err := g.tasks.Open(ownerOf(project, client), form, text)
	if err != nil {
		return nil, nil, err
	}
	tool, err := project.Resolve(h.Tool)
	if err != nil {
		return nil, nil, err
	}
	if tool.Server.Config.ID != h.Server {
		return nil, nil, tasks.NotFound()
	}
	trace.Tool, trace.Server = h.Tool, tool.Server.Config.Alias
	return &tasks.Held{Handle: h, Text: text, Push: client.Push}, tool, nil
}

// forwardTask sends a request about a task with the server's own id. A request
// that blocks ends after the time for tasks of the server.
func (g *Gateway) forwardTask(ctx context.Context, client *Client, out *preparedRequest) (*upstream.Response, error) {
	held, limit := out.task.held, out.server.Target.TaskTime()
	out.params.Set("taskId", rawjson.Quote(held.Handle.ID))
	waiting := ctx
	if out.task.wait {
		var cancel context.CancelFunc
		waiting, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	response, err := g.forward(waiting, client, out)
	if err != nil && waiting.Err() != nil && ctx.Err() == nil {
		return nil, fault.Upstream(fault.CodeUpstreamTimeout, "The task did not finish within %s. It is still running: request its result again.", limit)
	}
	held.Target = out.target
	return response, err
}

// taskAnswer returns the result of a request about a task, under its handle.
func (g *Gateway) taskAnswer(ctx context.Context, project *toolset.Snapshot, client *Client, method string, tool *toolset.Tool, held *tasks.Held, response *upstream.Response) ([]byte, error) {
	if response.Error != nil {
		if isUnknownTask(response.Error) {
			g.tasks.Ended(ctx, held, "")
			return nil, tasks.NotFound()
		}
		response.Error = []byte(strings.ReplaceAll(string(response.Error), held.Handle.ID, held.Text))
		return g.bridgeAnswer(project, response, client)
	}
	if method == "tasks/result" {
		status := "completed"
		if isToolError(response.Result) {
			status = "failed"
		}
		g.tasks.Ended(ctx, held, status)
		response.Result = project.Addresses.CallResult(tool.Server.Config.Alias, tasks.Related(response.Result, held.Text))
		result, err := g.bridgeToolResult(project, response, client, tool)
		return g.cutResult(ctx, project, client, tool, result), err
	}
	response.Result = project.Addresses.TaskResult(tool.Server.Config.Alias, g.tasks.Observe(ctx, held, response.Result))
	response.Result = g.cutTask(ctx, project, client, tool, response.Result)
	if method == "tasks/cancel" {
		g.tasks.Ended(ctx, held, "")
	}
	return g.bridgeAnswer(project, response, client)
}

// isUnknownTask reports whether a raw JSON-RPC error of a server is that for a task
// which the server does not have.
func isUnknownTask(rpcError []byte) bool {
	e := &RPCError{Raw: rpcError}
	o, err := rawjson.ParseObject(rpcError, rawjson.Lenient)
	if err != nil || e.Number() != upstream.CodeInvalidParams {
		return false
	}
	message, _ := o.String("message")
	message = strings.ToLower(message)
	return strings.Contains(message, "not found") || strings.Contains(message, "unknown task") || strings.Contains(message, "no such task")
}

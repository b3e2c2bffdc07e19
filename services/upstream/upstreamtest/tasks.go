package upstreamtest

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"mcpgateway/services/rawjson"
)

const (
	extensionTasks = "io.modelcontextprotocol/tasks"
	metaRelated    = "io.modelcontextprotocol/related-task"
	codeCapability = -32021
)

// Tasks are the settings of tools with a Task: those of MCP 2025-11-25, and in
// the stateless era those of the extension (SEP-2663).
type Tasks struct {
	TTL  time.Duration // 0 means unlimited
	Poll time.Duration // 0 means none is recommended
	// Bound binds each task to the session that created it.
	Bound bool
}

// Work is the work of a task. Its context ends when the task is cancelled or the
// server is closed.
type Work func(ctx context.Context, t *Task) Result

// Task is a running or finished task.
type Task struct {
	ID   string
	Call *Call

	server  *Server
	cancel  context.CancelFunc
	created time.Time

	mu       sync.Mutex
	status   string
	message  string
	result   *Result // of a finished task
	question *question
	rounds   int           // number of questions
	changed  chan struct{} // closed at the next change
}

// question is input that a task waits for.
type question struct {
	name   string
	method string
	params []byte
	sent   bool // on a stream of tasks/result
	answer chan []byte
}

// startTask starts a task for a tools/call.
func (s *Server) startTask(c *Call, work Work) *Task {
	ctx, cancel := context.WithCancel(s.life)
	s.mu.Lock()
	s.taskCount++
	t := &Task{
		ID: "task-" + strconv.Itoa(s.taskCount), Call: c, server: s, cancel: cancel, created: time.Now(),
		status: "working", changed: make(chan struct{}),
	}
	if s.tasks == nil {
		s.tasks = map[string]*Task{}
	}
	s.tasks[t.ID] = t
	s.active++
	s.mu.Unlock()
	go func() {
		defer s.leave()
		defer cancel()
		r := work(ctx, t)
		t.finish(r)
	}()
	return t
}

// SetStatus changes the state of the task and notifies the clients that listen.
func (t *Task) SetStatus(status, message string) {
	t.update(func() { t.status, t.message = status, message })
}

// update changes the task, unless it has ended.
func (t *Task) update(edit func()) {
	t.mu.Lock()
	if t.isDone() {
		t.mu.Unlock()
		return
	}
	edit()
	close(t.changed)
	t.changed = make(chan struct{})
	t.mu.Unlock()
	if t.Call.Era.Stateless() {
		t.server.Notify("notifications/tasks", t.detailed())
	} else if t.Call.session != nil {
		_ = t.Call.session.notify(notification("notifications/tasks/status", t.object())) // the client need not listen
	}
	t.server.events.signal()
}

func (t *Task) isDone() bool {
	return t.status == "completed" || t.status == "failed" || t.status == "cancelled"
}

func (t *Task) finish(r Result) {
	t.update(func() {
		t.result, t.status = &r, "completed"
		if r.Err != nil {
			t.status = "failed"
		}
	})
}

// Status returns the state of the task.
func (t *Task) Status() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.status
}

// Ask requests input from the client and returns its raw result, or its raw
// response over a session. The task requires input until then.
func (t *Task) Ask(ctx context.Context, method string, params []byte) ([]byte, error) {
	q := &question{method: method, params: params, answer: make(chan []byte, 1)}
	t.update(func() {
		t.rounds++
		q.name = "input-" + strconv.Itoa(t.rounds)
		t.question, t.status = q, "input_required"
	})
	select {
	case raw := <-q.answer:
		t.update(func() { t.question, t.status = nil, "working" })
		return raw, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Task returns the task with the number, from 1, or nil.
func (s *Server) Task(n int) *Task {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tasks["task-"+strconv.Itoa(n)]
}

// object returns the task object of the call's era.
func (t *Task) object() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.head()
}

func (t *Task) head() []byte {
	ttl, poll := "ttl", "pollInterval"
	if t.Call.Era.Stateless() {
		ttl, poll = "ttlMs", "pollIntervalMs"
	}
	b := rawjson.AppendString([]byte(`{"taskId":`), t.ID)
	b = rawjson.AppendString(append(b, `,"status":`...), t.status)
	if t.message != "" {
		b = rawjson.AppendString(append(b, `,"statusMessage":`...), t.message)
	}
	at := t.created.UTC().Format(time.RFC3339)
	b = append(b, `,"createdAt":"`+at+`","lastUpdatedAt":"`+at+`","`+ttl+`":`...)
	if s := t.server.opts.Tasks; s.TTL > 0 {
		b = strconv.AppendInt(b, s.TTL.Milliseconds(), 10)
	} else {
		b = append(b, "null"...)
	}
	if s := t.server.opts.Tasks; s.Poll > 0 {
		b = strconv.AppendInt(append(b, `,"`+poll+`":`...), s.Poll.Milliseconds(), 10)
	}
	return append(b, '}')
}

// detailed returns the task object of the extension with its input requests,
// result or error.
func (t *Task) detailed() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := t.head()
	b = b[:len(b)-1]
	switch {
	case t.question != nil:
		b = rawjson.AppendString(append(b, `,"inputRequests":{`...), t.question.name)
		b = rawjson.AppendString(append(b, `:{"method":`...), t.question.method)
		b = append(append(append(b, `,"params":`...), orEmpty(t.question.params)...), "}}"...)
	case t.result == nil:
	case t.result.Err != nil:
		b = append(append(b, `,"error":`...), rpcErrorObject(t.result.Err)...)
	default:
		b = append(append(b, `,"result":`...), orEmpty(t.result.JSON)...)
	}
	return append(b, '}')
}

func rpcErrorObject(e *RPCError) []byte {
	raw := appendError(nil, []byte("1"), e)
	o, err := rawjson.ParseObject(raw, rawjson.Lenient)
	if err != nil {
		return []byte("null")
	}
	return o.Get("error")
}

// callTask handles tools/call of a tool with a task.
func (s *Server) callTask(ctx context.Context, c *Call, tool *toolEntry) Result {
	if c.Era.Stateless() {
		declared := c.params.Object("_meta").Object(metaCapabilities).Object("extensions").Get(extensionTasks) != nil
		switch {
		case declared:
			head := s.startTask(c, tool.task).object()
			return Result{JSON: append(append([]byte{}, head[:len(head)-1]...), `,"resultType":"task"}`...)}
		case tool.requiresTask:
			return Result{Err: &RPCError{Code: codeCapability, Message: "Missing required client capability", Data: []byte(`{"requiredCapabilities":{"extensions":{"` + extensionTasks + `":{}}}}`)}}
		}
		return tool.plain(ctx, c)
	}
	switch wanted := rawjson.Kind(c.params.Get("task")) == '{'; {
	case wanted:
		return Result{JSON: append(append([]byte(`{"task":`), s.startTask(c, tool.task).object()...), '}')}
	case tool.requiresTask:
		return Error(codeMethodNotFound, "Tool "+c.Name+" requires task augmentation")
	}
	return tool.plain(ctx, c)
}

// plain handles a call that doesn't become a task.
func (e *toolEntry) plain(ctx context.Context, c *Call) Result {
	if e.call == nil {
		return JSON(`{"content":[]}`)
	}
	return e.call(ctx, c)
}

// taskMethod handles the requests about tasks. ok is false for other methods.
func (s *Server) taskMethod(ctx context.Context, c *Call) (r Result, ok bool) {
	stateless := c.Era.Stateless()
	switch c.Method {
	case "tasks/get", "tasks/cancel":
	case "tasks/result", "tasks/list":
		if stateless {
			return r, false
		}
	case "tasks/update":
		if !stateless {
			return r, false
		}
	default:
		return r, false
	}
	if stateless && c.params.Object("_meta").Object(metaCapabilities).Object("extensions").Get(extensionTasks) == nil {
		return Error(codeCapability, "Missing required client capability"), true
	}
	if c.Method == "tasks/list" {
		return JSON(`{"tasks":[]}`), true
	}
	id, _ := c.params.String("taskId")
	s.mu.Lock()
	t := s.tasks[id]
	s.mu.Unlock()
	if t == nil || t.Call.Era.Stateless() != stateless || s.opts.Tasks.Bound && t.Call.Session != c.Session {
		return Error(codeInvalidParams, "Task not found: "+id), true
	}
	switch c.Method {
	case "tasks/cancel":
		return t.stop(stateless), true
	case "tasks/update":
		return t.respond(c.params.Object("inputResponses")), true
	case "tasks/result":
		return t.await(ctx, c), true
	}
	if stateless {
		return Result{JSON: t.detailed()}, true
	}
	return Result{JSON: t.object()}, true
}

// stop cancels the task.
func (t *Task) stop(stateless bool) Result {
	t.mu.Lock()
	done := t.isDone()
	t.mu.Unlock()
	if done && !stateless {
		return Error(codeInvalidParams, "Cannot cancel task "+t.ID+" in terminal status")
	}
	t.update(func() { t.status = "cancelled" })
	t.cancel()
	if stateless {
		return JSON("{}")
	}
	return Result{JSON: t.object()}
}

// respond passes the input of tasks/update to the task.
func (t *Task) respond(responses *rawjson.Object) Result {
	t.mu.Lock()
	q := t.question
	t.mu.Unlock()
	if q != nil && responses.Get(q.name) != nil {
		select {
		case q.answer <- responses.Get(q.name):
		default:
		}
	}
	return JSON("{}")
}

// await handles tasks/result: it sends the client the questions of the task, until
// the task has ended.
func (t *Task) await(ctx context.Context, c *Call) Result {
	related := append(rawjson.AppendString([]byte(`{"taskId":`), t.ID), '}')
	for {
		t.mu.Lock()
		q, done, changed, result := t.question, t.isDone(), t.changed, t.result
		if q != nil && q.sent {
			q = nil
		} else if q != nil {
			q.sent = true
		}
		t.mu.Unlock()
		switch {
		case done && result == nil:
			return Error(codeInvalidParams, "The task was cancelled")
		case done && result.Err != nil:
			return *result
		case done:
			return Result{JSON: withMeta(orEmpty(result.JSON), metaRelated, related)}
		case q != nil:
			raw, err := c.Request(ctx, q.method, withMeta(orEmpty(q.params), metaRelated, related))
			if err != nil {
				if errors.Is(err, context.Canceled) {
					return Error(codeServer, err.Error())
				}
				raw = []byte(`{"error":{"code":-32603,"message":"not asked"}}`)
			}
			q.answer <- raw
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Error(codeServer, "the request was cancelled")
		}
	}
}

// withTasks returns raw capabilities with those for tasks, if a tool has some.
func (s *Server) withTasks(raw string, stateless bool) string {
	if !s.now.Load().tools.tasks {
		return raw
	}
	o, err := rawjson.ParseObject([]byte(raw), rawjson.Lenient)
	if err != nil {
		return raw
	}
	if stateless {
		extensions := o.Object("extensions")
		if extensions == nil {
			o.Set("extensions", []byte(`{"`+extensionTasks+`":{}}`))
			return string(o.Bytes())
		}
		extensions.Set(extensionTasks, []byte("{}"))
		o.Set("extensions", extensions.Bytes())
	} else {
		o.Set("tasks", []byte(`{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}`))
	}
	return string(o.Bytes())
}

package tasks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/upstream"
)

// Plan describes the tasks of a tools/call.
type Plan struct {
	// Required is set for a tool of a handshake server that can only run as a task.
	Required bool
	// Holds is set if the client takes a task instead of the result, in the form
	// of the server.
	Holds Form
	// Repeat is set if a stateless server that requires tasks is called again with
	// the extension.
	Repeat bool
}

// Call sends a tools/call and returns its response. Unless the client holds the
// task, it waits for a task that the server made of it: status messages become
// progress, and requests for input go to request.Serve. It returns the errors of
// the caller, RATE_LIMITED beyond MaxWaits, and UPSTREAM_TIMEOUT if the task takes
// longer than the target's TaskTime. A task without a waiting client is cancelled.
func (t *Tasks) Call(ctx context.Context, target *upstream.Target, request *upstream.Request, plan Plan) (*upstream.Response, error) {
	var w *wait // most calls need none
	defer func() {
		if w != nil {
			w.leave()
		}
	}()
	if plan.Required && plan.Holds != Core {
		w = &wait{tasks: t, target: target}
		if err := w.enter(); err != nil {
			return nil, err
		}
		request = withTask(request, fmt.Appendf(nil, `{"ttl":%d}`, target.TaskTime().Milliseconds()))
	}
	request.KeepsSession = plan.Required || plan.Holds == Core
	response, err := t.Caller.Call(ctx, target, request)
	if err != nil {
		return nil, err
	}
	if plan.Repeat && response.Stateless && response.Error != nil && RequiresTasks(response.Error) {
		if w == nil {
			w = &wait{tasks: t, target: target}
		}
		if err := w.enter(); err != nil {
			return nil, err
		}
		request = withTask(request, nil)
		request.Client.Capabilities = Declare(request.Client.Capabilities)
		if response, err = t.Caller.Call(ctx, target, request); err != nil {
			return nil, err
		}
	}
	created := Created(response)
	if created == nil || plan.Holds == created.Form {
		return response, nil
	}
	if w == nil {
		w = &wait{tasks: t, target: target}
	}
	w.request, w.task, w.session = request, created, response.Session
	if err := w.enter(); err != nil {
		w.cancelTask(ctx)
		return nil, err
	}
	return w.run(ctx)
}

// withTask returns a copy of a request whose params have the raw task, or none.
func withTask(request *upstream.Request, task []byte) *upstream.Request {
	other := *request
	params := object(request.RawParams())
	if task == nil {
		params.Delete("task")
	} else {
		params.Set("task", task)
	}
	other.Parsed, other.Params = params, nil
	return &other
}

// wait waits for one task on behalf of a client that doesn't hold it.
type wait struct {
	tasks   *Tasks
	target  *upstream.Target
	request *upstream.Request // the tools/call
	task    *Task
	session upstream.Session
	freed   func()
	steps   steps
}

// enter takes one of the places of the server, unless the wait has one.
func (w *wait) enter() (err error) {
	if w.freed == nil {
		w.freed, err = w.tasks.waits.enter(w.target.ServerID)
	}
	return err
}

func (w *wait) leave() {
	if w.freed != nil {
		w.freed()
	}
}

// run waits for the task and returns its result as that of the call.
func (w *wait) run(parent context.Context) (*upstream.Response, error) {
	ctx, cancel := context.WithTimeout(parent, w.target.TaskTime())
	defer cancel()
	w.steps.begin(w.request)
	w.steps.say(w.task.message())
	await := w.awaitResult
	if w.task.Form == Extension {
		await = w.poll
	}
	response, err := await(ctx)
	if err == nil {
		return response, nil
	}
	if !w.task.IsDone() {
		w.cancelTask(parent)
	}
	if parent.Err() == nil && ctx.Err() != nil {
		return nil, fault.Upstream(fault.CodeUpstreamTimeout, "%s did not finish its task within %s. The task was cancelled.", w.target.Alias, w.target.TaskTime())
	}
	return nil, err
}

// cancelTask cancels the task at the server, in the background.
func (w *wait) cancelTask(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	w.tasks.Background.Go("task cancel", func() {
		ctx, cancel := context.WithTimeout(ctx, cancelTime)
		defer cancel()
		_, _ = w.tasks.Caller.Call(ctx, w.target, w.about("tasks/cancel", nil)) // the server may have ended it
	})
}

// about returns a request about the task. params are further params, or nil.
func (w *wait) about(method string, params *rawjson.Object) *upstream.Request {
	if params == nil {
		params = object(nil)
	}
	params.Set("taskId", rawjson.Quote(w.task.ID))
	return &upstream.Request{Method: method, Parsed: params, Client: w.request.Client, Session: w.session, Wait: true}
}

// state sends a request about the task that does not block.
func (w *wait) state(ctx context.Context, request *upstream.Request) (*upstream.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, w.target.CallTimeout())
	defer cancel()
	return w.tasks.Caller.Call(ctx, w.target, request)
}

// awaitResult waits for the result of a task of MCP 2025-11-25. tasks/result
// blocks until then. It is sent again after a lost connection, because proxies
// end idle ones.
func (w *wait) awaitResult(ctx context.Context) (*upstream.Response, error) {
	ctx, stop := context.WithCancel(ctx)
	watched := make(chan struct{})
	if w.steps.token == nil {
		close(watched)
	} else {
		w.tasks.Background.Go("task progress", func() {
			defer close(watched)
			w.watch(ctx)
		})
	}
	defer func() { stop(); <-watched }()
	for failures := 0; ; {
		request := w.about("tasks/result", nil)
		request.Notify, request.Stray, request.LogLevel, request.Memory = w.steps.notify, w.request.Stray, w.request.LogLevel, w.request.Memory
		if w.request.Notify == nil {
			request.Notify = nil
		}
		if serve := w.request.Serve; serve != nil {
			request.Serve = func(ctx context.Context, method string, params []byte) (result, rpcError []byte) {
				return serve(ctx, method, withRelated(params, ""))
			}
		}
		if w.steps.token != nil {
			request.Parsed.Set("_meta", append(append([]byte(`{"progressToken":`), w.steps.token...), '}'))
		}
		began := time.Now()
		response, err := w.tasks.Caller.Call(ctx, w.target, request)
		if err == nil {
			w.task.Status = "completed" // or failed; it needs no cancellation
			if response.Result != nil {
				response.Result = withRelated(response.Result, "")
			}
			return response, nil
		}
		if failures = after(failures, began); ctx.Err() != nil || failures >= maxFailures || !isTransient(err) {
			return nil, err
		}
		if !pause(ctx, usualPoll) {
			return nil, ctx.Err()
		}
	}
}

// watch reports the status messages of a task of MCP 2025-11-25 as progress.
func (w *wait) watch(ctx context.Context) {
	for interval := minPoll; pause(ctx, interval); {
		response, err := w.state(ctx, w.about("tasks/get", nil))
		if err != nil || response.Error != nil {
			continue
		}
		now := taskOf(Core, object(response.Result))
		if now == nil || now.IsDone() {
			return
		}
		interval = now.pollInterval()
		w.steps.say(now.message())
	}
}

// poll waits for a task of the extension.
func (w *wait) poll(ctx context.Context) (*upstream.Response, error) {
	answered := map[string]bool{}
	for failures := 0; ; {
		began := time.Now()
		response, err := w.state(ctx, w.about("tasks/get", nil))
		switch {
		case err != nil:
			if failures = after(failures, began); ctx.Err() != nil || failures >= maxFailures || !isTransient(err) {
				return nil, err
			}
		case response.Error != nil:
			w.task.Status = "failed"
			return response, nil
		default:
			failures = 0
			now := taskOf(Extension, object(response.Result))
			if now == nil {
				return nil, fault.Upstream(fault.CodeUpstreamInvalidResponse, "The upstream server returned an invalid task.")
			}
			w.task = now
			if final, err := outcome(now, response); final != nil || err != nil {
				return final, err
			}
			w.steps.say(now.message())
			if err := w.input(ctx, now, answered); err != nil {
				return nil, err
			}
		}
		if !pause(ctx, w.task.pollInterval()) {
			return nil, ctx.Err()
		}
	}
}

// outcome returns the response for a task of the extension that has ended, or nil.
func outcome(t *Task, got *upstream.Response) (*upstream.Response, error) {
	final := &upstream.Response{Stateless: true, Version: got.Version}
	switch t.Status {
	case "completed":
		result := object(t.object.Get("result"))
		if result.Get("resultType") == nil {
			result.Set("resultType", []byte(`"complete"`))
		}
		final.Result = result.Bytes()
	case "failed":
		if final.Error = t.object.Get("error"); final.Error == nil {
			return nil, fault.Upstream(fault.CodeUpstreamInvalidResponse, "The upstream server returned a failed task without an error.")
		}
	case "cancelled":
		return nil, fault.Upstream(fault.CodeUpstreamUnavailable, "The upstream server cancelled the task.")
	default:
		return nil, nil
	}
	return final, nil
}

// input requests the input that a task of the extension needs from the client, and
// sends it to the server. Each is requested once.
func (w *wait) input(ctx context.Context, now *Task, answered map[string]bool) error {
	if now.Status != "input_required" {
		return nil
	}
	requests, responses := now.object.Object("inputRequests"), object(nil)
	for _, name := range requests.Names() {
		if answered[name] {
			continue
		}
		if len(answered) >= maxInputs {
			return fault.Upstream(fault.CodeUpstreamInvalidResponse, "The upstream server requested input more than %d times in one task.", maxInputs)
		}
		answered[name] = true
		given, err := w.requestInput(ctx, requests.Object(name))
		if err != nil {
			return err
		}
		responses.Set(name, given)
	}
	if responses.Len() == 0 {
		return nil
	}
	params := object(nil)
	params.Set("inputResponses", responses.Bytes())
	response, err := w.state(ctx, w.about("tasks/update", params))
	if err == nil && response.Error != nil {
		err = &upstream.AnswerError{Raw: response.Error}
	}
	return err
}

// requestInput returns the raw input of the client. Without a response, an
// elicitation counts as dismissed.
func (w *wait) requestInput(ctx context.Context, request *rawjson.Object) ([]byte, error) {
	method, _ := request.String("method")
	var result, rpcError []byte
	if w.request.Serve != nil {
		if result, rpcError = w.request.Serve(ctx, method, request.Get("params")); rpcError == nil {
			return result, nil
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if method == "elicitation/create" {
		return []byte(`{"action":"cancel"}`), nil
	}
	message, _ := object(rpcError).String("message")
	if message == "" {
		message = "The client can't be asked."
	}
	return nil, fault.Upstream(fault.CodeUpstreamUnavailable, "The task requires input from the client, which it did not give: %s", message)
}

// after returns the number of consecutive failures after a request that began at a
// time. One that took long, such as an idle connection that a proxy ended, starts
// the count again.
func after(failures int, began time.Time) int {
	if time.Since(began) > maxPoll {
		return 1
	}
	return failures + 1
}

// isTransient reports whether a request about a task can be sent again.
func isTransient(err error) bool {
	var f *fault.Fault
	return errors.As(err, &f) && (f.Code == fault.CodeUpstreamUnavailable || f.Code == fault.CodeUpstreamTimeout)
}

// pause waits. It returns false if the context has ended.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

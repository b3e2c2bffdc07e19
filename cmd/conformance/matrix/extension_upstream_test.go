//go:build conformance

package matrix

import (
	"context"
	"strings"
	"sync"
	"time"

	"mcpgateway/services/rawjson"
	"mcpgateway/services/upstream/upstreamtest"
)

const (
	tasksExtension    = "io.modelcontextprotocol/tasks"
	metaLogLevel      = "io.modelcontextprotocol/logLevel"
	extensionSettings = `{"level":3}`
	sharedURI         = "matrix://shared/note" // in every upstream
)

func extensionOf(alias string) string { return "com.example/" + alias }
func logText(alias string) string     { return "a log message of " + alias }
func jobText(alias string) string     { return "the job of " + alias + " is done" }
func sharedText(alias string) string  { return "the shared note of " + alias }

// hasTasks reports whether an upstream has tasks: of the protocol itself in 2025-11-25,
// of the extension in 2026-07-28.
func hasTasks(e upstreamtest.Era) bool { return e >= upstreamtest.Era20251125 }

// capabilitiesOf returns the capabilities of a revision's upstream.
func capabilitiesOf(e upstreamtest.Era) string {
	own := `"` + extensionOf(aliasOf(e)) + `":` + extensionSettings
	switch e {
	case upstreamtest.Era20251125:
		return `{"tools":{},"resources":{},"prompts":{},"logging":{},"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}},"extensions":{` + own + `}}`
	case upstreamtest.Era20260728:
		return `{"tools":{},"resources":{},"prompts":{},"logging":{},"extensions":{"` + tasksExtension + `":{},` + own + `}}`
	}
	return `{"tools":{},"resources":{},"prompts":{},"logging":{},"extensions":{` + own + `}}`
}

// levels are the sessions whose log level was set.
type levels struct {
	mu  sync.Mutex
	set map[string]bool
}

func (l *levels) setLevel(_ context.Context, c *upstreamtest.Call) upstreamtest.Result {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.set[c.Session] = true
	return upstreamtest.JSON("{}")
}

// loggingTool returns a tool that logs, but only if the client enabled it: by
// logging/setLevel in its session, or by _meta of the call in 2026-07-28.
func (l *levels) loggingTool(alias string) upstreamtest.Tool {
	return upstreamtest.Tool{
		Definition: `{"name":"log","description":"Logs a message.","inputSchema":{"type":"object"}}`,
		Call: func(_ context.Context, c *upstreamtest.Call) upstreamtest.Result {
			l.mu.Lock()
			wanted := l.set[c.Session]
			l.mu.Unlock()
			if c.Era.Stateless() {
				wanted = strings.Contains(string(c.Params), metaLogLevel)
			}
			if wanted {
				params := `{"level":"info","data":` + string(rawjson.Quote(logText(alias))) + `}`
				if err := c.Notify("notifications/message", []byte(params)); err != nil {
					return upstreamtest.Failure(err.Error())
				}
			}
			return upstreamtest.Text("logged")
		},
	}
}

const (
	jobID     = "job-1"
	jobStamp  = `"createdAt":"2026-11-23T12:00:00Z","lastUpdatedAt":"2026-11-23T12:00:00Z"`
	jobsState = `"taskId":"` + jobID + `",` + jobStamp
)

// jobTool returns a tool that exists only as a task. All its tasks are the same one,
// which is done.
func jobTool() upstreamtest.Tool {
	return upstreamtest.Tool{
		Definition: `{"name":"job","description":"Works as a task.","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}`,
		Call: func(_ context.Context, c *upstreamtest.Call) upstreamtest.Result {
			params := string(c.Params)
			switch {
			case !c.Era.Stateless() && strings.Contains(params, `"task"`):
				return upstreamtest.JSON(`{"task":{` + jobsState + `,"status":"working","ttl":60000,"pollInterval":250}}`)
			case !c.Era.Stateless():
				return upstreamtest.Error(-32601, "Task augmentation required")
			case strings.Contains(params, tasksExtension):
				return upstreamtest.JSON(`{"resultType":"task",` + jobsState + `,"status":"working","ttlMs":60000,"pollIntervalMs":250}`)
			}
			return upstreamtest.Result{Err: &upstreamtest.RPCError{
				Code: -32021, Message: "Missing required client capability", Data: []byte(`{"requiredCapabilities":{"extensions":{"` + tasksExtension + `":{}}}}`),
			}}
		},
	}
}

// taskMethods are the methods of tasks in the upstream's revision.
func taskMethods(e upstreamtest.Era) map[string]upstreamtest.Handler {
	if !hasTasks(e) {
		return nil
	}
	known := func(then func(context.Context) upstreamtest.Result) upstreamtest.Handler {
		return func(ctx context.Context, c *upstreamtest.Call) upstreamtest.Result {
			params, err := rawjson.ParseObject(c.Params, rawjson.Lenient)
			if err != nil {
				return upstreamtest.Error(-32602, "params must be an object")
			}
			if id, _ := params.String("taskId"); id != jobID {
				return upstreamtest.Error(-32602, "Task not found")
			}
			return then(ctx)
		}
	}
	done := `{"content":[{"type":"text","text":"` + jobText(aliasOf(e)) + `"}]`
	state := func(context.Context) upstreamtest.Result {
		return upstreamtest.JSON(`{` + jobsState + `,"status":"completed","ttl":60000}`)
	}
	if e == upstreamtest.Era20260728 {
		return map[string]upstreamtest.Handler{
			"tasks/get": known(func(context.Context) upstreamtest.Result {
				return upstreamtest.JSON(`{` + jobsState + `,"status":"completed","ttlMs":60000,"result":` + done + `}}`)
			}),
		}
	}
	return map[string]upstreamtest.Handler{
		"tasks/get": known(state),
		"tasks/result": known(func(ctx context.Context) upstreamtest.Result {
			select {
			case <-time.After(20 * time.Millisecond): // it blocks until the task is done
			case <-ctx.Done():
			}
			return upstreamtest.JSON(done + `,"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"` + jobID + `"}}}`)
		}),
	}
}

//go:build conformance

package matrix

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"mcpgateway/services/upstream/upstreamtest"
)

// logPause is longer than the time in which a message could belong to a call that has
// just ended.
const logPause = 400 * time.Millisecond

// extensionOperations are the uses beyond those that every pair supports. Plain
// clients have neither a handshake nor a stream for messages.
func extensionOperations() []operation {
	hasStream := func(client string, _ upstreamtest.Era) bool { return client != plain }
	return []operation{
		{name: "extensions", run: (*pair).extensions, applies: hasStream},
		{name: "log", run: (*pair).log, applies: hasStream},
		{name: "task", run: (*pair).task, applies: func(_ string, upstream upstreamtest.Era) bool { return hasTasks(upstream) }},
		{name: "equal address", run: (*pair).readShared},
	}
}

// extensions expects the upstream's own extension with its settings.
func (p *pair) extensions(context.Context) error {
	var opened struct {
		Capabilities struct{ Extensions map[string]json.RawMessage }
	}
	if err := json.Unmarshal(p.opened, &opened); err != nil {
		return err
	}
	if got := string(opened.Capabilities.Extensions[extensionOf(p.alias)]); got != extensionSettings {
		return fmt.Errorf("settings of %s: %q in %s, want %s", extensionOf(p.alias), got, p.opened, extensionSettings)
	}
	return nil
}

// log expects the log message of a tool during its call. HTTP+SSE has only one stream
// for all messages. There, a message soon after another client's call could be that
// client's and is dropped, so that the call is repeated.
func (p *pair) log(ctx context.Context) error {
	if p.handshakes() {
		if _, err := p.do(ctx, request{method: "logging/setLevel", params: object{"level": "info"}}); err != nil {
			return fmt.Errorf("logging/setLevel: %w", err)
		}
	}
	for {
		seen, err := p.logOnce(ctx)
		if err != nil || seen == 1 {
			return err
		}
		if seen > 1 || p.alias != aliasOf(upstreamtest.Era20241105) {
			return fmt.Errorf("%d log messages, want 1", seen)
		}
		select {
		case <-time.After(logPause):
		case <-ctx.Done():
			return fmt.Errorf("no log message: %w", ctx.Err())
		}
	}
}

// logOnce returns the number of log messages that a call received.
func (p *pair) logOnce(ctx context.Context) (seen int, err error) {
	r := p.tool("log", object{})
	if p.stateless() {
		r.params["_meta"] = object{metaLogLevel: "info"}
	}
	r.notify = func(method string, params json.RawMessage) {
		if method == "notifications/message" && strings.Contains(string(params), logText(p.alias)) {
			seen++
		}
	}
	result, err := p.do(ctx, r)
	if err != nil {
		return 0, err
	}
	return seen, expectText(result, "logged")
}

// task uses a tool that exists only as a task: as a task where the client and the
// upstream have the same form of them, otherwise as a plain call.
func (p *pair) task(ctx context.Context) error {
	r := p.tool("job", object{})
	core := p.era == revision20251125 && p.alias == aliasOf(upstreamtest.Era20251125)
	if core {
		r.params["task"] = object{"ttl": 60_000}
	}
	result, err := p.do(ctx, r)
	if err != nil {
		return err
	}
	switch {
	case core:
		return p.finishCore(ctx, result)
	case p.stateless() && p.alias == aliasOf(upstreamtest.Era20260728):
		return p.finishExtension(ctx, result)
	}
	return expectText(result, jobText(p.alias))
}

// finishCore waits for a task of revision 2025-11-25.
func (p *pair) finishCore(ctx context.Context, result json.RawMessage) error {
	var created struct{ Task struct{ TaskID string } }
	if err := json.Unmarshal(result, &created); err != nil || created.Task.TaskID == "" {
		return fmt.Errorf("no task: %s", result)
	}
	listed, err := p.do(ctx, request{method: "tasks/list", params: object{}})
	if err == nil && !strings.Contains(string(listed), created.Task.TaskID) {
		err = fmt.Errorf("task not in %s", listed)
	}
	if err != nil && !noList(err) {
		return fmt.Errorf("tasks/list: %w", err)
	}
	result, err = p.do(ctx, request{method: "tasks/result", params: object{"taskId": created.Task.TaskID}})
	if err != nil {
		return err
	}
	return expectText(result, jobText(p.alias))
}

// noList reports whether the server has no list of tasks. A project without keys has
// none, because clients would see the tasks of all others.
func noList(err error) bool {
	var fault *rpcError
	return errors.As(err, &fault) && fault.Code == -32601
}

// finishExtension polls a task of the extension.
func (p *pair) finishExtension(ctx context.Context, result json.RawMessage) error {
	var state struct {
		ResultType, TaskID, Status string
		Result                     json.RawMessage
	}
	if err := json.Unmarshal(result, &state); err != nil || state.ResultType != "task" || state.TaskID == "" {
		return fmt.Errorf("no task: %s", result)
	}
	for state.Status != "completed" {
		result, err := p.do(ctx, request{method: "tasks/get", params: object{"taskId": state.TaskID}})
		if err != nil {
			return err
		}
		if err := json.Unmarshal(result, &state); err != nil {
			return err
		}
	}
	return expectText(state.Result, jobText(p.alias))
}

// readShared reads the resource whose address is the same in all upstreams. One of
// them has the bare address, the others' name the server.
func (p *pair) readShared(ctx context.Context) error {
	uris, err := p.names(ctx, "resources/list", "resources", "uri")
	if err != nil {
		return err
	}
	address := "matrix://+" + p.alias + strings.TrimPrefix(sharedURI, "matrix:/")
	if p.alias == aliasOf(upstreamtest.Era20241105) { // the first by alias
		address = sharedURI
	}
	if !slices.Contains(uris, address) {
		return fmt.Errorf("%s not in %q", address, uris)
	}
	result, err := p.do(ctx, request{method: "resources/read", params: object{"uri": address}})
	if err != nil {
		return err
	}
	var read struct{ Contents []struct{ URI, Text string } }
	if err := json.Unmarshal(result, &read); err != nil || len(read.Contents) != 1 || read.Contents[0].Text != sharedText(p.alias) || read.Contents[0].URI != address {
		return fmt.Errorf("resources/read %s: unexpected result %s", address, result)
	}
	return nil
}

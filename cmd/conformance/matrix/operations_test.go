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

const (
	searchTool = "gateway_searchMcpForTask"
	person     = "Grace Hopper" // name given to the eliciting tool
	steps      = 3              // number of progress notifications
	hold       = 60_000         // milliseconds of a call that is cancelled
	maxRounds  = 4              // maximum results that require input

	// cancelLimit is the maximum time until an upstream receives a cancellation.
	cancelLimit = 10 * time.Second
)

// pair is one client with one upstream.
type pair struct {
	*caller
	alias    string
	upstream *upstreamtest.Server
}

// elicit is the only operation that some pairs don't support. Plain clients support
// all others: progress and cancellation through the SSE bridge.
const elicit = "elicit"

// operation is a use of an upstream by a client.
type operation struct {
	name    string
	run     func(*pair, context.Context) error
	applies func(client string, upstream upstreamtest.Era) bool // nil: to every pair
}

func operations() []operation {
	return []operation{
		{name: "list", run: (*pair).list}, {name: "call", run: (*pair).call}, {name: "search", run: (*pair).search},
		{name: "progress", run: (*pair).progress}, {name: elicit, run: (*pair).elicit},
		{name: "resource read", run: (*pair).readResource}, {name: "prompt get", run: (*pair).getPrompt},
	}
}

// exported returns the exported name of the upstream's tool or prompt.
func (p *pair) exported(name string) string { return p.alias + "__" + name }

// names returns the values of a member of all entries of a list.
func (p *pair) names(ctx context.Context, method, list, member string) ([]string, error) {
	result, err := p.do(ctx, request{method: method})
	if err != nil {
		return nil, err
	}
	var lists map[string]json.RawMessage
	if err := json.Unmarshal(result, &lists); err != nil {
		return nil, err
	}
	var entries []map[string]any
	if err := json.Unmarshal(lists[list], &entries); err != nil {
		return nil, fmt.Errorf("%s: invalid result %s: %w", method, result, err)
	}
	var names []string
	for _, entry := range entries {
		if name, ok := entry[member].(string); ok {
			names = append(names, name)
		}
	}
	return names, nil
}

func (p *pair) list(ctx context.Context) error {
	names, err := p.names(ctx, "tools/list", "tools", "name")
	if err != nil {
		return err
	}
	for _, tool := range []string{"echo", "progress", "sleep", "ask"} {
		if !slices.Contains(names, p.exported(tool)) {
			return fmt.Errorf("tool %s not listed", p.exported(tool))
		}
	}
	return nil
}

// tool returns a request that calls the upstream's tool.
func (p *pair) tool(name string, arguments object) request {
	return request{method: "tools/call", params: object{"name": p.exported(name), "arguments": arguments}}
}

func (p *pair) call(ctx context.Context) error {
	const text = `a "quoted" <text> with 漢字`
	result, err := p.do(ctx, p.tool("echo", object{"text": text}))
	if err != nil {
		return err
	}
	return expectText(result, text)
}

// search finds the upstream's echo tool with the built-in search tool.
func (p *pair) search(ctx context.Context) error {
	result, err := p.do(ctx, request{method: "tools/call", params: object{"name": searchTool, "arguments": object{
		"task": "return the given text unchanged", "server": p.alias,
	}}})
	if err != nil {
		return err
	}
	text, err := textOf(result)
	if err == nil && !strings.Contains(text, `"`+p.exported("echo")+`"`) {
		err = fmt.Errorf("%s was not found: %s", p.exported("echo"), text)
	}
	return err
}

func (p *pair) progress(ctx context.Context) error {
	if p.era == plain {
		result, seen, err := p.stream(ctx, p.exported("progress"), object{"n": steps})
		if err == nil && seen != steps {
			err = fmt.Errorf("%d progress events, want %d", seen, steps)
		}
		if err != nil {
			return err
		}
		return expectText(result, fmt.Sprintf("sent %d", steps))
	}
	const token = "token of the client"
	r := p.tool("progress", object{"n": steps})
	r.params["_meta"] = object{"progressToken": token}
	var seen []float64
	var wrong error
	r.notify = func(method string, params json.RawMessage) {
		var n struct {
			ProgressToken any
			Progress      float64
		}
		if err := json.Unmarshal(params, &n); err != nil || method != "notifications/progress" || n.ProgressToken != token {
			wrong = fmt.Errorf("unexpected notification %s %s", method, params)
			return
		}
		seen = append(seen, n.Progress)
	}
	result, err := p.do(ctx, r)
	switch {
	case err != nil:
		return err
	case wrong != nil:
		return wrong
	case !slices.Equal(seen, []float64{1, 2, 3}):
		return fmt.Errorf("progress = %v, want [1 2 3]", seen)
	}
	return expectText(result, fmt.Sprintf("sent %d", steps))
}

// cancel cancels a call as the client's revision prescribes and waits until the
// upstream receives the cancellation.
func (p *pair) cancel(ctx context.Context) error {
	before := p.upstream.Stats()
	callCtx, leave := context.WithCancel(ctx)
	defer leave()
	id := make(chan int, 1)
	ended := make(chan error, 1)
	go func() {
		if p.era == plain {
			_, _, err := p.stream(callCtx, p.exported("sleep"), object{"ms": hold})
			ended <- err
			return
		}
		r := p.tool("sleep", object{"ms": hold})
		r.started = func(sent int) { id <- sent }
		_, err := p.do(callCtx, r)
		ended <- err
	}()
	arrived, stopWaiting := context.WithCancel(ctx)
	defer stopWaiting()
	early := make(chan error, 1)
	go func() { // stop waiting if the call ends before it reaches the upstream
		select {
		case err := <-ended:
			early <- err
			stopWaiting()
		case <-arrived.Done():
			early <- nil
		}
	}()
	err := p.upstream.Wait(arrived, func() bool { return p.upstream.Stats().Calls > before.Calls })
	stopWaiting()
	if endedWith := <-early; endedWith != nil {
		return fmt.Errorf("call ended before its cancellation: %w", endedWith)
	}
	if err != nil {
		return fmt.Errorf("call did not reach the upstream: %w", err)
	}
	if p.handshakes() {
		err := p.postNotification(ctx, object{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": object{"requestId": <-id, "reason": "matrix"}})
		if err != nil {
			return err
		}
	} else {
		leave()
	}
	waiting, stop := context.WithTimeout(ctx, cancelLimit)
	defer stop()
	if err := p.upstream.Wait(waiting, func() bool { return p.upstream.Stats().Cancelled > before.Cancelled }); err != nil {
		return fmt.Errorf("upstream received no cancellation within %v", cancelLimit)
	}
	return nil
}

// elicit calls the eliciting tool and provides the name.
func (p *pair) elicit(ctx context.Context) error {
	reply := object{"action": "accept", "content": object{"name": person}}
	r := p.tool("ask", object{})
	requests := 0
	r.serve = func(method string, _ json.RawMessage) any {
		if method == "elicitation/create" {
			requests++
		}
		return reply
	}
	for range maxRounds {
		result, err := p.do(ctx, r)
		if err != nil {
			return err
		}
		var required struct {
			ResultType    string
			InputRequests map[string]struct{ Method string }
			RequestState  *string
		}
		if err := json.Unmarshal(result, &required); err != nil {
			return err
		}
		if required.ResultType != "input_required" {
			if requests == 0 {
				return fmt.Errorf("no elicitation request; result %s", result)
			}
			return expectText(result, person)
		}
		if !p.stateless() {
			return fmt.Errorf("client with session received %s", result)
		}
		responses := object{}
		for name, r := range required.InputRequests {
			if r.Method == "elicitation/create" {
				requests++
			}
			responses[name] = reply
		}
		r = p.tool("ask", object{})
		r.params["inputResponses"] = responses
		if required.RequestState != nil {
			r.params["requestState"] = *required.RequestState
		}
	}
	return fmt.Errorf("input still required after %d rounds", maxRounds)
}

// staysUnasked calls the eliciting tool as a client without elicitation. The client
// must get a result or an error that it supports: a result that requires input would
// look like an empty success to it.
func (p *pair) staysUnasked(ctx context.Context) error {
	result, err := p.do(ctx, p.tool("ask", object{}))
	var refused *rpcError
	if errors.As(err, &refused) {
		return nil
	}
	if err == nil && strings.Contains(string(result), "input_required") {
		err = fmt.Errorf("client without elicitation received %s", result)
	}
	return err
}

func (p *pair) readResource(ctx context.Context) error {
	uris, err := p.names(ctx, "resources/list", "resources", "uri")
	if err != nil {
		return err
	}
	i := slices.IndexFunc(uris, func(uri string) bool { return uri == noteURI(p.alias) })
	if i < 0 {
		return fmt.Errorf("no resource of %s in %q", p.alias, uris)
	}
	result, err := p.do(ctx, request{method: "resources/read", params: object{"uri": uris[i]}})
	if err != nil {
		return err
	}
	var read struct{ Contents []struct{ Text string } }
	if err := json.Unmarshal(result, &read); err != nil || len(read.Contents) != 1 || read.Contents[0].Text != noteText(p.alias) {
		return fmt.Errorf("resources/read: unexpected result %s", result)
	}
	return nil
}

func (p *pair) getPrompt(ctx context.Context) error {
	names, err := p.names(ctx, "prompts/list", "prompts", "name")
	if err != nil {
		return err
	}
	if !slices.Contains(names, p.exported("greet")) {
		return fmt.Errorf("prompt %s not in %q", p.exported("greet"), names)
	}
	result, err := p.do(ctx, request{method: "prompts/get", params: object{"name": p.exported("greet"), "arguments": object{"who": person}}})
	if err != nil {
		return err
	}
	var got struct {
		Messages []struct{ Content struct{ Text string } }
	}
	if err := json.Unmarshal(result, &got); err != nil || len(got.Messages) != 1 || got.Messages[0].Content.Text != greeting(p.alias, person) {
		return fmt.Errorf("prompts/get: unexpected result %s", result)
	}
	return nil
}

// textOf returns the text of a tool result with one content block.
func textOf(result json.RawMessage) (string, error) {
	var r struct {
		Content []struct{ Type, Text string }
		IsError bool
	}
	if err := json.Unmarshal(result, &r); err != nil || len(r.Content) != 1 || r.IsError {
		return "", fmt.Errorf("unexpected tool result %s", result)
	}
	return r.Content[0].Text, nil
}

func expectText(result json.RawMessage, want string) error {
	got, err := textOf(result)
	if err == nil && got != want {
		err = fmt.Errorf("tool result %q, want %q", got, want)
	}
	return err
}

package gateway

import (
	"context"
	"errors"
	"sync"
	"time"

	"mcpgateway/services/access"
	"mcpgateway/services/fault"
	"mcpgateway/services/gateway/tasks"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset"
	"mcpgateway/services/upstream"
)

// TaskStreams open streams with the states of tasks of stateless servers. ListenTasks
// calls agreed with the ids that the server accepted, then notify with the raw params
// of each state, until ctx is cancelled or the stream ends.
type TaskStreams interface {
	ListenTasks(ctx context.Context, target *upstream.Target, client upstream.Client, ids []string, agreed func(ids []string), notify func(params []byte)) error
}

const (
	// agreeTime is the maximum time until the servers of a subscription accept it.
	agreeTime = 5 * time.Second
	// Delay before a stream that ended is opened again. It doubles.
	minTaskRetry = time.Second
	maxTaskRetry = 30 * time.Second
)

// ListenTasks delivers the states of a client's tasks until ctx is cancelled
// (SEP-2663, "Task status notifications"): one stream for each server. It returns
// the handles of the tasks whose servers accepted it. Handles that are unknown, or
// whose tool the caller lost, are left out. It returns an *RPCError for a client
// that doesn't declare the extension.
func (g *Gateway) ListenTasks(ctx context.Context, project *toolset.Snapshot, client *Client, handles []string, deliver func(method string, params []byte)) ([]string, error) {
	if !tasks.Declares(client.Capabilities) {
		return nil, &RPCError{Raw: tasks.MissingCapability()}
	}
	if g.TaskStreams == nil {
		return nil, nil
	}
	streams := g.taskStreams(project, client, handles)
	var mu sync.Mutex
	var agreed []string
	var ready sync.WaitGroup
	for _, s := range streams {
		ready.Add(1)
		once := sync.OnceFunc(ready.Done)
		s.agreed = func(texts []string) {
			mu.Lock()
			agreed = append(agreed, texts...)
			mu.Unlock()
			once()
		}
		s.deliver = deliver
		g.Tasks.Go("task stream", func() {
			defer once()
			s.run(ctx, g)
		})
	}
	all := make(chan struct{})
	g.Tasks.Go("task streams", func() { defer close(all); ready.Wait() })
	select {
	case <-all:
	case <-time.After(agreeTime):
	case <-ctx.Done():
	}
	mu.Lock()
	defer mu.Unlock()
	return append([]string{}, agreed...), nil
}

// taskStream is the stream of one server with the states of a client's tasks.
type taskStream struct {
	target  *upstream.Target
	client  upstream.Client
	caller  access.Principal
	held    map[string]*tasks.Held // by the server's id
	ids     []string
	agreed  func(handles []string)
	deliver func(method string, params []byte)
}

// taskStreams returns the streams for the client's tasks among the handles, at most
// tasks.MaxListen.
func (g *Gateway) taskStreams(project *toolset.Snapshot, client *Client, handles []string) map[string]*taskStream {
	streams := map[string]*taskStream{}
	for _, text := range handles[:min(len(handles), tasks.MaxListen)] {
		named, _ := rawjson.ParseObject([]byte("{}"), rawjson.Strict) // never fails
		named.Set("taskId", rawjson.Quote(text))
		held, tool, err := g.openTask(project, client, tasks.Extension, named, &RequestInfo{})
		if err != nil {
			continue
		}
		s := streams[held.Handle.Server]
		if s == nil {
			declared, _ := g.callCapabilities(client)
			target, err := tool.Server.Target.For(client.Principal.UserID()).With(client.Forwarded)
			if err != nil {
				continue
			}
			s = &taskStream{target: target, caller: client.Principal, held: map[string]*tasks.Held{}, client: upstream.Client{
				SessionID: client.SessionID, Caller: client.Principal.ID(), Hops: client.Hops, Capabilities: tasks.Declare(declared),
			}}
			streams[held.Handle.Server] = s
		}
		held.Target = s.target
		if s.held[held.Handle.ID] == nil {
			s.held[held.Handle.ID] = held
			s.ids = append(s.ids, held.Handle.ID)
		}
	}
	return streams
}

// run reads the stream, and opens it again after it ended, until ctx is cancelled.
func (s *taskStream) run(ctx context.Context, g *Gateway) {
	for retry := minTaskRetry; ctx.Err() == nil; retry = min(2*retry, maxTaskRetry) {
		err := g.TaskStreams.ListenTasks(ctx, s.target, s.client, s.ids, func(ids []string) {
			retry = minTaskRetry
			var texts []string
			for _, id := range ids {
				if held := s.held[id]; held != nil {
					texts = append(texts, held.Text)
				}
			}
			s.agreed(texts)
			s.agreed = func([]string) {} // the client has received the acknowledgment
		}, func(params []byte) { s.notify(ctx, g, params) })
		if err != nil {
			s.agreed(nil)
			s.agreed = func([]string) {}
			var refused *upstream.AnswerError
			if errors.As(err, &refused) || fault.Is(err, fault.CodeInvalidParameter) {
				return // the server has no such streams
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(retry):
		}
	}
}

// toolOf returns the tool of a task in the present view of a caller, or nil if the
// caller has lost it.
func (g *Gateway) toolOf(caller access.Principal, held *tasks.Held) (*toolset.Snapshot, *toolset.Tool) {
	view, err := g.Views.Current(caller)
	if err != nil {
		return nil, nil
	}
	tool, err := view.Resolve(held.Handle.Tool)
	if err != nil || tool.Server.Config.ID != held.Handle.Server {
		return nil, nil
	}
	return view, tool
}

// notify passes a state to the client, under the handle of its task.
func (s *taskStream) notify(ctx context.Context, g *Gateway, params []byte) {
	o, err := rawjson.ParseObject(params, rawjson.Lenient)
	if err != nil {
		return
	}
	id, _ := o.String("taskId")
	held := s.held[id]
	if held == nil {
		return
	}
	if view, tool := g.toolOf(s.caller, held); tool != nil {
		state := view.Addresses.TaskResult(tool.Server.Config.Alias, g.tasks.Observe(ctx, held, params))
		s.deliver(upstream.TaskChanged, g.cutTask(ctx, view, &Client{Principal: s.caller}, tool, state))
	}
}

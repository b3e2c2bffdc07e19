package gateway

import (
	"context"
	"slices"
	"strconv"
	"sync/atomic"

	"mcpgateway/models"
	"mcpgateway/services/gateway/tasks"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/upstream"
)

// relay forwards the notifications of an upstream server to the client of one
// call: during the call, and afterwards those that arrive on a shared stream.
type relay struct {
	serverID     string
	userID       string         // the owner of the account at the server, or empty
	config       *models.Server // of the gateway's own elicitations, else nil
	stateless    bool           // the upstream server uses 2026-07-28 or later
	elicitations *elicitations
	target       *upstream.Target
	tasks        *tasks.Tasks

	client atomic.Pointer[Client] // replaced when a pending call is continued
	token  atomic.Pointer[[]byte] // the client's raw progress token
	own    []byte                 // the raw progress token sent upstream, or nil
}

// newRelay returns the relay of a call and updates _meta in params: it replaces
// the client's progress token with a unique one, and adds the log level that a
// handshake client set for its session.
func (g *Gateway) newRelay(client *Client, out *preparedRequest) *relay {
	server, params := out.server, out.params
	r := &relay{serverID: server.Config.ID, userID: out.target.Person, elicitations: g.elicitations, target: out.target, tasks: g.tasks}
	r.stateless = server.Inventory != nil && server.Inventory.ProtocolVersion >= VersionStateless
	r.client.Store(client)
	meta := params.Object("_meta")
	if token := meta.Get("progressToken"); token != nil {
		if client.Notify == nil {
			meta.Delete("progressToken") // the client has no stream for progress
		} else {
			r.token.Store(&token)
			r.own = strconv.AppendInt(nil, g.progress.Add(1), 10)
			meta.Set("progressToken", r.own)
		}
	}
	if !client.Stateless() && client.LogLevel != "" && client.Notify != nil {
		if meta == nil {
			meta, _ = rawjson.ParseObject([]byte("{}"), rawjson.Strict)
		}
		meta.Set(metaLogLevel, rawjson.Quote(client.LogLevel))
	}
	switch {
	case meta == nil:
		if rawjson.Kind(params.Get("_meta")) == 'n' {
			params.Delete("_meta")
		}
	case meta.Len() == 0:
		params.Delete("_meta")
	default:
		params.Set("_meta", meta.Bytes())
	}
	return r
}

// continueWith replaces the client by that of the request that continues a
// pending call.
func (r *relay) continueWith(client *Client, params *rawjson.Object) {
	r.client.Store(client)
	if token := params.Object("_meta").Get("progressToken"); token != nil {
		r.token.Store(&token)
	}
}

// finish ends the call. Afterwards only Push, to the stream of the client's
// session, is used.
func (r *relay) finish() {
	was := r.client.Load()
	r.client.Store(&Client{Version: was.Version, SessionID: was.SessionID, LogLevel: was.LogLevel, Push: was.Push})
}

// stray forwards a notification for the client from a shared stream.
func (r *relay) stray(method string, params []byte) {
	if r.passes(r.client.Load(), method, params) {
		r.push(method, params)
	}
}

// push sends a notification on the stream of the client's session. Without one,
// it uses the stream of the call, if that is still running.
func (r *relay) push(method string, params []byte) {
	client := r.client.Load()
	switch {
	case client.Push != nil && client.Push(method, params):
	case client.Notify != nil:
		client.Notify(method, params)
	}
}

// pushComplete reports the completion of a URL elicitation to the client, if its
// protocol version has such notifications.
func (r *relay) pushComplete(params []byte) {
	if r.client.Load().Version == VersionLatestHandshake {
		r.push(upstream.ElicitationComplete, params)
	}
}

// passes reports whether to forward a log message, by its level, or a custom
// notification. Custom notifications of handshake servers are not forwarded to
// stateless clients.
func (r *relay) passes(client *Client, method string, params []byte) bool {
	if method != "notifications/message" {
		return upstream.IsCustom(method) && (r.stateless || !client.Stateless())
	}
	o, err := rawjson.ParseObject(params, rawjson.Lenient)
	if err != nil {
		return false
	}
	level, _ := o.String("level")
	return logEnabled(client, level)
}

// notify forwards a notification of the upstream server, if the client may
// receive it on the stream of this request.
func (r *relay) notify(method string, params []byte) {
	client := r.client.Load()
	if client.Notify == nil {
		return
	}
	switch method {
	case "notifications/progress":
		token := r.token.Load()
		if token == nil {
			return
		}
		o, err := rawjson.ParseObject(params, rawjson.Lenient)
		if err != nil || string(o.Get("progressToken")) != string(r.own) {
			return
		}
		o.Set("progressToken", *token)
		client.Notify(method, o.Bytes())
	case upstream.ElicitationComplete:
		if owner := r.elicitations.complete(r.serverID, r.userID, params); owner != nil && owner != r {
			owner.pushComplete(params)
		} else if client.Version == VersionLatestHandshake {
			client.Notify(method, params)
		}
	case upstream.TaskStatus:
		r.tasks.Notified(r.target, params)
	default:
		if r.passes(client, method, params) {
			client.Notify(method, params)
		}
	}
}

// ElicitationCompleted forwards the completion of a server's URL elicitation,
// with its raw params, to the client that received the elicitation. userID is
// the owner of the account at the server, or empty. It returns false if there is
// no such client.
func (g *Gateway) ElicitationCompleted(serverID, userID string, params []byte) bool {
	owner := g.elicitations.complete(serverID, userID, params)
	if owner == nil {
		return false
	}
	owner.pushComplete(params)
	return true
}

// Named forwards a notification on a shared stream of a target that names what it
// belongs to: the completion of an elicitation or the state of a task. It returns
// false if no client of this process has it.
func (g *Gateway) Named(target *upstream.Target, method string, params []byte) bool {
	if method == upstream.TaskStatus {
		return g.tasks.Notified(target, params)
	}
	return g.ElicitationCompleted(target.ServerID, target.Person, params)
}

// LogLevels returns the log levels, least severe first.
func LogLevels() []string { return upstream.LogLevels() }

// logEnabled reports whether to forward log messages of the level. By default a
// stateless client receives none and a handshake client all.
func logEnabled(client *Client, level string) bool {
	if client.LogLevel == "" {
		return !client.Stateless()
	}
	levels := LogLevels()
	return slices.Index(levels, level) >= slices.Index(levels, client.LogLevel)
}

// parkedMemory uses the memory of the latest request of a pending call. While no
// request waits, the memory of the last one is released, so Reserve fails and a
// large result is dropped.
type parkedMemory struct{ relay *relay }

// Reserve implements upstream.Memory.
func (m parkedMemory) Reserve(ctx context.Context, length, most int64) (int64, error) {
	memory := m.relay.client.Load().Memory
	if memory == nil {
		return most, nil
	}
	return memory.Reserve(ctx, length, most)
}

// Settle implements upstream.Memory.
func (m parkedMemory) Settle(n int64) {
	if memory := m.relay.client.Load().Memory; memory != nil {
		memory.Settle(n)
	}
}

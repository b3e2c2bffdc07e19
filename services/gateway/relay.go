package gateway

import (
	"context"
	"slices"
	"strconv"
	"sync/atomic"

	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset"
	"mcpgateway/services/upstream"
)

// relay forwards what an upstream sends while one call of a client runs, and
// afterwards what arrives for the client on a shared stream.
type relay struct {
	serverID     string
	stateless    bool // the upstream speaks 2026-07-28 or later
	elicitations *elicitations

	client atomic.Pointer[Client] // replaced when a parked call is continued
	token  atomic.Pointer[[]byte] // the client's raw progress token
	own    []byte                 // the raw token that the upstream knows; nil without one
}

// newRelay returns the relay of a call and writes its metadata into params:
// a progress token of ours in place of the client's, and the log level that a
// handshake client set for its session.
func (g *Gateway) newRelay(client *Client, server *toolset.Server, params *rawjson.Object) *relay {
	r := &relay{serverID: server.Config.ID, elicitations: g.elicitations}
	r.stateless = server.Inventory != nil && server.Inventory.ProtocolVersion >= VersionStateless
	r.client.Store(client)
	meta := params.Object("_meta")
	if token := meta.Get("progressToken"); token != nil {
		if client.Notify == nil {
			meta.Delete("progressToken") // progress would have nowhere to go
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

// continueWith hands the relay to the request that continues a parked call.
func (r *relay) continueWith(client *Client, params *rawjson.Object) {
	r.client.Store(client)
	if token := params.Object("_meta").Get("progressToken"); token != nil {
		r.token.Store(&token)
	}
}

// finish ends the call. Only the stream of the client's session is left.
func (r *relay) finish() {
	was := r.client.Load()
	r.client.Store(&Client{Version: was.Version, SessionID: was.SessionID, LogLevel: was.LogLevel, Push: was.Push})
}

// stray forwards a notification that arrived for the client on a shared
// stream.
func (r *relay) stray(method string, params []byte) {
	if r.passes(r.client.Load(), method, params) {
		r.push(method, params)
	}
}

// push sends a notification on the stream of the client's session, otherwise on
// that of the call while it runs.
func (r *relay) push(method string, params []byte) {
	client := r.client.Load()
	switch {
	case client.Push != nil && client.Push(method, params):
	case client.Notify != nil:
		client.Notify(method, params)
	}
}

// passes reports whether the client gets a log message, by its level, or a
// notification of an unknown kind. A stateless client gets none of those from a
// server with a handshake.
func (r *relay) passes(client *Client, method string, params []byte) bool {
	if method != "notifications/message" {
		return upstream.IsCustom(method) && (r.stateless || !client.Stateless())
	}
	o, err := rawjson.ParseObject(params, rawjson.Lenient)
	if err != nil {
		return false
	}
	level, _ := o.String("level")
	return wantsLog(client, level)
}

// notify passes a notification of the upstream on to the client, if it is one
// that the client may get on this request's stream.
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
		if owner := r.elicitations.owner(r.serverID, params); owner != nil && owner != r {
			owner.push(method, params)
		} else if client.Version == VersionLatestHandshake {
			client.Notify(method, params)
		}
	default:
		if r.passes(client, method, params) {
			client.Notify(method, params)
		}
	}
}

// ElicitationCompleted passes the report that a URL elicitation of a server is
// done, with its raw params, to the client that was given it. It reports false
// if there is no such client.
func (g *Gateway) ElicitationCompleted(serverID string, params []byte) bool {
	owner := g.elicitations.owner(serverID, params)
	if owner == nil {
		return false
	}
	owner.push(upstream.ElicitationComplete, params)
	return true
}

// LogLevels returns the levels of log messages, the least severe first.
func LogLevels() []string { return upstream.LogLevels() }

// wantsLog reports whether the client gets messages of the level. A stateless
// client gets none unless it asked; a handshake client that never set a level
// gets what the upstream sends.
func wantsLog(client *Client, level string) bool {
	if client.LogLevel == "" {
		return !client.Stateless()
	}
	levels := LogLevels()
	return slices.Index(levels, level) >= slices.Index(levels, client.LogLevel)
}

// parkedMemory is the memory of the request that waits for a call at present. A
// large result that comes while none does is dropped.
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

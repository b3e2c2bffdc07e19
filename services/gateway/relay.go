package gateway

import (
	"context"
	"slices"
	"strconv"
	"sync/atomic"

	"mcpgateway/services/rawjson"
)

// relay passes on what an upstream sends while one call of a client runs.
type relay struct {
	client atomic.Pointer[Client] // replaced when a parked call is continued
	token  atomic.Pointer[[]byte] // the client's raw progress token
	own    []byte                 // the raw token that the upstream knows; nil without one
}

// newRelay returns the relay of a call and writes its metadata into params:
// a progress token of ours in place of the client's, and the log level that a
// handshake client set for its session.
func (g *Gateway) newRelay(client *Client, params *rawjson.Object) *relay {
	r := &relay{}
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
	case "notifications/message":
		o, err := rawjson.ParseObject(params, rawjson.Lenient)
		if err != nil {
			return
		}
		if level, _ := o.String("level"); wantsLog(client, level) {
			client.Notify(method, params)
		}
	case "notifications/elicitation/complete":
		if client.Version == VersionLatestHandshake {
			client.Notify(method, params)
		}
	}
}

// LogLevels returns the levels of log messages, the least severe first (RFC
// 5424, as MCP names them).
func LogLevels() []string {
	return []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}
}

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

package gateway

import (
	"bytes"
	"context"
	"slices"
	"sync"

	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset"
	"mcpgateway/services/upstream"
)

// upstreamLevels remembers the level last set on each handshake upstream, so
// that it is lowered once and not with every call.
type upstreamLevels struct {
	mu  sync.Mutex
	set map[string]levelSet // by server id
}

type levelSet struct {
	version int64 // of the server's configuration
	level   string
}

// setUpstreamLevel makes a handshake upstream log at least what the client
// wants to see; what others do not want is filtered on the way back. It does
// nothing for upstreams without logging and for stateless ones, which are told
// with each request. A failure costs log messages only, never the call.
func (g *Gateway) setUpstreamLevel(ctx context.Context, client *Client, server *toolset.Server) {
	if client.LogLevel == "" || client.Notify == nil || server.Inventory == nil || server.Inventory.ProtocolVersion >= VersionStateless ||
		!bytes.Contains([]byte(server.Inventory.Capabilities), []byte(`"logging"`)) {
		return
	}
	levels := LogLevels()
	wanted := slices.Index(levels, client.LogLevel)
	if wanted < 0 {
		return
	}
	g.levels.mu.Lock()
	now, known := g.levels.set[server.Config.ID]
	if known && now.version == server.Config.ConfigVersion && slices.Index(levels, now.level) <= wanted {
		g.levels.mu.Unlock()
		return
	}
	g.levels.set[server.Config.ID] = levelSet{server.Config.ConfigVersion, client.LogLevel}
	g.levels.mu.Unlock()
	_, _ = g.Upstreams.Call(ctx, server.Target, &upstream.Request{
		Method: "logging/setLevel", Params: append(append([]byte(`{"level":`), rawjson.Quote(client.LogLevel)...), '}'),
		Client: upstream.Client{SessionID: client.SessionID, Caller: client.Principal.ID(), Capabilities: relayedCapabilities(client)},
	})
}

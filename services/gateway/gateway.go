// Package gateway answers MCP methods for the clients of a project: from its
// snapshot, or by calling the upstream server that owns a tool. JSON of
// clients and upstreams passes through as raw bytes.
package gateway

import (
	"context"
	"log/slog"

	"mcpgateway/services/access"
	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/secrets"
	"mcpgateway/services/toolset"
	"mcpgateway/services/upstream"
)

// Caller calls upstream servers.
type Caller interface {
	Call(ctx context.Context, target *upstream.Target, request *upstream.Request) (*upstream.Response, error)
}

// Gateway answers MCP requests. It is safe for concurrent use and keeps no
// state of its clients.
type Gateway struct {
	upstreams Caller
	tokens    *secrets.KeyRing
	version   string
	log       *slog.Logger
}

// New returns a gateway. tokens seals list cursors; version is what
// serverInfo reports.
func New(upstreams Caller, tokens *secrets.KeyRing, version string, log *slog.Logger) *Gateway {
	return &Gateway{upstreams: upstreams, tokens: tokens, version: version, log: log}
}

// Client is who a request comes from and how it wants to be answered.
type Client struct {
	Principal access.Principal
	// Version is the protocol revision of the request; never empty.
	Version string
	// SessionID is the client's session with the gateway, or empty.
	SessionID string
	// Capabilities is the raw JSON object of capabilities that a stateless
	// client declared; nil for others.
	Capabilities []byte
}

// Stateless reports whether the client speaks revision 2026-07-28 or later.
func (c *Client) Stateless() bool { return c.Version >= VersionStateless }

func (c *Client) era() toolset.Era {
	if c.Stateless() {
		return toolset.EraStateless
	}
	return toolset.EraHandshake
}

// Trace collects what one request did, for the log.
type Trace struct {
	Tool   string // exported name
	Server string // alias
}

// RPCError is a JSON-RPC error of an upstream that the client gets as it is,
// but for numbers that the client's revision forbids.
type RPCError struct{ Raw []byte }

// Error returns the raw error object.
func (e *RPCError) Error() string { return string(e.Raw) }

// Handle answers one request with its raw result. params is the raw member of
// the request, or nil. It returns faults, or *RPCError for an error that the
// upstream answered. trace may be nil.
func (g *Gateway) Handle(ctx context.Context, project *toolset.Snapshot, client *Client, method string, params []byte, trace *Trace) ([]byte, error) {
	if trace == nil {
		trace = &Trace{}
	}
	var p *rawjson.Object
	if params != nil {
		var err error
		if p, err = rawjson.ParseObject(params, rawjson.Strict); err != nil {
			return nil, fault.Invalid("params must be an object")
		}
	}
	switch {
	case method == "tools/call":
		return g.callTool(ctx, project, client, p, trace)
	case method == "tools/list":
		return g.listTools(project, client, p)
	case method == "initialize" && !client.Stateless():
		return g.initialize(project, p)
	case method == "ping" && !client.Stateless():
		return []byte("{}"), nil
	case method == "server/discover" && client.Stateless():
		return g.discover(project), nil
	default:
		return nil, fault.New(fault.KindUnknownMethod, fault.CodeNotFound, "the method %q is not served here", clip(method))
	}
}

func clip(s string) string {
	const max = 128
	if r := []rune(s); len(r) > max {
		return string(r[:max]) + "…"
	}
	return s
}

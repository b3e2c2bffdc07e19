// Package gateway answers MCP methods for the clients of a project: from its
// snapshot, or by calling the upstream server that owns a tool. JSON of
// clients and upstreams passes through as raw bytes.
package gateway

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"

	"mcpgateway/models"
	"mcpgateway/services/access"
	"mcpgateway/services/background"
	"mcpgateway/services/fault"
	"mcpgateway/services/membudget"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/secrets"
	"mcpgateway/services/toolset"
	"mcpgateway/services/upstream"
)

// Caller calls upstream servers.
type Caller interface {
	Call(ctx context.Context, target *upstream.Target, request *upstream.Request) (*upstream.Response, error)
}

// Projects finds the present snapshot of a project.
type Projects interface {
	ProjectByID(id string) *toolset.Snapshot
}

// CallLog keeps which tools were called. It must not block: it is told on the
// way of every call.
type CallLog interface {
	Record(call models.Call)
}

// Waiting knows which servers wait for a person to connect them.
type Waiting interface {
	// Why returns why a server waits, or "".
	Why(serverID string) string
}

// Outages knows from which servers calls are kept away at present.
type Outages interface {
	// Outage returns why, or "". It is asked for every list.
	Outage(serverID string) string
}

// Options are what a Gateway works with. All must be set but where it says so.
type Options struct {
	Upstreams    Caller
	Projects     Projects
	Search       Search
	Declarations Declarations
	Runner       CodeRunner
	Limits       CallLimits // of the calls that code makes
	Calls        CallLog
	Results      *membudget.Budget // of the calls that code makes; may be nil
	Waiting      Waiting           // may be nil: then no server waits for a person
	Outages      Outages           // may be nil: then none
	Tokens       *secrets.KeyRing  // seals cursors and request states
	Version      string            // what serverInfo reports
	Instance     string            // the name of this gateway among gateways
	Log          *slog.Logger
	Tasks        *background.Tasks // may be nil
}

// Gateway answers MCP requests. It is safe for concurrent use. Of its clients
// it keeps nothing but calls that wait for their input.
type Gateway struct {
	Options
	progress atomic.Int64 // the last progress token given to an upstream
	parked   *parkingLot
	code     codeTools

	elicitations *elicitations
}

// New returns a gateway.
func New(o Options) *Gateway {
	return &Gateway{
		Options: o, parked: newParkingLot(o.Tokens), elicitations: newElicitations(),
		code: codeTools{byProject: map[string]preparedTools{}},
	}
}

// Client is who a request comes from and how it wants to be answered.
type Client struct {
	Principal access.Principal
	// Version is the protocol revision of the request; never empty.
	Version string
	// RequestID is under what the log knows the request.
	RequestID string
	// TraceParent and TraceState are the trace that calls of upstreams carry
	// on (W3C Trace Context); both may be empty.
	TraceParent, TraceState string
	// Hops are the gateways that the request has passed, as in the
	// Gateway-Hops header; empty for every other client.
	Hops string
	// SessionID is the client's session with the gateway, or empty.
	SessionID string
	// Capabilities is the raw JSON object of capabilities that the client
	// declared, in its request or its handshake; nil when none are known.
	Capabilities []byte
	// LogLevel is the least severe level of log messages that the client asked
	// for; empty when it did not ask.
	LogLevel string

	// Memory is where the memory of a large result is reserved; nil reserves
	// nothing. Whoever made it releases it when the client has the result.
	Memory upstream.Memory

	// Notify sends a notification on the request's own stream. It is nil for
	// a client that takes nothing but the answer.
	Notify func(method string, params []byte)
	// Push sends a notification on the stream of the client's session, if that
	// is open in this process, and reports whether it is. It does not block,
	// and may be called after the request. It is nil for a client
	// without a session.
	Push func(method string, params []byte) bool
	// Ask sends a request to the client and returns its raw result or its raw
	// JSON-RPC error. It is nil for a client that cannot be asked: one without
	// a session or a stream, and every stateless one.
	Ask func(ctx context.Context, method string, params []byte) (result, rpcError []byte, err error)
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

// Number returns the error's code, or 0 when it has none.
func (e *RPCError) Number() int {
	o, err := rawjson.ParseObject(e.Raw, rawjson.Lenient)
	if err != nil {
		return 0
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(o.Get("code"))))
	if err != nil {
		return 0
	}
	return n
}

// Error returns the raw error object.
func (e *RPCError) Error() string { return string(e.Raw) }

// Unwrap returns the error as the fault by which logs and traces know it:
// UPSTREAM_ERROR with the upstream's own message. It has no cause, because an
// upstream that refuses what it is asked for is no failure of ours.
func (e *RPCError) Unwrap() error {
	if o, err := rawjson.ParseObject(e.Raw, rawjson.Lenient); err == nil {
		if message, ok := o.String("message"); ok {
			return fault.Upstream(fault.CodeUpstreamError, "%s", message)
		}
	}
	return fault.Upstream(fault.CodeUpstreamError, "the server answered with an error of its own")
}

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
	if client.Stateless() {
		if method == "server/discover" {
			return g.discover(project), nil
		}
	} else {
		switch method {
		case "initialize":
			return g.initialize(project, p)
		case "ping":
			return []byte("{}"), nil
		}
	}
	switch method {
	case "tools/call":
		return g.callTool(ctx, project, client, p, len(params), trace)
	case "tools/list":
		return g.listTools(ctx, project, client, p)
	case "prompts/list":
		return g.listOffers(ctx, project, client, p, models.ListingPrompt, "prompts")
	case "prompts/get":
		return g.getPrompt(ctx, project, client, p, trace)
	case "resources/list":
		return g.listOffers(ctx, project, client, p, models.ListingResource, "resources")
	case "resources/templates/list":
		return g.listOffers(ctx, project, client, p, models.ListingTemplate, "resourceTemplates")
	case "resources/read":
		return g.readResource(ctx, project, client, p, trace)
	case "completion/complete":
		return g.complete(ctx, project, client, p, trace)
	default:
		return nil, UnknownMethod(method)
	}
}

// UnknownMethod returns the fault for a method that is not served.
func UnknownMethod(method string) error {
	return fault.New(fault.KindUnknownMethod, fault.CodeNotFound, "the method %q is not served here", clip(method))
}

func clip(s string) string {
	const max = 128
	if r := []rune(s); len(r) > max {
		return string(r[:max]) + "…"
	}
	return s
}

// Package gateway handles the MCP requests of a project's clients. Lists come
// from the project's snapshot, calls go to the upstream server that owns the
// tool. JSON of clients and upstream servers is forwarded as raw bytes.
package gateway

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/access"
	"mcpgateway/services/artifacts/excerpt"
	"mcpgateway/services/background"
	"mcpgateway/services/capabilities"
	"mcpgateway/services/fault"
	"mcpgateway/services/gateway/connecting"
	"mcpgateway/services/gateway/tasks"
	"mcpgateway/services/membudget"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/secrets"
	"mcpgateway/services/toolset"
	"mcpgateway/services/toolset/override"
	"mcpgateway/services/upstream"
)

// Caller calls upstream servers.
type Caller interface {
	Call(ctx context.Context, target *upstream.Target, request *upstream.Request) (*upstream.Response, error)
	// Hold opens the session of a client and its stream until release is
	// called.
	Hold(ctx context.Context, target *upstream.Target, client upstream.Client) (release func())
}

// Views returns the present view of a caller. It returns UNAUTHORIZED for a
// caller who is no longer admitted. Implemented by views.Views.
type Views interface {
	Current(caller access.Principal) (*toolset.Snapshot, error)
}

// ArgumentChecker validates the arguments of calls.
type ArgumentChecker interface {
	// Check returns INVALID_PARAMETER if raw arguments don't match the inputSchema
	// of a raw tool definition. It is called for every call of projects that
	// validate arguments.
	Check(definition, arguments []byte) error
}

// CallLog records tool calls. Record must not block, because every call waits
// for it.
type CallLog interface {
	Record(call models.Call)
}

// PendingAuth reports what calls of a user to a server wait for. userID is empty
// for callers who are not users. It is called for every list.
type PendingAuth interface {
	Pending(ctx context.Context, server *models.Server, userID string) upstream.Pending
}

// Outages reports the servers whose calls are paused.
type Outages interface {
	// Outage returns the reason, or "". It is called for every list.
	Outage(serverID string) string
}

// FirstReads are the first reads of servers' tools.
type FirstReads interface {
	// AwaitFirstReads waits for servers that were never read. It reports whether it
	// waited. It is called for every list of tools.
	AwaitFirstReads(ctx context.Context, project *toolset.Snapshot) (waited bool)
}

// Options configure a Gateway. All fields are required unless noted.
type Options struct {
	Upstreams    Caller
	Views        Views
	Search       Search
	Declarations Declarations
	Runner       CodeRunner
	Limits       CallLimits      // for calls made by code
	Quotas       Quotas          // for calls of upstream tools and recipes; nil means no limits
	Arguments    ArgumentChecker // for recipes and projects with validateArguments; nil means no recipes and no check
	Proposals    Proposals       // of recipes; nil means none
	Calls        CallLog
	Results      *membudget.Budget    // for results of calls made by code; nil is unlimited
	Artifacts    excerpt.Store        // of results over a limit; nil cuts none
	Waiting      PendingAuth          // nil means no pending authorizations
	Connecting   *connecting.Prompter // nil passes CONNECTION_REQUIRED on
	Outages      Outages              // nil means no outages
	FirstReads   FirstReads           // nil means that lists don't wait
	Tokens       *secrets.KeyRing     // seals cursors and request states
	References   override.Resolver    // of arguments that administrators fixed
	Version      string               // reported in serverInfo
	Instance     string               // identifies this gateway in Gateway-Hops
	TaskRows     tasks.Rows           // the tasks of clients; nil stores none
	TaskStreams  TaskStreams          // nil means none
	Log          *slog.Logger
	Tasks        *background.Tasks // may be nil
}

// Gateway handles MCP requests. It is safe for concurrent use. Its only
// per-client state is calls that wait for input, and open URL elicitations.
type Gateway struct {
	Options
	progress atomic.Int64 // last progress token sent to an upstream server
	parked   *pendingCalls

	elicitations *elicitations
	tasks        *tasks.Tasks
	clients      *capabilities.Cache[clientCapabilities]
}

// New returns a gateway.
func New(o Options) *Gateway {
	return &Gateway{
		Options: o, parked: newPendingCalls(o.Tokens), elicitations: newElicitations(),
		tasks:   tasks.New(tasks.Options{Caller: o.Upstreams, Handles: o.Tokens, Rows: o.TaskRows, Now: time.Now, Log: o.Log, Background: o.Tasks}),
		clients: capabilities.NewCache(newClientCapabilities),
	}
}

// Client is the client of one request.
type Client struct {
	Principal access.Principal
	// Version is the protocol version of the request. It is never empty.
	Version string
	// Code is set for calls made by code that the gateway runs.
	Code bool
	// RequestID identifies the request in the log.
	RequestID string
	// TraceParent and TraceState are the trace context sent with upstream
	// calls (W3C Trace Context). Both may be empty.
	TraceParent, TraceState string
	// Hops is the Gateway-Hops header: the gateways that the request has
	// passed. It is empty unless the client is a gateway.
	Hops string
	// Forwarded are the headers of the request that servers can receive, by
	// canonical name. They must not reach logs, traces, records and errors.
	Forwarded http.Header
	// SessionID is the key of the client's session, or empty.
	SessionID string
	// Capabilities is the raw JSON object of capabilities that the client
	// declared in the request or the handshake, or nil.
	Capabilities []byte
	// LogLevel is the minimum severity of log messages that the client
	// requested, or empty.
	LogLevel string

	// originalOutput reports whether results have the server's own structured
	// content. It is set for code, whose declarations have the server's schemas.
	originalOutput bool

	// Memory reserves the memory of a large result. Nil reserves nothing. Its
	// creator releases it after the client has received the result.
	Memory upstream.Memory

	// Notify sends a notification on the stream of the request. It is nil if
	// the client accepts only the response.
	Notify func(method string, params []byte)
	// OpenStream starts the response as a stream, from which the client can
	// reconnect. It is nil unless that is possible.
	OpenStream func()
	// Push sends a notification on the stream of the client's session. It
	// reports whether that stream is open in this process. It does not block
	// and may be called after the request. It is nil for a client without a
	// session.
	Push func(method string, params []byte) bool
	// Ask sends a request to the client and returns its raw result or raw
	// JSON-RPC error. It is nil for clients that can't receive requests: those
	// without a session or a stream, and all stateless ones.
	Ask func(ctx context.Context, method string, params []byte) (result, rpcError []byte, err error)

	// inner marks a call made by a built-in tool, which takes only results.
	inner bool
	// nesting is the run of code that makes the call, or nil.
	nesting *nesting
}

// Stateless reports whether the client uses protocol version 2026-07-28 or
// later.
func (c *Client) Stateless() bool { return c.Version >= VersionStateless }

func (c *Client) era() toolset.Era {
	if c.Stateless() {
		return toolset.EraStateless
	}
	return toolset.EraHandshake
}

// RequestInfo collects the tool and server of one request for the log.
type RequestInfo struct {
	Tool   string // exported name
	Server string // alias
}

// RPCError is a JSON-RPC error of an upstream server. It is forwarded
// unchanged, except for codes that the client's protocol version forbids.
type RPCError struct{ Raw []byte }

// Number returns the code of the error, or 0 if it has none.
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

// Unwrap returns the fault for logs and traces: UPSTREAM_ERROR with the
// upstream server's message. It has no cause, because a request rejected by its
// upstream server isn't a failure of the gateway.
func (e *RPCError) Unwrap() error {
	if o, err := rawjson.ParseObject(e.Raw, rawjson.Lenient); err == nil {
		if message, ok := o.String("message"); ok {
			return fault.Upstream(fault.CodeUpstreamError, "%s", message)
		}
	}
	return fault.Upstream(fault.CodeUpstreamError, "The server returned an error.")
}

// Handle handles one request and returns its raw result. params is the raw
// member of the request, or nil. trace may be nil. It returns faults, or
// *RPCError for an error response of the upstream server.
func (g *Gateway) Handle(ctx context.Context, project *toolset.Snapshot, client *Client, method string, params []byte, trace *RequestInfo) ([]byte, error) {
	if trace == nil {
		trace = &RequestInfo{}
	}
	var p *rawjson.Object
	if params != nil {
		var err error
		if p, err = rawjson.ParseObject(params, rawjson.Strict); err != nil {
			return nil, fault.Invalid("params must be an object.")
		}
	}
	if stage, ok := stageOf(method); ok && isRecorded(client, stage) {
		return g.handleRecorded(ctx, project, client, stage, method, params, p, trace)
	}
	return g.dispatch(ctx, project, client, method, params, p, trace)
}

// dispatch handles one request. p is the parsed params.
func (g *Gateway) dispatch(ctx context.Context, project *toolset.Snapshot, client *Client, method string, params []byte, p *rawjson.Object, trace *RequestInfo) ([]byte, error) {
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
	case "skills/list", "skills/get", "resources/directory/read":
		return g.skillRequest(ctx, project, client, method, p, trace)
	case "completion/complete":
		return g.complete(ctx, project, client, p, trace)
	case "tasks/list", "tasks/result", "tasks/get", "tasks/cancel", "tasks/update":
		return g.taskRequest(ctx, project, client, method, p, trace)
	default:
		return nil, UnknownMethod(method)
	}
}

// UnknownMethod returns the fault for a method that is not supported.
func UnknownMethod(method string) error {
	return fault.New(fault.KindUnknownMethod, fault.CodeNotFound, "Method %q is not supported. Check the protocol version and the server's capabilities.", clip(method))
}

func clip(s string) string {
	const max = 128
	if r := []rune(s); len(r) > max {
		return string(r[:max]) + "…"
	}
	return s
}

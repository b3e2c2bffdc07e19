// Package upstream holds what calls of upstream servers are made of: targets,
// requests, responses, events, health and JSON-RPC error numbers. Its rooms
// speak MCP to the servers, in every revision from 2024-11-05 to 2026-07-28,
// and know no database. pool is the one that callers use.
package upstream

import (
	"context"
	"net/http"
	"strings"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/secrets"
	"mcpgateway/services/upstream/wire"
)

const (
	// defaultCallTime bounds a call whose target names no time-out.
	defaultCallTime = 60 * time.Second
	// defaultConcurrent is the number of calls to one server that this process
	// has in flight at once where the target sets none.
	defaultConcurrent = 512
)

// Target is everything needed to reach one upstream. It is immutable: a
// changed configuration is a new Target with a higher Version, which ends the
// sessions of the older one. With an empty ServerID nothing is kept: every
// use connects anew, which is how an unsaved configuration is tried out.
type Target struct {
	ServerID string
	Alias    string // for messages only
	URL      string // as it may be shown
	Version  int64

	// Address returns URL with its secret query values; a nil Address means
	// that it has none. It is called for each session, and its error is returned
	// unchanged. It must be safe for concurrent use.
	Address func() (string, error)

	Transport   models.Transport
	Timeout     time.Duration // of one call; 60 s when zero
	SessionMode models.SessionMode
	// MaxConcurrent is the number of calls in flight at once; 512 when zero.
	MaxConcurrent int

	// Headers returns the credentials and extra headers of a request; it is
	// asked for each one, also when a session is ended in the background. Its
	// error is returned unchanged. It may be nil. It must be safe for
	// concurrent use, and the map it returns is only read.
	Headers func(ctx context.Context) (http.Header, error)

	// Secrets returns secrets of the server that are in no header, such as a
	// refresh token. Together with the headers they are removed from everything
	// that the server sends. It may be nil. It must be safe for concurrent use.
	Secrets func(ctx context.Context) []secrets.Value

	// Refused is called when the upstream refused a request with these headers
	// (HTTP 401 or 403). It returns those to send it with once more after 401;
	// nil when the refusal is the result. Its error is returned unchanged. It may be
	// nil. It must be safe for concurrent use.
	Refused func(ctx context.Context, sent http.Header, c *Challenge) (http.Header, error)
}

// CallTimeout is the time-out of one call.
func (t *Target) CallTimeout() time.Duration {
	if t.Timeout > 0 {
		return t.Timeout
	}
	return defaultCallTime
}

// ConcurrencyLimit is the number of calls in flight at once.
func (t *Target) ConcurrencyLimit() int {
	if t.MaxConcurrent > 0 {
		return t.MaxConcurrent
	}
	return defaultConcurrent
}

// Client is the client on whose behalf a call is made.
type Client struct {
	// SessionID names the client's own session with the gateway. Targets with
	// one upstream session per client have one for each, and one for each call
	// of a client without a session. On shared sessions calls with equal ids are
	// of one client.
	SessionID string
	// Caller identifies whose calls take turns with those of others when many
	// wait for the server.
	Caller string
	// Capabilities is the raw JSON object of the client capabilities that
	// the gateway relays for this client; nil means none.
	Capabilities []byte
	// TraceParent and TraceState are headers of the call (W3C Trace Context).
	// Without a TraceParent neither is sent.
	TraceParent, TraceState string
	// Hops is the Gateway-Hops header of the client's request, or empty.
	Hops string
}

// Request is one JSON-RPC request to an upstream.
type Request struct {
	Method string
	Params []byte // a raw JSON object, or nil
	Client Client

	// Parsed are the params in place of Params, for who has taken them apart
	// already. They are not changed.
	Parsed *rawjson.Object

	// ParamHeaders are the header annotations of the tool that is called.
	// They matter for upstreams of revision 2026-07-28 only.
	ParamHeaders ParamHeaders

	// Repeatable is set when processing the request twice is the same as once: its
	// tool is annotated as read-only or idempotent. Methods that only read are
	// repeatable without it.
	Repeatable bool

	// Notify receives the notifications that arrive on this call's own
	// stream, in order and one at a time, before the call returns. It may be
	// nil. On HTTP+SSE, where all calls share one stream, these are the
	// progress notifications that carry the progress token of Params. Where
	// Serve is set, those are taken from the GET stream of the session too.
	Notify func(method string, params []byte)

	// LogLevel is the least severe level of log messages for the client, one of
	// LogLevels; empty if it never set one. A session with a handshake is
	// set to it before the call. While the call runs the GET stream of the
	// session is held, on which some upstreams send them.
	LogLevel string

	// Stray receives the log messages and notifications of unknown kinds that
	// arrive on a stream which the calls of a session share, while the call
	// runs and up to 250 ms later, if they can be only this client's; on a
	// client's own session as long as that lasts. It must not block and may be
	// called concurrently with Notify. It may be nil.
	Stray func(method string, params []byte)

	// Serve answers a request that the upstream makes in the middle of this
	// call with a raw result or a raw JSON-RPC error object. Its context ends
	// with the call, and several may run at once. Without it such requests
	// are refused with -32601. A ping is always answered here.
	//
	// Upstreams may also ask on a stream that all calls of the session share:
	// the only one of HTTP+SSE, or the GET stream, which is held for calls
	// with Serve whose client has capabilities. Such a request does not say
	// which call it belongs to. It comes here only when this is the only call
	// in flight on the session; otherwise it is refused with -32603, so that
	// no client is asked what is meant for another. When a call is given up
	// on a session that several clients share, its question may still come.
	// Then nobody on that session is asked any more, and later calls use
	// another.
	Serve func(ctx context.Context, method string, params []byte) (result, rpcError []byte)

	// Memory is where the memory of a large answer is reserved; nil reserves
	// nothing.
	Memory Memory
}

// RawParams returns the params as a raw JSON object, or nil.
func (r *Request) RawParams() []byte {
	if r.Parsed != nil {
		return r.Parsed.Bytes()
	}
	return r.Params
}

// ParamsObject returns the params, which must not be changed; without any an
// empty object. It returns INVALID_PARAMETER when they are no object.
func (r *Request) ParamsObject() (*rawjson.Object, error) {
	if r.Parsed != nil {
		return r.Parsed, nil
	}
	params := r.Params
	if params == nil {
		params = []byte("{}")
	}
	o, err := rawjson.ParseObject(params, rawjson.Lenient)
	if err != nil {
		return nil, wire.InvalidParams(err)
	}
	return o, nil
}

// Response is the answer of an upstream. Exactly one of Result and Error is
// set, with the bytes that the upstream sent.
type Response struct {
	Result    []byte
	Error     []byte
	Stateless bool   // the upstream speaks revision 2026-07-28, without sessions
	Version   string // the protocol revision of the exchange
}

// Memory reserves the memory of a response of more than 64 KiB, after the first
// of these have arrived.
type Memory interface {
	// Reserve waits for the memory of a response and returns how long it may be,
	// in bytes. length is negative when the length is unknown; then the response has
	// at most most bytes. It does not wait when ctx has ended. A later Reserve
	// replaces an earlier one.
	Reserve(ctx context.Context, length, most int64) (int64, error)
	// Settle frees what a response of n bytes does not need. It follows every
	// call that reserved.
	Settle(n int64)
}

// IsRepeatable reports whether processing the request twice is the same as once.
func (r *Request) IsRepeatable() bool { return r.Repeatable || reads(r.Method) }

// reads reports whether a method only reads, so that asking twice is the same
// as asking once.
func reads(method string) bool {
	switch method {
	case "server/discover", "ping", "resources/read", "prompts/get", "completion/complete":
		return true
	}
	return strings.HasSuffix(method, "/list")
}

// Package upstream defines calls of upstream servers: targets, requests,
// responses, events, health and JSON-RPC error codes. Its subpackages implement
// MCP clients for every revision from 2024-11-05 to 2026-07-28, without a
// database. Callers use package pool.
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
	// defaultCallTime is the timeout of a call if the target sets none.
	defaultCallTime = 60 * time.Second
	// defaultTaskTime is the timeout of waiting for a task if the target sets none.
	defaultTaskTime = 10 * time.Minute
	// defaultConcurrent is the maximum number of calls in flight from this
	// process to one server if the target sets none.
	defaultConcurrent = 512
	// newestRevision is the protocol version of targets without a pin.
	newestRevision = "auto"
)

// Target is the configuration of one upstream. It is immutable: a changed
// configuration is a new Target with a higher Version, which ends the sessions
// of the older one. If ServerID is empty, nothing is stored and every use opens
// a new connection; this is for testing an unsaved configuration.
type Target struct {
	ServerID string
	Alias    string // for messages only
	URL      string // without secrets, for display
	Version  int64

	// Address returns URL with its secret query values. It may be nil if there
	// are none. It is called for each session and must be safe for concurrent
	// use. Its error is returned unchanged.
	Address func() (string, error)

	// HTTP sends the requests. Nil means the client of the pool.
	HTTP *http.Client

	// Connect returns the maximum time from the start of the server to its first
	// response. It is added to the limits of the pool's own requests. It may be
	// nil if the gateway starts nothing. It must not block and must be safe for
	// concurrent use.
	Connect func() time.Duration
	// Starting returns what a call waits for while the server starts, for
	// example "starting, 12 s", or empty. It may be nil. It must not block and
	// must be safe for concurrent use.
	Starting func() string

	// EndEvent is the name of the event with which a runner ends the response of a
	// program that has ended. Its data is a JSON-RPC error. Empty means that
	// there is none.
	EndEvent string

	// Person is the ID of the user whose own account the target uses, or empty.
	// Sessions, streams and subscriptions are never shared between users.
	Person string
	// Forwarded is a keyed hash of the headers of the client that are forwarded
	// with this target, or empty. It separates sessions like Person.
	Forwarded string
	// Forwarding are the headers of clients that With adds.
	Forwarding Forwarding
	// Own returns the target that uses the own account of a user. It is nil if
	// all users share one account.
	Own func(userID string) *Target

	Transport   models.Transport
	Timeout     time.Duration // of one call; 0 means 60 s
	TaskTimeout time.Duration // of a call that waits for a task; 0 means 10 min
	// ProtocolVersion is the protocol revision to use, or models.ProtocolAuto.
	// Empty means the same as models.ProtocolAuto.
	ProtocolVersion string
	SessionMode     models.SessionMode
	// MaxConcurrent is the maximum number of calls in flight; 0 means 512.
	MaxConcurrent int

	// Headers returns the credentials and extra headers of a request. It may be
	// nil. It is called for each request, also when a session is closed in the
	// background. It must be safe for concurrent use, and its map is not
	// modified. Its error is returned unchanged.
	Headers func(ctx context.Context) (http.Header, error)

	// Secrets returns secrets of the server that are in no header, such as a
	// refresh token. They and the headers are removed from everything that the
	// server sends. It may be nil. It must be safe for concurrent use.
	Secrets func(ctx context.Context) []secrets.Value

	// Refused is called when the upstream rejected a request with these headers
	// (HTTP 401 or 403). After 401 it may return headers for one retry; nil
	// means no retry. With Person it is called again for the retry. Its error is
	// returned unchanged. It may be nil. It must be safe for concurrent use.
	Refused func(ctx context.Context, sent http.Header, c *Challenge) (http.Header, error)

	// Accepted is called when the upstream accepted a request with these headers.
	// It may be nil. It must be safe for concurrent use.
	Accepted func(ctx context.Context, sent http.Header)
}

// For returns the target for the calls of a user, who can be empty: t itself if
// all users share one account. Requests to the target of a personal server
// without a user fail with PERSON_REQUIRED.
func (t *Target) For(userID string) *Target {
	if t.Own == nil || userID == "" {
		return t
	}
	return t.Own(userID)
}

// StartTime returns the maximum time from the start of the server to its first
// response, and 0 if calls don't start it.
func (t *Target) StartTime() time.Duration {
	if t.Connect == nil {
		return 0
	}
	return t.Connect()
}

// Waiting returns what a call waits for while the server starts, or empty.
func (t *Target) Waiting() string {
	if t.Starting == nil {
		return ""
	}
	return t.Starting()
}

// IsPersonal reports whether every user has their own account at the server.
func (t *Target) IsPersonal() bool { return t.Own != nil || t.Person != "" }

// Pin returns the configured protocol revision, or "" if the newest is used.
func (t *Target) Pin() string {
	if t.ProtocolVersion == newestRevision {
		return ""
	}
	return t.ProtocolVersion
}

// CallTimeout returns the timeout of one call.
func (t *Target) CallTimeout() time.Duration {
	if t.Timeout > 0 {
		return t.Timeout
	}
	return defaultCallTime
}

// TaskTime returns the timeout of waiting for a task.
func (t *Target) TaskTime() time.Duration {
	if t.TaskTimeout > 0 {
		return t.TaskTimeout
	}
	return defaultTaskTime
}

// ConcurrencyLimit returns the maximum number of calls in flight.
func (t *Target) ConcurrencyLimit() int {
	if t.MaxConcurrent > 0 {
		return t.MaxConcurrent
	}
	return defaultConcurrent
}

// Client is the client on whose behalf a call is made.
type Client struct {
	// SessionID is the client's own session with the gateway. Targets with one
	// upstream session per client have one for each SessionID, and one for each
	// call of a client without a session. In shared sessions, calls with equal
	// IDs belong to one client.
	SessionID string
	// Caller is the identity for the round robin of calls in the queue.
	Caller string
	// Capabilities is the raw JSON object of the client capabilities that the
	// gateway relays for this client; nil means none.
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

	// Parsed are the parsed params, used instead of Params if set. They are not
	// modified.
	Parsed *rawjson.Object

	// ParamHeaders are the header annotations of the called tool. Only
	// upstreams of revision 2026-07-28 use them.
	ParamHeaders ParamHeaders

	// Repeatable reports that the request can be processed twice without harm,
	// because its tool is annotated as read-only or idempotent. Read-only
	// methods are always repeatable.
	Repeatable bool

	// Notify receives the notifications on this call's own stream, in order and
	// one at a time, before the call returns. It may be nil. On HTTP+SSE, where
	// all calls share one stream, it receives the progress notifications with
	// the progress token of Params. If Serve is set, it also receives those of
	// the session's GET stream.
	Notify func(method string, params []byte)

	// Released is called when the upstream ends the stream of this call before
	// its response, after an event ID or a retry time (MCP 2025-11-25, "Sending
	// Messages to the Server"). It may be nil.
	Released func()

	// LogLevel is the client's log level, one of LogLevels, or empty if it
	// never set one. A session with a handshake is set to it before the call.
	// During the call the session's GET stream is open, because some upstreams
	// send log messages there.
	LogLevel string

	// Stream opens the session's GET stream during the call, because the upstream
	// may send messages there that the call causes.
	Stream bool
	// Logs opens it too if the upstream offers log messages.
	Logs bool

	// Stray receives log messages and unknown notifications on a stream that is
	// shared by the calls of a session. In a shared session it receives them
	// during the call and up to 250 ms later, if they can only belong to this
	// client. In a client's own session it receives them until the session
	// ends. It must not block and may be called concurrently with Notify. It
	// may be nil.
	Stray func(method string, params []byte)

	// Serve handles a request of the upstream during this call. It returns a
	// raw result or a raw JSON-RPC error object. Its context ends with the
	// call, and several may run concurrently. If it is nil, such requests are
	// rejected with -32601. The gateway always responds to ping itself.
	//
	// Upstreams can also send requests on a stream that all calls of the
	// session share: the stream of HTTP+SSE, or the GET stream, which is open
	// during calls with Serve whose client has capabilities. Such a request
	// does not identify its call. It is passed to Serve only if this is the
	// only call in flight in the session. Otherwise it is rejected with -32603,
	// so that no client receives a request meant for another. If a call is
	// abandoned in a session that several clients share, its request may still
	// arrive later. Therefore that session then rejects all such requests, and
	// later calls use another session.
	Serve func(ctx context.Context, method string, params []byte) (result, rpcError []byte)

	// Memory reserves the memory of a large response; nil reserves nothing.
	Memory Memory

	// Wait marks a request that waits for a task. It takes no place among the
	// calls in flight and ends only with its context.
	Wait bool
	// KeepsSession marks a request whose effect lives in the upstream session,
	// such as a task. That session is not ended at the upstream.
	KeepsSession bool
	// Session is the upstream session to use, from an earlier response, because
	// some upstreams keep tasks in it. Another is used if it has ended.
	Session Session
}

// Session identifies an established session with an upstream. It is zero for
// upstreams without sessions. The ID is a credential.
type Session struct {
	ID      string
	Version string // protocol revision
}

// RawParams returns the params as a raw JSON object, or nil.
func (r *Request) RawParams() []byte {
	if r.Parsed != nil {
		return r.Parsed.Bytes()
	}
	return r.Params
}

// ParamsObject returns the params, or an empty object without params. The
// caller must not modify it. It returns INVALID_PARAMETER if the params are not
// an object.
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

// Response is the response of an upstream. Exactly one of Result and Error is
// set, with the bytes that the upstream sent.
type Response struct {
	Result    []byte
	Error     []byte
	Stateless bool   // the upstream uses revision 2026-07-28, without sessions
	Version   string // protocol revision of the session
	Session   Session
}

// Memory reserves the memory of a response larger than 64 KiB, after its first
// 64 KiB have arrived.
type Memory interface {
	// Reserve waits for the memory of a response and returns the maximum size
	// in bytes. length is negative if it is unknown; then the response has at
	// most most bytes. Reserve does not wait if ctx is done. It replaces an
	// earlier reservation.
	Reserve(ctx context.Context, length, most int64) (int64, error)
	// Settle releases what a response of n bytes does not need. It is called
	// after every call that reserved memory.
	Settle(n int64)
}

// IsRepeatable reports whether the request can be processed twice without harm.
func (r *Request) IsRepeatable() bool { return r.Repeatable || isReadOnly(r.Method) }

// isReadOnly reports whether a method is read-only.
func isReadOnly(method string) bool {
	switch method {
	case "server/discover", "ping", "resources/read", "prompts/get", "completion/complete", "tasks/get", "tasks/result",
		"skills/get", "resources/directory/read":
		return true
	}
	return strings.HasSuffix(method, "/list")
}

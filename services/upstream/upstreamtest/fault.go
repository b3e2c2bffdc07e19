package upstreamtest

import (
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"mcpgateway/services/rawjson"
)

// The requests that a fault applies to. Any other value of Fault.On is a
// JSON-RPC method.
const (
	OnAny          = ""             // every HTTP request
	OnAccept       = "accept"       // the connection, before a byte is read; only with Hang
	OnInitialize   = "initialize"   // initialize and server/discover
	OnList         = "list"         // every method that ends in /list
	OnCall         = "call"         // tools/call
	OnNotification = "notification" // a notification or a response
	OnStream       = "stream"       // GET
	OnDelete       = "delete"       // DELETE
)

// FaultKind is the kind of a fault.
type FaultKind uint8

const (
	// Delay waits for Latency and then handles the request normally.
	Delay FaultKind = iota
	// Hang never responds.
	Hang
	// Status responds with the HTTP status Status, Header and Body.
	Status
	// Reset closes the connection with a TCP reset.
	Reset
	// Disconnect closes the connection without a response.
	Disconnect
	// Redirect responds with Status (307 if 0) and Location URL.
	Redirect
	// Raw responds with HTTP 200 (or Status) and Body, in which $ID is replaced
	// by the request's id. The type is application/json unless Header sets
	// another. Over HTTP+SSE the body is sent as one event.
	Raw
	// InvalidJSON responds with truncated JSON.
	InvalidJSON
	// HTML responds with a web page.
	HTML
	// WrongID responds normally but with an unknown id.
	WrongID
	// JSONRPCError responds with Error.
	JSONRPCError
	// Huge responds with a valid result of about Bytes bytes, streamed, or an
	// endless one if Bytes is 0.
	Huge
	// EndlessSSE sends endless notifications and no response.
	EndlessSSE
	// SilentSSE opens the event stream and ends it without a response.
	SilentSSE
	// EndlessPages returns a new nextCursor with every page of a list.
	EndlessPages
	// RepeatedCursor returns the same nextCursor with every page of a list.
	RepeatedCursor
	// Gzip compresses the response although the client didn't accept it. With
	// Bytes it inflates to about that size. It doesn't apply to HTTP+SSE.
	Gzip
	// DropHalf closes the connection after half of the response.
	DropHalf
	// CutStream ends a resumable event stream before the response, which is
	// sent when the client resumes. Retry is the delay sent to the client.
	CutStream
)

// Fault is a way to misbehave.
type Fault struct {
	On      string // where; see OnAny and the others
	Kind    FaultKind
	Every   int // fires at every Every-th matching request; 0 or 1: each
	Times   int // maximum number of times it fires; 0: unlimited
	Latency time.Duration
	Status  int
	Header  http.Header
	Body    string
	URL     string
	Bytes   int64
	Error   *RPCError
	Retry   time.Duration
}

// activeFault counts how often a fault matched and fired.
type activeFault struct {
	Fault
	seen, struck atomic.Int64
}

// fires reports whether the fault fires for this request.
func (f *activeFault) fires(stage, method string) bool {
	switch f.On {
	case OnAny, stage, method:
	case OnAccept: // existing connections must hang like new ones
	default:
		return false
	}
	if n := f.seen.Add(1); f.Every > 1 && n%int64(f.Every) != 0 {
		return false
	}
	if f.Times > 0 && f.struck.Add(1) > int64(f.Times) {
		return false
	}
	return true
}

// SetFault replaces all faults; without arguments there are none. The first
// fault that fires applies to a request, after the latencies of the Delay
// faults before it. Connections held by an accept fault are closed.
func (s *Server) SetFault(faults ...Fault) {
	active := make([]*activeFault, len(faults))
	for i, f := range faults {
		active[i] = &activeFault{Fault: f}
	}
	s.change(func(b *behaviour) { b.faults = active })
	s.dropHeld()
}

// fault returns the fault for the request, or nil, and the time to wait first.
func (b *behaviour) fault(stage, method string) (hit *Fault, wait time.Duration) {
	for _, f := range b.faults {
		if !f.fires(stage, method) {
			continue
		}
		wait += f.Latency
		if f.Kind != Delay {
			return &f.Fault, wait
		}
	}
	return nil, wait
}

// hangsAtAccept reports whether new connections are not read.
func (b *behaviour) hangsAtAccept() bool {
	return slices.ContainsFunc(b.faults, func(f *activeFault) bool { return f.On == OnAccept && f.Kind == Hang })
}

// stageOf returns the stage of a posted message.
func stageOf(m *message) string {
	switch {
	case !m.isRequest():
		return OnNotification
	case m.method == "initialize" || m.method == "server/discover":
		return OnInitialize
	case m.method == "tools/call":
		return OnCall
	case strings.HasSuffix(m.method, "/list"):
		return OnList
	}
	return m.method
}

// is reports whether f, which may be nil, is of one of the kinds.
func (f *Fault) is(kinds ...FaultKind) bool { return f != nil && slices.Contains(kinds, f.Kind) }

// rawBody returns the body of a Raw, InvalidJSON or HTML fault and its type.
func (f *Fault) rawBody(id []byte) (body, contentType string) {
	switch f.Kind {
	case InvalidJSON:
		return `{"jsonrpc":"2.0","id":` + string(orNull(id)) + `,"result":{"content":[{"type":"te`, "application/json"
	case HTML:
		return "<!DOCTYPE html><html><body><h1>502 Bad Gateway</h1></body></html>", "text/html; charset=utf-8"
	}
	if contentType = f.Header.Get("Content-Type"); contentType == "" {
		contentType = "application/json"
	}
	return strings.ReplaceAll(f.Body, "$ID", string(orNull(id))), contentType
}

// endless is the size of a response that is never read completely.
const endless = math.MaxInt64 / 4

// hugeFrame returns a valid response to method of about n bytes.
func hugeFrame(id []byte, method string, n int64) frame {
	head, tail := `{"content":[{"type":"text","text":"`, `"}]}`
	switch method {
	case "tools/list":
		head, tail = `{"tools":[{"name":"huge","inputSchema":{"type":"object"},"description":"`, `"}]}`
	case "initialize":
		head, tail = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"huge","version":"1"},"instructions":"`, `"}`
	case "server/discover":
		head, tail = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private","instructions":"`, `"}`
	}
	f := frame{head: append(append([]byte(`{"jsonrpc":"2.0","id":`), orNull(id)...), `,"result":`+head...), tail: []byte(tail + "}")}
	if n <= 0 {
		n = 2 * endless
	}
	f.pad = max(0, n-f.size())
	return f
}

// wrongID returns an id that differs from id and has its JSON type.
func wrongID(id []byte) []byte {
	if s, ok := rawjson.String(id); ok {
		return rawjson.Quote(s + "-wrong")
	}
	if n, err := strconv.ParseInt(string(id), 10, 64); err == nil && n < math.MaxInt64 {
		return strconv.AppendInt(nil, n+1, 10)
	}
	return []byte("0")
}

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

// Where a fault strikes. Any other value of Fault.On is a JSON-RPC method.
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

// FaultKind says what goes wrong.
type FaultKind uint8

const (
	// Delay only waits for Latency; the request is then answered as usual.
	Delay FaultKind = iota
	// Hang never answers.
	Hang
	// Status answers with the HTTP status Status, Header and Body.
	Status
	// Reset ends the connection with a TCP reset.
	Reset
	// Disconnect ends the connection without an answer.
	Disconnect
	// Redirect answers with Status (307 when 0) and Location URL.
	Redirect
	// Raw answers with HTTP 200 (or Status) and Body, in which $ID stands for
	// the request's id; the type is application/json unless Header says
	// another. Over HTTP+SSE the body is sent as one event.
	Raw
	// InvalidJSON answers with a JSON document that breaks off.
	InvalidJSON
	// HTML answers with a web page.
	HTML
	// WrongID answers as usual but to an id that was never sent.
	WrongID
	// JSONRPCError answers with Error.
	JSONRPCError
	// Huge answers with a valid result of about Bytes bytes, streamed;
	// without end when Bytes is 0.
	Huge
	// EndlessSSE sends notifications without end and never the answer.
	EndlessSSE
	// SilentSSE opens the event stream and ends it without an answer.
	SilentSSE
	// EndlessPages gives every page of a list a new nextCursor.
	EndlessPages
	// RepeatedCursor gives every page of a list the same nextCursor.
	RepeatedCursor
	// Gzip compresses the answer although nobody asked for it; with Bytes it
	// is a bomb that inflates to about that size. HTTP+SSE knows it not.
	Gzip
	// DropHalf ends the connection after half of the answer.
	DropHalf
	// CutStream ends a resumable event stream at once, before the answer; it
	// is delivered when the client resumes. Retry tells it when to.
	CutStream
)

// Fault is one way to misbehave.
type Fault struct {
	On      string // where; see OnAny and the others
	Kind    FaultKind
	Every   int // strikes at every Every-th request it applies to; 0 or 1: each
	Times   int // strikes so many times, then never again; 0: without limit
	Latency time.Duration
	Status  int
	Header  http.Header
	Body    string
	URL     string
	Bytes   int64
	Error   *RPCError
	Retry   time.Duration
}

// activeFault counts how often a fault applied and struck.
type activeFault struct {
	Fault
	seen, struck atomic.Int64
}

// strikes reports whether the fault hits this request of the given stage.
func (f *activeFault) strikes(stage, method string) bool {
	switch f.On {
	case OnAny, stage, method:
	case OnAccept: // an old connection must hang as a new one does
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

// SetFault replaces all faults; without arguments the server behaves. The
// first one that strikes decides what happens to a request, after the latency
// of every one before it that only delays. Connections held by an accept
// fault are closed.
func (s *Server) SetFault(faults ...Fault) {
	active := make([]*activeFault, len(faults))
	for i, f := range faults {
		active[i] = &activeFault{Fault: f}
	}
	s.change(func(b *behaviour) { b.faults = active })
	s.dropHeld()
}

// fault returns what strikes the request, or nil, and the time to wait first.
func (b *behaviour) fault(stage, method string) (hit *Fault, wait time.Duration) {
	for _, f := range b.faults {
		if !f.strikes(stage, method) {
			continue
		}
		wait += f.Latency
		if f.Kind != Delay {
			return &f.Fault, wait
		}
	}
	return nil, wait
}

// hangsAtAccept reports whether new connections are to be left unread.
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

// endless is the size of an answer that nobody reads to its end.
const endless = math.MaxInt64 / 4

// hugeFrame returns a valid answer to method of about n bytes.
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

// wrongID returns an id that differs from id and keeps its JSON type.
func wrongID(id []byte) []byte {
	if s, ok := rawjson.String(id); ok {
		return rawjson.Quote(s + "-wrong")
	}
	if n, err := strconv.ParseInt(string(id), 10, 64); err == nil && n < math.MaxInt64 {
		return strconv.AppendInt(nil, n+1, 10)
	}
	return []byte("0")
}

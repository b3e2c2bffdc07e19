package web

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"strings"

	"github.com/gofiber/fiber/v2"
)

// headerTraceState is the tracestate header (W3C Trace Context, section 3.3).
const headerTraceState = "tracestate"

// headerTraceParent is the traceparent header (W3C Trace Context, section 3.2),
// in the case that the server stores.
var headerTraceParent = []byte("Traceparent")

// maxTraceState is the maximum length of a forwarded tracestate, in bytes. The
// standard requires at least 512. A longer one is dropped.
const maxTraceState = 512

// Trace is the trace context of outgoing requests (W3C Trace Context, section
// 3).
type Trace struct {
	Parent string // traceparent
	State  string // tracestate; may be empty
}

// traceContext is the trace context received with a request. It is empty if the
// request starts a new trace.
type traceContext struct {
	id      string // 32 hexadecimal digits
	parent  string // 16 digits, from the client
	sampled bool
	state   string
	span    string // 16 digits, of this request; empty if it is not recorded
}

// traceOf returns the trace context of the request. As the standard requires,
// an invalid traceparent is ignored together with its tracestate.
func traceOf(c *fiber.Ctx) (t traceContext) {
	received := c.Request().Header.PeekCanonical(headerTraceParent)
	if len(received) == 0 {
		return t
	}
	id, parent, sampled, ok := readTraceParent(string(received))
	if !ok {
		return t
	}
	return traceContext{id: id, parent: parent, sampled: sampled, state: traceState(c)}
}

// Trace returns the trace context for requests that this request causes. Its ID
// is that of the client's trace, or the request ID without dashes. Its parent
// is the span of this request if it is recorded; otherwise each call returns a
// new one.
func (e *Event) Trace() Trace {
	b := make([]byte, 0, traceParentSize)
	b = append(append(b, "00-"...), e.traceID()...)
	if b = append(b, '-'); e.trace.span != "" {
		b = append(b, e.trace.span...)
	} else {
		b = appendSpanID(b)
	}
	if e.trace.sampled {
		b = append(b, "-01"...)
	} else {
		b = append(b, "-00"...)
	}
	return Trace{Parent: string(b), State: e.trace.state}
}

// appendSpanID appends a new span ID.
func appendSpanID(dst []byte) []byte {
	return hex.AppendEncode(dst, binary.BigEndian.AppendUint64(make([]byte, 0, 8), rand.Uint64()|1)) // all zeros are invalid
}

// traceID returns the ID of the client's trace, or of the one that starts here.
func (e *Event) traceID() string {
	if e.trace.id != "" {
		return e.trace.id
	}
	return e.own
}

// traceParentSize is the length of a traceparent of version 00.
const traceParentSize = len("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")

// readTraceParent parses a traceparent of any version (W3C Trace Context,
// section 3.2). Later versions may be longer.
func readTraceParent(s string) (id, parent string, sampled, ok bool) {
	if len(s) < traceParentSize || s[2] != '-' || s[35] != '-' || s[52] != '-' {
		return "", "", false, false
	}
	version, flags := s[:2], s[53:55]
	id, parent = s[3:35], s[36:52]
	switch {
	case version == "00" && len(s) != traceParentSize, len(s) > traceParentSize && s[traceParentSize] != '-', version == "ff":
		return "", "", false, false
	}
	for _, part := range []string{version, id, parent, flags} {
		if strings.Trim(part, "0123456789abcdef") != "" {
			return "", "", false, false
		}
	}
	if strings.Trim(id, "0") == "" || strings.Trim(parent, "0") == "" {
		return "", "", false, false
	}
	bits := strings.IndexByte("0123456789abcdef", flags[1])
	return id, parent, bits&1 == 1, true
}

// traceState returns the tracestate of a request, joined from several headers.
// It is empty if it is not printable ASCII or too long.
func traceState(c *fiber.Ctx) string {
	var parts []string
	for _, part := range c.Request().Header.PeekAll(headerTraceState) {
		parts = append(parts, string(part))
	}
	state := strings.Join(parts, ",")
	if len(state) > maxTraceState || strings.ContainsFunc(state, func(r rune) bool { return r < ' ' || r > '~' }) {
		return ""
	}
	return state
}

package web

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"strings"

	"github.com/gofiber/fiber/v2"
)

// headerTraceState is of W3C Trace Context, section 3.3.
const headerTraceState = "tracestate"

// headerTraceParent is of W3C Trace Context, section 3.2, as the server keeps it.
var headerTraceParent = []byte("Traceparent")

// maxTraceState is how much of a tracestate is passed on, in bytes; the
// standard asks for at least 512. A longer one is left out as a whole.
const maxTraceState = 512

// Trace is the place of a request among those that belong together, as the
// requests that it causes carry it on (W3C Trace Context, section 3).
type Trace struct {
	Parent string // the traceparent of requests that this one causes
	State  string // their tracestate; may be empty
}

// traceContext is what a request says of its trace. It is empty for a request
// that says nothing, which begins a trace of its own.
type traceContext struct {
	id      string // 32 hexadecimal digits
	parent  string // 16, of the client
	sampled bool
	state   string
	span    string // 16, of this request; empty when it is not recorded
}

// traceOf returns what the request says. A traceparent that cannot be read
// says nothing, as the standard wants it, and its tracestate neither.
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

// Trace returns what a request that this one causes carries on: the trace that
// the client began, or one that has the id of this request without its dashes.
// The parent is the span of this request when it is recorded; otherwise each
// call returns another.
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

// appendSpanID appends a new id of a span.
func appendSpanID(dst []byte) []byte {
	return hex.AppendEncode(dst, binary.BigEndian.AppendUint64(make([]byte, 0, 8), rand.Uint64()|1)) // all zeros would be invalid
}

// traceID returns the id of the client's trace, or of the one that begins here.
func (e *Event) traceID() string {
	if e.trace.id != "" {
		return e.trace.id
	}
	return e.own
}

// traceParentSize is the length of a traceparent of version 00.
const traceParentSize = len("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")

// readTraceParent reads a traceparent of any version (W3C Trace Context,
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

// traceState returns the tracestate of a request, whose parts may come in
// several headers; empty when it is no text or too long.
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

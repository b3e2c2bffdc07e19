package upstream

import (
	"net/http"

	"mcpgateway/services/egress"
)

// callHead is the header of a call as the parts it is made of. Most calls send
// them as lines; who needs the whole header asks for it.
type callHead struct {
	configured http.Header // by the operator
	fixed      http.Header // by the protocol in every request of the session
	lines      []byte      // fixed, as it is sent; nil when it cannot be like this
	own        []field
	room       [4]field // of most own
	repeatable bool
}

// field is a header of one call.
type field struct{ name, value string }

// add gives the call a header of its own.
func (h *callHead) add(name, value string) {
	if h.own == nil {
		h.own = h.room[:0]
	}
	h.own = append(h.own, field{name, value})
}

// trace makes a call carry its client's trace on (W3C Trace Context, section
// 3). What the operator configured under these names would be another trace.
func (h *callHead) trace(c Client) {
	if c.TraceParent == "" {
		return
	}
	h.add(headerTrace, c.TraceParent)
	if c.TraceState != "" {
		h.add(headerState, c.TraceState)
	}
}

// traced reports whether the call carries a trace of its client.
func (h *callHead) traced() bool {
	for i := range h.own {
		if h.own[i].name == headerTrace {
			return true
		}
	}
	return false
}

// header returns the whole header.
func (h *callHead) header() http.Header {
	all := requestHeader(h.configured, h.fixed)
	if h.traced() {
		delete(all, headerTrace)
		delete(all, headerState)
	}
	for _, f := range h.own {
		all[f.name] = []string{f.value}
	}
	if h.repeatable {
		markRepeatable(all)
	}
	return all
}

// Append is of egress.Fields.
func (h *callHead) Append(b []byte) ([]byte, bool) {
	if h.lines == nil {
		return b, false
	}
	b = append(b, h.lines...)
	var ok bool
	for name, values := range h.configured {
		name = http.CanonicalHeaderKey(name)
		if _, fixed := h.fixed[name]; fixed || isProtocolHeader(name) || (name == headerTrace || name == headerState) && h.traced() {
			continue
		}
		if b, ok = egress.AppendField(b, name, values...); !ok {
			return b, false
		}
	}
	for i := range h.own {
		if b, ok = egress.AppendField(b, h.own[i].name, h.own[i].value); !ok {
			return b, false
		}
	}
	return b, true
}

// mayBeRepeated reports whether the connection may send the call twice: when it
// only reads, or the operator says so as net/http wants it said.
func (h *callHead) mayBeRepeated() bool {
	if h.repeatable {
		return true
	}
	for name := range h.configured {
		if name = http.CanonicalHeaderKey(name); name == headerRepeatable || name == "Idempotency-Key" {
			return true
		}
	}
	return false
}

// linesOf returns a header as it is sent, or nil when it cannot be.
func linesOf(h http.Header) []byte {
	b := make([]byte, 0, 256)
	var ok bool
	for name, values := range h {
		if b, ok = egress.AppendField(b, name, values...); !ok {
			return nil
		}
	}
	return b
}

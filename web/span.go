package web

import "time"

// Spans records requests of MCP clients as spans of traces.
type Spans interface {
	// Sample reports whether to record a new request. remote means that its
	// client started the trace, sampled that the client records it.
	Sample(remote, sampled bool) bool
	// Request records a finished request. It must not block.
	Request(RequestSpan)
}

// RequestSpan is the span of a finished request.
type RequestSpan struct {
	TraceID, SpanID string // hexadecimal
	ParentID        string // span of the client; empty if the trace starts here
	State           string
	Start, End      time.Time

	HTTPMethod, Route string
	Status            int    // HTTP status
	Method            string // JSON-RPC method
	Project           string
	Tool              string
	Upstream          string
	Code              string // error code; empty without an error
}

// sample decides whether the event is recorded and if so creates its span.
func (e *Event) sample(spans Spans) {
	if e.trace.sampled = spans.Sample(e.trace.id != "", e.trace.sampled); e.trace.sampled {
		e.trace.span = string(appendSpanID(nil))
	}
}

// report records the event if it is sampled and has a project.
func (e *Event) report(spans Spans) {
	if e.trace.span == "" || e.Project == "" {
		return
	}
	spans.Request(RequestSpan{
		TraceID: e.traceID(), SpanID: e.trace.span, ParentID: e.trace.parent, State: e.trace.state, Start: e.start, End: e.end,
		HTTPMethod: e.line.method, Route: e.Route, Status: e.line.status, Method: e.Method, Project: e.Project,
		Tool: maskKeys(e.Tool), Upstream: e.Upstream, Code: string(e.code),
	})
}

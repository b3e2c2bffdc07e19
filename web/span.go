package web

import "time"

// Spans records what requests of projects' clients did, as spans of traces.
type Spans interface {
	// Sample reports whether a new request is recorded. remote says that its
	// client began the trace, and sampled that the client records it.
	Sample(remote, sampled bool) bool
	// Request is told of a recorded request once it is over. It must not block.
	Request(RequestSpan)
}

// RequestSpan is a request that is over.
type RequestSpan struct {
	TraceID, SpanID string // hexadecimal
	ParentID        string // the client's; empty for a trace that began here
	State           string
	Start, End      time.Time

	HTTPMethod, Route string
	Status            int    // of HTTP
	Method            string // of JSON-RPC
	Project           string
	Tool              string
	Upstream          string
	Code              string // of the failure; empty without one
}

// sample decides whether the event is recorded, and gives it a span then.
func (e *Event) sample(spans Spans) {
	if e.trace.sampled = spans.Sample(e.trace.id != "", e.trace.sampled); e.trace.sampled {
		e.trace.span = string(appendSpanID(nil))
	}
}

// report tells of the event when it is recorded and of a project.
func (e *Event) report(spans Spans) {
	if e.trace.span == "" || e.Project == "" {
		return
	}
	spans.Request(RequestSpan{
		TraceID: e.traceID(), SpanID: e.trace.span, ParentID: e.trace.parent, State: e.trace.state, Start: e.start, End: e.end,
		HTTPMethod: e.line.method, Route: e.Route, Status: e.line.status, Method: e.Method, Project: e.Project,
		Tool: withoutKeys(e.Tool), Upstream: e.Upstream, Code: string(e.code),
	})
}

package routes

import (
	"mcpgateway/services/tracing"
	"mcpgateway/web"
)

// spansOf returns the recorder of requests, or nil if no collector is
// configured.
func spansOf(t *tracing.Tracer) web.Spans {
	if t == nil {
		return nil
	}
	return spans{t}
}

type spans struct{ *tracing.Tracer }

// Request implements web.Spans.
func (s spans) Request(r web.RequestSpan) {
	s.Tracer.Request(tracing.Request{
		TraceID: r.TraceID, SpanID: r.SpanID, ParentID: r.ParentID, State: r.State, Start: r.Start, End: r.End,
		HTTPMethod: r.HTTPMethod, Route: r.Route, Status: r.Status, Method: r.Method, Project: r.Project, Tool: r.Tool, Server: r.Upstream, Code: r.Code,
	})
}

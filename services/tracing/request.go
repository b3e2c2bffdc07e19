package tracing

import (
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// Request is one request of a project's client that is over.
type Request struct {
	TraceID, SpanID string // hexadecimal
	ParentID        string // the client's; empty for a trace that began here
	State           string
	Start, End      time.Time

	HTTPMethod, Route string
	Status            int    // of HTTP
	Method            string // of JSON-RPC; empty for what is no single request
	Project           string
	Tool              string // as the client called it
	Server            string // alias
	Code              string // of the failure
}

// Request records a request (OpenTelemetry semantic conventions for HTTP
// servers and for the Model Context Protocol).
func (t *Tracer) Request(r Request) {
	s := span{
		name: r.HTTPMethod + " " + r.Route, kind: trace.SpanKindServer, traceID: r.TraceID, spanID: r.SpanID, parentID: r.ParentID, state: r.State, remote: true,
		start: r.Start, end: r.End, failure: r.Code,
		attributes: []attribute.KeyValue{
			attribute.String("http.request.method", r.HTTPMethod), attribute.String("http.route", r.Route), attribute.Int("http.response.status_code", r.Status),
			attribute.String("gateway.project", r.Project),
		},
	}
	if r.Method != "" {
		s.name = r.Method
		s.attributes = append(s.attributes, attribute.String("mcp.method.name", r.Method))
	}
	if r.Tool != "" {
		s.name += " " + r.Tool
		s.attributes = append(s.attributes, attribute.String("gen_ai.tool.name", r.Tool), attribute.String("gen_ai.operation.name", "execute_tool"))
	}
	if r.Server != "" {
		s.attributes = append(s.attributes, attribute.String("gateway.server", r.Server))
	}
	t.end(&s)
}

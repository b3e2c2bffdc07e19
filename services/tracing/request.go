package tracing

import (
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// Request is a finished request of a project's client.
type Request struct {
	TraceID, SpanID string // hexadecimal
	ParentID        string // of the client; empty for a trace started here
	State           string
	Start, End      time.Time

	HTTPMethod, Route string
	Status            int    // HTTP status
	Method            string // JSON-RPC method; empty unless a single request
	Project           string
	Tool              string // as called by the client
	Server            string // alias
	Code              string // error code
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

package tracing

import (
	"context"
	"encoding/hex"
	"math/rand/v2"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"mcpgateway/services/fault"
	"mcpgateway/services/upstream"
)

// Caller calls upstream servers.
type Caller interface {
	Call(ctx context.Context, target *upstream.Target, request *upstream.Request) (*upstream.Response, error)
	Hold(ctx context.Context, target *upstream.Target, client upstream.Client) (release func())
}

// Calls returns a Caller that records the calls of next that belong to a
// recorded request.
func (t *Tracer) Calls(next Caller) Caller { return &tracedCalls{t, next} }

type tracedCalls struct {
	tracer *Tracer
	next   Caller
}

// A traceparent of version 00 (W3C Trace Context, section 3.2) is
// 00-<32 digits of the trace>-<16 of the parent>-<2 of flags>.
const (
	traceAt, parentAt, flagsAt = 3, 36, 53
	sampledFlags               = "01"
)

// Call calls the upstream. The traceparent contains this call's span, so that
// the upstream's spans are its children.
func (c *tracedCalls) Call(ctx context.Context, target *upstream.Target, request *upstream.Request) (*upstream.Response, error) {
	parent := request.Client.TraceParent
	if len(parent) != flagsAt+len(sampledFlags) || !strings.HasSuffix(parent, "-"+sampledFlags) {
		return c.next.Call(ctx, target, request)
	}
	s := span{
		name: request.Method, kind: trace.SpanKindClient, traceID: parent[traceAt : parentAt-1], spanID: newSpanID(), parentID: parent[parentAt : flagsAt-1],
		state: request.Client.TraceState, start: time.Now(),
		attributes: []attribute.KeyValue{attribute.String("mcp.method.name", request.Method), attribute.String("gateway.server", target.Alias)},
	}
	traced := *request
	traced.Client.TraceParent = parent[:parentAt] + s.spanID + parent[flagsAt-1:]
	response, err := c.next.Call(ctx, target, &traced)
	s.end = time.Now()
	switch {
	case ctx.Err() != nil && err != nil:
		s.failure = string(fault.CodeCancelled)
	case err != nil:
		s.failure = string(fault.From(err).Code)
	case response.Error != nil:
		s.failure = string(fault.CodeUpstreamError)
	}
	c.tracer.end(&s)
	return response, err
}

// Hold holds the client's session at the upstream. It is not recorded.
func (c *tracedCalls) Hold(ctx context.Context, target *upstream.Target, client upstream.Client) (release func()) {
	return c.next.Hold(ctx, target, client)
}

// newSpanID returns a new span id in hexadecimal.
func newSpanID() string {
	var b [8]byte
	for n, i := rand.Uint64()|1, 0; i < len(b); i++ { // all zeros would be invalid
		b[i] = byte(n >> (8 * i))
	}
	return hex.EncodeToString(b[:])
}

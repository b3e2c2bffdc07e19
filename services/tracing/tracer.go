// Package tracing exports traces to an OpenTelemetry collector: a span for
// every request of a project's client, with a child span for every upstream
// call. It is off unless a collector is configured.
package tracing

import (
	"context"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Limits of the export queue. Beyond them spans are dropped; requests are never
// delayed.
const (
	maxWaiting    = 2048 // spans
	maxPerExport  = 512  // spans
	exportTimeout = 10 * time.Second
	exportDelay   = 2 * time.Second
	maxText       = 256 // bytes of an attribute's text
)

// Options configure the export.
type Options struct {
	// Endpoint is the collector's URL (OTLP/HTTP, binary).
	Endpoint string
	// Service is the service name.
	Service string
	Sampler Sampler
	Client  *http.Client
	Version string
	Log     *slog.Logger
}

// Tracer exports finished spans to a collector in batches. It is safe for
// concurrent use.
type Tracer struct {
	provider *sdk.TracerProvider
	spans    trace.Tracer
	sampler  Sampler
}

// New returns a tracer. It connects when the first span ends. It returns an
// error for an invalid endpoint.
func New(ctx context.Context, o Options) (*Tracer, error) {
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(o.Endpoint), otlptracehttp.WithHTTPClient(o.Client))
	if err != nil {
		return nil, err
	}
	about := resource.NewSchemaless(attribute.String("service.name", o.Service), attribute.String("service.version", o.Version))
	return newTracer(&loggingExporter{exporter, o.Log}, about, o.Sampler), nil
}

func newTracer(exporter sdk.SpanExporter, about *resource.Resource, sampler Sampler) *Tracer {
	limits := sdk.NewSpanLimits()
	limits.AttributeValueLengthLimit = maxText
	provider := sdk.NewTracerProvider(
		sdk.WithResource(about), sdk.WithRawSpanLimits(limits), sdk.WithIDGenerator(fixedIDs{}),
		sdk.WithSampler(sdk.AlwaysSample()), // only sampled spans get here
		sdk.WithBatcher(exporter, sdk.WithMaxQueueSize(maxWaiting), sdk.WithMaxExportBatchSize(maxPerExport), sdk.WithBatchTimeout(exportDelay), sdk.WithExportTimeout(exportTimeout)),
	)
	return &Tracer{provider: provider, spans: provider.Tracer("mcpgateway"), sampler: sampler}
}

// Sample reports whether a new request is recorded. remote reports whether the
// client started the trace, sampled whether the client records it.
func (t *Tracer) Sample(remote, sampled bool) bool { return t.sampler.sample(remote, sampled) }

// Close exports the queued spans until ctx ends.
func (t *Tracer) Close(ctx context.Context) error { return t.provider.Shutdown(ctx) }

// span is a finished span.
type span struct {
	name                      string
	kind                      trace.SpanKind
	traceID, spanID, parentID string // hexadecimal; parentID may be empty
	state                     string // tracestate (W3C Trace Context, section 3.3)
	remote                    bool   // the parent is not in this process
	start, end                time.Time
	failure                   string // error code; empty on success
	attributes                []attribute.KeyValue
}

// end exports a span. A span with invalid ids is dropped.
func (t *Tracer) end(s *span) {
	ids, ok := readIDs(s)
	if !ok {
		return
	}
	ctx := context.WithValue(context.Background(), givenKey{}, ids)
	if ids.parent.IsValid() {
		state, err := trace.ParseTraceState(s.state)
		if err != nil {
			state = trace.TraceState{} // unused here and forwarded unchanged
		}
		ctx = trace.ContextWithSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: ids.trace, SpanID: ids.parent, TraceFlags: trace.FlagsSampled, TraceState: state, Remote: s.remote,
		}))
	}
	_, recorded := t.spans.Start(ctx, s.name, trace.WithSpanKind(s.kind), trace.WithTimestamp(s.start), trace.WithAttributes(s.attributes...))
	if s.failure != "" {
		recorded.SetStatus(codes.Error, s.failure)
		recorded.SetAttributes(attribute.String("error.type", s.failure))
	}
	recorded.End(trace.WithTimestamp(s.end))
}

// ids are the ids of a span, which upstreams have already received.
type ids struct {
	trace        trace.TraceID
	span, parent trace.SpanID
}

func readIDs(s *span) (read ids, ok bool) {
	n, err := hex.Decode(read.trace[:], []byte(s.traceID))
	if err != nil || n != len(read.trace) {
		return ids{}, false
	}
	if n, err = hex.Decode(read.span[:], []byte(s.spanID)); err != nil || n != len(read.span) {
		return ids{}, false
	}
	if s.parentID != "" {
		if n, err = hex.Decode(read.parent[:], []byte(s.parentID)); err != nil || n != len(read.parent) {
			return ids{}, false
		}
	}
	return read, read.trace.IsValid() && read.span.IsValid()
}

type givenKey struct{}

// fixedIDs is an id generator that returns the ids in the context.
type fixedIDs struct{}

// NewIDs returns the ids of a span without a parent.
func (fixedIDs) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	given, _ := ctx.Value(givenKey{}).(ids)
	return given.trace, given.span
}

// NewSpanID returns the id of a span with a parent.
func (fixedIDs) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	given, _ := ctx.Value(givenKey{}).(ids)
	return given.span
}

// loggingExporter logs export failures, instead of the library's logger.
type loggingExporter struct {
	sdk.SpanExporter
	log *slog.Logger
}

// ExportSpans exports spans. After a failure, which is logged, they are lost.
func (r *loggingExporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	if err := r.SpanExporter.ExportSpans(ctx, spans); err != nil && !errors.Is(err, context.Canceled) {
		r.log.Warn("trace export failed", "spans", len(spans), "error", err)
	}
	return nil
}

// Package tracing tells an OpenTelemetry collector what requests did: a span
// of every request that clients of projects make, and below it one of every
// call of an upstream server. It is off unless a collector is configured.
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

// Bounds of what waits for the collector; beyond them spans are dropped, never
// requests delayed.
const (
	maxWaiting    = 2048 // spans
	maxPerExport  = 512  // spans
	exportTimeout = 10 * time.Second
	exportDelay   = 2 * time.Second
	maxText       = 256 // bytes of an attribute's text
)

// Options say where spans go.
type Options struct {
	// Endpoint is the URL that spans are posted to (OTLP/HTTP, binary).
	Endpoint string
	// Service is what the collector knows this program as.
	Service string
	Sampler Sampler
	Client  *http.Client
	Version string
	Log     *slog.Logger
}

// Tracer sends finished spans to a collector in batches. It is safe for
// concurrent use.
type Tracer struct {
	provider *sdk.TracerProvider
	spans    trace.Tracer
	sampler  Sampler
}

// New returns a tracer. Nothing is sent before the first span ends. It returns
// an error for an endpoint that cannot be used.
func New(ctx context.Context, o Options) (*Tracer, error) {
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(o.Endpoint), otlptracehttp.WithHTTPClient(o.Client))
	if err != nil {
		return nil, err
	}
	about := resource.NewSchemaless(attribute.String("service.name", o.Service), attribute.String("service.version", o.Version))
	return newTracer(&reported{exporter, o.Log}, about, o.Sampler), nil
}

func newTracer(exporter sdk.SpanExporter, about *resource.Resource, sampler Sampler) *Tracer {
	limits := sdk.NewSpanLimits()
	limits.AttributeValueLengthLimit = maxText
	provider := sdk.NewTracerProvider(
		sdk.WithResource(about), sdk.WithRawSpanLimits(limits), sdk.WithIDGenerator(givenIDs{}),
		sdk.WithSampler(sdk.AlwaysSample()), // what is not to be recorded never gets here
		sdk.WithBatcher(exporter, sdk.WithMaxQueueSize(maxWaiting), sdk.WithMaxExportBatchSize(maxPerExport), sdk.WithBatchTimeout(exportDelay), sdk.WithExportTimeout(exportTimeout)),
	)
	return &Tracer{provider: provider, spans: provider.Tracer("mcpgateway"), sampler: sampler}
}

// Sample reports whether a new request is recorded: remote says that its
// client began the trace, and sampled that the client records it.
func (t *Tracer) Sample(remote, sampled bool) bool { return t.sampler.sample(remote, sampled) }

// Close sends what waits, for as long as the context allows.
func (t *Tracer) Close(ctx context.Context) error { return t.provider.Shutdown(ctx) }

// span is one that is over.
type span struct {
	name                      string
	kind                      trace.SpanKind
	traceID, spanID, parentID string // hexadecimal; parentID may be empty
	state                     string // of the trace (W3C Trace Context, section 3.3)
	remote                    bool   // the parent is not in this process
	start, end                time.Time
	failure                   string // a code; empty without one
	attributes                []attribute.KeyValue
}

// end hands a span to the exporter. One with ids that are none is left out.
func (t *Tracer) end(s *span) {
	ids, ok := readIDs(s)
	if !ok {
		return
	}
	ctx := context.WithValue(context.Background(), givenKey{}, ids)
	if ids.parent.IsValid() {
		state, err := trace.ParseTraceState(s.state)
		if err != nil {
			state = trace.TraceState{} // it says nothing to us, and is passed on as it is
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

// ids are those that a span has, because others know it by them already.
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

// givenIDs gives a span the ids that its context holds.
type givenIDs struct{}

// NewIDs returns the ids of a span without parent.
func (givenIDs) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	given, _ := ctx.Value(givenKey{}).(ids)
	return given.trace, given.span
}

// NewSpanID returns the id of a span with parent.
func (givenIDs) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	given, _ := ctx.Value(givenKey{}).(ids)
	return given.span
}

// reported logs what cannot be exported, instead of the library's own logger.
type reported struct {
	sdk.SpanExporter
	log *slog.Logger
}

// ExportSpans sends spans. A failure is logged and costs these spans.
func (r *reported) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	if err := r.SpanExporter.ExportSpans(ctx, spans); err != nil && !errors.Is(err, context.Canceled) {
		r.log.Warn("spans were not sent to the trace collector", "spans", len(spans), "error", err)
	}
	return nil
}

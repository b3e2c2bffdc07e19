package mcp_test

import (
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/upstream/upstreamtest"
)

// traceCollector is an OTLP/HTTP collector.
type traceCollector struct {
	mu    sync.Mutex
	spans []*otlp.Span
	wrong []string // invalid requests
}

func (c *traceCollector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var request collector.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(body, &request)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" {
		c.wrong = append(c.wrong, r.Method+" "+r.URL.Path+" "+r.Header.Get("Content-Type"))
	}
	for _, resource := range request.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			c.spans = append(c.spans, scope.GetSpans()...)
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// of waits until a trace has at least n spans of different kinds, and returns
// them by kind.
func (c *traceCollector) of(t *testing.T, trace string, n int) map[otlp.Span_SpanKind]*otlp.Span {
	t.Helper()
	var found map[otlp.Span_SpanKind]*otlp.Span
	routestest.Eventually(t, "the spans of the trace "+trace, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		found = map[otlp.Span_SpanKind]*otlp.Span{}
		for _, s := range c.spans {
			if hex.EncodeToString(s.GetTraceId()) == trace {
				found[s.GetKind()] = s
			}
		}
		return len(found) >= n
	})
	return found
}

func attributesOf(s *otlp.Span) string {
	var all []string
	for _, a := range s.GetAttributes() {
		all = append(all, a.GetKey()+"="+a.GetValue().GetStringValue())
	}
	return strings.Join(all, " ")
}

// TestOneTraceFromLogToUpstream checks that the exported spans, the header sent
// to the upstream server and the log line belong to one trace.
func TestOneTraceFromLogToUpstream(t *testing.T) {
	const id, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	spans := &traceCollector{}
	server := httptest.NewServer(spans)
	t.Cleanup(server.Close)
	up := upstreamtest.New(upstreamtest.Options{Name: "up", Tools: upstreamtest.Standard(1)})
	a := routestest.New(t, modelstest.SQLite(t), "OTEL_EXPORTER_OTLP_ENDPOINT="+server.URL+"/", "GATEWAY_EGRESS_ALLOW=127.0.0.1/32")
	a.Apply(t, `{"projects":{"p":{"authMode":"none","mcpServers":{"up":{"url":"`+up.Start(t)+`"}}}}}`)
	a.Sync(t, "p", "up")
	call := func(body, traceparent string) (received []string, requestID string) {
		t.Helper()
		up.ForgetRequests()
		r := httptest.NewRequest(http.MethodPost, "/v1/mcp/p/request", strings.NewReader(body))
		r.Host = "127.0.0.1:8080"
		r.Header.Set("Content-Type", "application/json")
		if traceparent != "" {
			r.Header.Set("traceparent", traceparent)
			r.Header.Set("tracestate", "vendor=1")
		}
		answer, err := a.Test(r, 30_000)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if body == echoCall {
			got, err := up.WaitForRequests(t.Context(), "tools/call", 1)
			if err != nil {
				t.Fatal(err)
			}
			received = got[0].Header.Values("Traceparent")
		}
		return received, answer.Header.Get("X-Request-Id")
	}

	// All calls are made first, because spans are exported every two seconds.
	const quiet = "1af7651916cd43dd8448eb211c80319c"
	traced, _ := call(echoCall, "00-"+id+"-"+parent+"-01")
	begun, begunID := call(echoCall, "")
	_, failedID := call(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"up__none"}}`, "")
	unrecorded, _ := call(echoCall, "00-"+quiet+"-"+parent+"-00")
	_, laterID := call(echoCall, "") // its spans are exported after all others
	t.Run("trace of the client", func(t *testing.T) {
		received := traced
		got := spans.of(t, id, 2)
		in, out := got[otlp.Span_SPAN_KIND_SERVER], got[otlp.Span_SPAN_KIND_CLIENT]
		if hex.EncodeToString(in.GetParentSpanId()) != parent || hex.EncodeToString(out.GetParentSpanId()) != hex.EncodeToString(in.GetSpanId()) {
			t.Errorf("server span %x has parent %x, client span has parent %x", in.GetSpanId(), in.GetParentSpanId(), out.GetParentSpanId())
		}
		if want := "00-" + id + "-" + hex.EncodeToString(out.GetSpanId()) + "-01"; len(received) != 1 || received[0] != want {
			t.Errorf("upstream traceparent = %q, want %q", received, want)
		}
		if in.GetTraceState() != "vendor=1" || in.GetName() != "tools/call up__echo" || out.GetName() != "tools/call" {
			t.Errorf("the spans are %q with the state %q, and %q", in.GetName(), in.GetTraceState(), out.GetName())
		}
		for _, want := range []string{"mcp.method.name=tools/call", "gen_ai.tool.name=up__echo", "gateway.project=p", "gateway.server=up", "http.route=/v1/mcp/:projectSlug/request"} {
			if !strings.Contains(attributesOf(in), want) {
				t.Errorf("server span attributes = %s, want %s", attributesOf(in), want)
			}
		}
		if in.GetStartTimeUnixNano() > out.GetStartTimeUnixNano() || in.GetEndTimeUnixNano() < out.GetEndTimeUnixNano() || in.GetStatus().GetCode() != otlp.Status_STATUS_CODE_UNSET {
			t.Errorf("the spans are %v and %v", in, out)
		}
		logged(t, a, id)
	})
	t.Run("new trace", func(t *testing.T) {
		received, trace := begun, strings.ReplaceAll(begunID, "-", "")
		got := spans.of(t, trace, 2)
		in, out := got[otlp.Span_SPAN_KIND_SERVER], got[otlp.Span_SPAN_KIND_CLIENT]
		if len(in.GetParentSpanId()) != 0 || len(received) != 1 || received[0] != "00-"+trace+"-"+hex.EncodeToString(out.GetSpanId())+"-01" {
			t.Errorf("parent = %x, upstream traceparent = %q", in.GetParentSpanId(), received)
		}
		logged(t, a, trace)
	})
	t.Run("failed call", func(t *testing.T) {
		in := spans.of(t, strings.ReplaceAll(failedID, "-", ""), 1)[otlp.Span_SPAN_KIND_SERVER]
		if in.GetStatus().GetCode() != otlp.Status_STATUS_CODE_ERROR || !strings.Contains(attributesOf(in), "error.type=TOOL_NOT_FOUND") {
			t.Errorf("the span is %v", in)
		}
	})
	t.Run("unsampled trace", func(t *testing.T) {
		received := unrecorded
		if len(received) != 1 || !strings.HasPrefix(received[0], "00-"+quiet+"-") || !strings.HasSuffix(received[0], "-00") {
			t.Errorf("upstream traceparent = %q", received)
		}
		logged(t, a, quiet)
		spans.of(t, strings.ReplaceAll(laterID, "-", ""), 2)
		if got := spans.of(t, quiet, 0); len(got) != 0 {
			t.Errorf("recorded spans: %v, want none", got)
		}
	})
	spans.mu.Lock()
	defer spans.mu.Unlock()
	if len(spans.wrong) != 0 {
		t.Errorf("invalid requests to the collector: %q", spans.wrong)
	}
}

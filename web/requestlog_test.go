package web_test

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/go-cmp/cmp"

	"mcpgateway/services/fault"
	"mcpgateway/web"
	"mcpgateway/web/webtest"
)

// recorder is a slog.Handler that stores its records.
type recorder struct {
	slog.Handler
	lines *[]string
}

func (h recorder) Handle(_ context.Context, r slog.Record) error {
	if d := time.Since(r.Time); d < 0 || d > time.Hour {
		*h.lines = append(*h.lines, "at "+r.Time.String())
	}
	var attrs []slog.Attr
	r.Attrs(func(a slog.Attr) bool {
		attrs = append(attrs, a)
		return true
	})
	*h.lines = append(*h.lines, r.Level.String()+" "+r.Message+" "+described(attrs))
	return nil
}

// described returns attributes as text, without values that differ between
// runs.
func described(attrs []slog.Attr) (text string) {
	for _, a := range attrs {
		if slices.Contains([]string{"request_id", "trace_id", "ms"}, a.Key) {
			a.Value = slog.StringValue(a.Value.Kind().String())
		}
		text += a.String() + " "
	}
	return text
}

func TestRequestLines(t *testing.T) {
	const begin = "request_id=String trace_id=String method=GET path="
	want := []string{
		"INFO request " + begin + "/ok status=200 ms=Float64 ip=0.0.0.0 project=p rpc=tools/call tool=a__b upstream=a ",
		"ERROR request " + begin + "/broken status=409 ms=Float64 ip=0.0.0.0 code=CONFLICT error=" + context.DeadlineExceeded.Error() + " ",
		"INFO request " + begin + "/unknown status=404 ms=Float64 ip=0.0.0.0 code=NOT_FOUND ",
		"DEBUG request " + begin + "/healthz status=200 ms=Float64 ip=0.0.0.0 ",
		"DEBUG request " + begin + "/readyz status=503 ms=Float64 ip=0.0.0.0 code=UNAVAILABLE ",
		"ERROR request " + begin + "/metrics status=503 ms=Float64 ip=0.0.0.0 code=UNAVAILABLE error=" + context.DeadlineExceeded.Error() + " ",
		"INFO request " + begin + "/ok status=200 ms=Float64 ip=0.0.0.0 project=p rpc=tools/call tool=a__b upstream=a ",
	}
	var lines []string
	handler := recorder{slog.NewTextHandler(&webtest.Log{}, &slog.HandlerOptions{Level: slog.LevelDebug}), &lines}
	app, _ := webtest.NewApp(t, func(o *web.Options) { o.Log = slog.New(handler) })
	app.Get("/ok", func(c *fiber.Ctx) error {
		e := web.EventOf(c)
		e.Project, e.Method, e.Tool, e.Upstream = "p", "tools/call", "a__b", "a"
		return nil
	})
	app.Get("/broken", func(*fiber.Ctx) error { return fault.Conflict("no").Because(context.DeadlineExceeded) })
	app.Get("/healthz", func(*fiber.Ctx) error { return nil })
	ending := fault.New(fault.KindUnavailable, fault.CodeUnavailable, "not ready")
	app.Get("/readyz", func(*fiber.Ctx) error { return ending })
	app.Get("/metrics", func(*fiber.Ctx) error { return ending.Because(context.DeadlineExceeded) })
	for _, path := range []string{"/ok", "/broken", "/unknown", "/healthz", "/readyz", "/metrics", "/ok"} {
		webtest.Send(t, app, webtest.Case{Path: path})
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

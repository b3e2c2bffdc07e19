package web

import (
	"log/slog"
)

// requestLog writes the log lines of requests.
type requestLog struct{ log *slog.Logger }

// write writes the log line of a finished request.
func (l requestLog) write(e *Event) {
	level := slog.LevelInfo
	switch line := &e.line; {
	case e.err == nil && (line.path == "/healthz" || line.path == "/readyz" || line.path == "/metrics"):
		level = slog.LevelDebug // also for a probe that fails during shutdown
	case line.status >= 500 || e.err != nil:
		level = slog.LevelError
	}
	if !l.log.Enabled(e.line.ctx, level) {
		return
	}
	// The logger would set the current time and look up the source line.
	record := slog.NewRecord(e.end, level, "request", 0)
	record.AddAttrs(e.attrs()...)
	_ = l.log.Handler().Handle(e.line.ctx, record)
}

// attrs returns the attributes of the line.
func (e *Event) attrs() []slog.Attr {
	attrs := append(make([]slog.Attr, 0, 13),
		slog.String("request_id", e.RequestID),
		slog.String("trace_id", e.traceID()),
		slog.String("method", e.line.method),
		slog.String("path", clip(maskKeys(e.line.path), 256)),
		slog.Int("status", e.line.status),
		slog.Float64("ms", float64(e.end.Sub(e.start).Microseconds())/1000),
		slog.String("ip", e.line.ip))
	for _, text := range [...]struct{ key, value string }{
		{"project", e.Project}, {"rpc", e.Method}, {"tool", maskKeys(e.Tool)}, {"upstream", e.Upstream}, {"code", string(e.code)},
	} {
		if text.value != "" {
			attrs = append(attrs, slog.String(text.key, text.value))
		}
	}
	if e.err != nil {
		attrs = append(attrs, slog.String("error", e.err.Error()))
	}
	return attrs
}

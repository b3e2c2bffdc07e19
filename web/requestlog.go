package web

import (
	"log/slog"
	"sync"
	"time"
)

// LineWriter is a slog.Handler that can do without the record of a line, whose
// making costs more than the line itself. The handler of Options.Log may be one.
type LineWriter interface {
	// WriteLine writes a line, or returns false for one that it leaves to
	// Handle. It does not keep attrs.
	WriteLine(at time.Time, level slog.Level, message string, attrs []slog.Attr) bool
}

// requestLog writes the lines of requests.
type requestLog struct {
	log    *slog.Logger
	direct LineWriter // nil when the log's handler is none
	attrs  sync.Pool  // of *lineAttrs
}

// lineAttrs are the attributes of one line.
type lineAttrs struct {
	n   int
	all [13]slog.Attr
}

// add adds an attribute. The room may still hold an older one.
func (l *lineAttrs) add(key string, value slog.Value) {
	a := &l.all[l.n]
	a.Key, a.Value = key, value
	l.n++
}

// addText adds a text that is not empty.
func (l *lineAttrs) addText(key, value string) {
	if value != "" {
		l.add(key, slog.StringValue(value))
	}
}

func newRequestLog(log *slog.Logger) *requestLog {
	l := &requestLog{log: log, attrs: sync.Pool{New: func() any { return new(lineAttrs) }}}
	l.direct, _ = log.Handler().(LineWriter)
	return l
}

// write writes the line of a request that is over.
func (l *requestLog) write(e *Event) {
	level := slog.LevelInfo
	switch line := &e.line; {
	case e.err == nil && (line.path == "/healthz" || line.path == "/readyz" || line.path == "/metrics"):
		level = slog.LevelDebug // also while the process ends and says that it is not ready
	case line.status >= 500 || e.err != nil:
		level = slog.LevelError
	}
	if !l.log.Enabled(e.line.ctx, level) {
		return
	}
	a := l.attrs.Get().(*lineAttrs)
	e.describe(a)
	attrs := a.all[:a.n]
	if l.direct == nil || !l.direct.WriteLine(e.end, level, "request", attrs) {
		// Past the logger, which would look for the line of this source.
		record := slog.NewRecord(e.end, level, "request", 0)
		record.AddAttrs(attrs...)
		_ = l.log.Handler().Handle(e.line.ctx, record)
	}
	a.n = 0
	l.attrs.Put(a)
}

// describe adds what the line says of the request.
func (e *Event) describe(a *lineAttrs) {
	a.add("request_id", slog.StringValue(e.RequestID))
	a.add("trace_id", slog.StringValue(e.traceID()))
	a.add("method", slog.StringValue(e.line.method))
	a.add("path", slog.StringValue(clip(withoutKeys(e.line.path), 256)))
	a.add("status", slog.IntValue(e.line.status))
	a.add("ms", slog.Float64Value(float64(e.end.Sub(e.start).Microseconds())/1000))
	a.add("ip", slog.StringValue(e.line.ip))
	a.addText("project", e.Project)
	a.addText("rpc", e.Method)
	a.addText("tool", withoutKeys(e.Tool))
	a.addText("upstream", e.Upstream)
	a.addText("code", string(e.code))
	if e.err != nil {
		a.add("error", slog.StringValue(e.err.Error()))
	}
}

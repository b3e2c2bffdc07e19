package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"mcpgateway/services/config"
	"mcpgateway/web"
)

// lineHandlerOn returns the handler of the log of a gateway, and what writes the
// same lines without it.
func lineHandlerOn(b *logBuffer, w io.Writer, json bool) (slog.Handler, slog.Handler) {
	c := &config.Config{LogJSON: &json}
	return newLineHandler(newLog(b, false, c).Handler(), b), newLog(w, false, c).Handler()
}

// TestLinesAreThoseOfSlog writes lines of every kind of value as the room of
// requests does, and compares them with what slog makes of the same.
func TestLinesAreThoseOfSlog(t *testing.T) {
	texts := []string{"plain", "a/b-c_d.e~!", "", "two words", "a=b", `"`, `\`, "<>&'", "\n", "\x00", "\x1f", "\x7f", "é", "\u2028", "\u2029", "\xff", "a\xc3", "日本", "\U0001F600", "gwk_…"}
	json, text := "JSON", "text"
	direct := map[string]map[string]bool{
		json: {"plain": true, "a/b-c_d.e~!": true, "": true, "two words": true, "a=b": true, "<>&'": true},
		text: {"plain": true, "a/b-c_d.e~!": true, "<>&'": true},
	}
	times := []time.Time{
		time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), time.Date(2026, 1, 2, 3, 4, 5, 123456789, time.FixedZone("", 3600)),
		time.Date(2026, 1, 2, 3, 4, 5, 120000000, time.UTC), time.Date(2026, 1, 2, 3, 4, 5, 999999999, time.FixedZone("", -12600)), time.Now(),
	}
	for _, format := range []string{json, text} {
		var got, want bytes.Buffer
		buffer := newLogBuffer(&got)
		line, plain := lineHandlerOn(buffer, &want, format == json)
		check := func(name string, wantDirect bool, at time.Time, level slog.Level, attrs ...slog.Attr) {
			t.Helper()
			got.Reset()
			want.Reset()
			record := slog.NewRecord(at, level, "request", 0)
			record.AddAttrs(attrs...)
			written := line.(web.LineWriter).WriteLine(at, level, "request", attrs)
			if buffer.Flush(); written != (got.Len() > 0) {
				t.Errorf("%s, %s: written is %v, and there is %q", format, name, written, &got)
			}
			if written != wantDirect {
				t.Errorf("%s, %s: written without a record: %v, want %v", format, name, written, wantDirect)
			}
			if !written {
				_ = line.Handle(context.Background(), record)
				buffer.Flush()
			}
			if _ = plain.Handle(context.Background(), record); got.String() != want.String() {
				t.Errorf("%s, %s: written is\n%s, want\n%s", format, name, &got, &want)
			}
		}
		for _, s := range texts {
			check(fmt.Sprintf("%q", s), direct[format][s], times[0], slog.LevelInfo, slog.Int("status", 200), slog.String("path", s), slog.String("after", "x"))
		}
		for _, at := range times {
			for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError, slog.LevelInfo + 1} {
				check(at.String(), true, at, level, slog.Int("status", -1))
			}
		}
		for _, v := range []float64{0, 0.001, 0.01, 0.1, 1, 1.5, 9.999, 10, 123.45, 999999.999, 100000} {
			check(fmt.Sprint(v), true, times[0], slog.LevelInfo, slog.Float64("ms", v))
		}
		for range 2000 {
			v := float64(rand.Int64N(1_000_000_000)) / 1000
			check(fmt.Sprint(v), true, times[0], slog.LevelInfo, slog.Float64("ms", v))
		}
		for _, v := range []float64{math.Copysign(0, -1), -1, 0.0001, 1.2345, 1e6, 1e6 + 0.5, 1e21, 1e-7, 0.30000000000000004} {
			check(fmt.Sprint(v), false, times[0], slog.LevelInfo, slog.Float64("ms", v))
		}
		check("another kind", false, times[0], slog.LevelInfo, slog.Duration("took", time.Second))
		check("nothing", true, times[0], slog.LevelInfo)
	}
}

func TestLinesThatWarnDoNotWait(t *testing.T) {
	w := &writes{}
	b := newLogBuffer(w)
	defer b.Flush()
	line, _ := lineHandlerOn(b, io.Discard, true)
	for level, want := range map[slog.Level]int{slog.LevelWarn: 1, slog.LevelError: 1, slog.LevelWarn - 1: 0} {
		if !line.(web.LineWriter).WriteLine(time.Now(), level, "request", nil) || len(w.taken()) != want {
			t.Errorf("a line of level %s waits: %v", level, want == 1)
		}
		b.Flush()
		w.taken()
	}
}

// TestLinesAllocateNothing holds for the lines of requests as they mostly are.
func TestLinesAllocateNothing(t *testing.T) {
	b := newLogBuffer(io.Discard)
	defer b.Flush()
	line, _ := lineHandlerOn(b, io.Discard, true)
	attrs := []slog.Attr{slog.String("request_id", "5f0c3f3e"), slog.String("path", "/v1/mcp/p/request"), slog.Int("status", 200), slog.Float64("ms", 1.234)}
	at := time.Now()
	var n float64
	for range 5 { // what else the process does counts too
		if n = testing.AllocsPerRun(200, func() { line.(web.LineWriter).WriteLine(at, slog.LevelInfo, "request", attrs) }); n < 1 {
			return
		}
	}
	t.Errorf("%.0f allocations", n)
}

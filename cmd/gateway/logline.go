package main

import (
	"log/slog"
	"math"
	"strconv"
	"sync"
	"time"
)

// Room for lines, in bytes: what is made for one, and the most that is kept.
const (
	lineRoom    = 512
	maxLineRoom = 4 << 10
)

// lineHandler writes lines of plain values by itself, byte for byte as slog's
// handler within it would, which makes a record of each line and looks at all
// that its values could be. What needs escaping is left to that handler.
type lineHandler struct {
	promptHandler
	format *lineFormat
	room   *sync.Pool // of *[]byte
}

// newLineHandler returns a handler that writes to the buffer as h does, a
// slog.JSONHandler or slog.TextHandler on it without options but the level.
func newLineHandler(h slog.Handler, buffer *logBuffer) slog.Handler {
	format := textFormat()
	if _, ok := h.(*slog.JSONHandler); ok {
		format = jsonFormat()
	}
	room := &sync.Pool{New: func() any { b := make([]byte, 0, lineRoom); return &b }}
	return lineHandler{promptHandler{h, buffer}, format, room}
}

// WriteLine is of web.LineWriter.
func (h lineHandler) WriteLine(at time.Time, level slog.Level, message string, attrs []slog.Attr) bool {
	room := h.room.Get().(*[]byte)
	line, plain := h.format.appendLine((*room)[:0], at, level, message, attrs)
	if plain {
		_, _ = h.buffer.Write(line) // which takes all
		if level >= slog.LevelWarn {
			h.buffer.Flush()
		}
	}
	if cap(line) <= maxLineRoom {
		*room = line
		h.room.Put(room)
	}
	return plain
}

// lineFormat is how slog writes lines.
type lineFormat struct {
	json   bool // else text
	layout string
	plain  [256]bool // the characters of values that stand as they are
}

// jsonFormat is the format of slog.JSONHandler.
func jsonFormat() *lineFormat {
	f := &lineFormat{json: true, layout: time.RFC3339Nano}
	for c := ' '; c <= '~'; c++ {
		f.plain[c] = c != '"' && c != '\\'
	}
	return f
}

// textFormat is the format of slog.TextHandler.
func textFormat() *lineFormat {
	f := &lineFormat{layout: "2006-01-02T15:04:05.000Z07:00"}
	for c := '!'; c <= '~'; c++ {
		f.plain[c] = c != '"' && c != '\\' && c != '='
	}
	return f
}

// appendLine appends a line, or returns false when something in it is not plain.
func (f *lineFormat) appendLine(dst []byte, at time.Time, level slog.Level, message string, attrs []slog.Attr) ([]byte, bool) {
	if f.json {
		dst = at.AppendFormat(append(dst, `{"time":"`...), f.layout)
		dst = append(append(append(dst, `","level":"`...), level.String()...), `","msg":`...)
	} else {
		dst = at.AppendFormat(append(dst, "time="...), f.layout)
		dst = append(append(append(dst, " level="...), level.String()...), " msg="...)
	}
	dst, plain := f.appendText(dst, message)
	for i := 0; i < len(attrs) && plain; i++ {
		a := &attrs[i]
		if f.json {
			dst = append(append(append(dst, ',', '"'), a.Key...), '"', ':')
		} else {
			dst = append(append(append(dst, ' '), a.Key...), '=')
		}
		switch a.Value.Kind() {
		case slog.KindString:
			dst, plain = f.appendText(dst, a.Value.String())
		case slog.KindInt64:
			dst = strconv.AppendInt(dst, a.Value.Int64(), 10)
		case slog.KindFloat64:
			dst, plain = appendThousandths(dst, a.Value.Float64())
		default:
			plain = false
		}
	}
	if f.json {
		dst = append(dst, '}')
	}
	return append(dst, '\n'), plain
}

func (f *lineFormat) appendText(dst []byte, s string) ([]byte, bool) {
	for i := range len(s) {
		if !f.plain[s[i]] {
			return dst, false
		}
	}
	if f.json {
		return append(append(append(dst, '"'), s...), '"'), true
	}
	return append(dst, s...), s != "" // what is empty has quotes
}

// appendThousandths appends a number that has at most three decimals and six
// digits before them, as both formats have it, or returns false for any other.
// The shortest text of such a number is the one without zeros at its end: a
// float64 keeps numbers of fifteen digits apart.
func appendThousandths(dst []byte, v float64) ([]byte, bool) {
	if !(v < 1e6) || math.Signbit(v) {
		return dst, false
	}
	n := int64(v*1000 + 0.5)
	if float64(n)/1000 != v {
		return dst, false
	}
	dst = strconv.AppendInt(dst, n/1000, 10)
	if n %= 1000; n == 0 {
		return dst, true
	}
	decimals := [...]byte{'.', byte('0' + n/100), byte('0' + n/10%10), byte('0' + n%10)}
	size := len(decimals)
	for decimals[size-1] == '0' {
		size--
	}
	return append(dst, decimals[:size]...), true
}

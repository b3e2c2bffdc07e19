package main

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"time"
)

// Limits of buffered log output, which reduces the number of system calls.
const (
	logDelay = 50 * time.Millisecond
	logRoom  = 32 << 10
)

// logBuffer buffers lines and writes several at once.
type logBuffer struct {
	mu      sync.Mutex
	w       io.Writer
	lines   []byte
	waiting bool // a delayed flush is scheduled
}

func newLogBuffer(w io.Writer) *logBuffer { return &logBuffer{w: w} }

// Write buffers a line. It flushes if the buffer is full.
func (b *logBuffer) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines = append(b.lines, line...)
	if len(b.lines) >= logRoom {
		b.flush()
		return len(line), nil
	}
	if !b.waiting {
		b.waiting = true
		time.AfterFunc(logDelay, b.Flush)
	}
	return len(line), nil
}

// Flush writes the buffered lines.
func (b *logBuffer) Flush() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting = false
	b.flush()
}

func (b *logBuffer) flush() {
	if len(b.lines) == 0 {
		return
	}
	_, _ = b.w.Write(b.lines) // a failure to log can't be logged
	if b.lines = b.lines[:0]; cap(b.lines) > 4*logRoom {
		b.lines = nil
	}
}

// promptHandler flushes warnings and errors at once, together with preceding
// lines.
type promptHandler struct {
	slog.Handler
	buffer *logBuffer
}

// Handle implements slog.Handler.
func (h promptHandler) Handle(ctx context.Context, r slog.Record) error {
	err := h.Handler.Handle(ctx, r)
	if r.Level >= slog.LevelWarn {
		h.buffer.Flush()
	}
	return err
}

// WithAttrs implements slog.Handler.
func (h promptHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return promptHandler{h.Handler.WithAttrs(attrs), h.buffer}
}

// WithGroup implements slog.Handler.
func (h promptHandler) WithGroup(name string) slog.Handler {
	return promptHandler{h.Handler.WithGroup(name), h.buffer}
}

package main

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"time"
)

// How long and how many bytes of the log wait for more, so that a line of each
// request does not cost a system call of each.
const (
	logDelay = 50 * time.Millisecond
	logRoom  = 32 << 10
)

// logBuffer collects lines and writes several at once.
type logBuffer struct {
	mu      sync.Mutex
	w       io.Writer
	lines   []byte
	waiting bool // for the delay to end
}

func newLogBuffer(w io.Writer) *logBuffer { return &logBuffer{w: w} }

// Write takes a line. It writes what there is when that is much.
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

// Flush writes what was collected.
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
	_, _ = b.w.Write(b.lines) // there is nowhere to say that the log cannot be written
	if b.lines = b.lines[:0]; cap(b.lines) > 4*logRoom {
		b.lines = nil
	}
}

// promptHandler writes what went wrong at once, together with what led to it.
type promptHandler struct {
	slog.Handler
	buffer *logBuffer
}

// Handle is of slog.Handler.
func (h promptHandler) Handle(ctx context.Context, r slog.Record) error {
	err := h.Handler.Handle(ctx, r)
	if r.Level >= slog.LevelWarn {
		h.buffer.Flush()
	}
	return err
}

// WithAttrs is of slog.Handler.
func (h promptHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return promptHandler{h.Handler.WithAttrs(attrs), h.buffer}
}

// WithGroup is of slog.Handler.
func (h promptHandler) WithGroup(name string) slog.Handler {
	return promptHandler{h.Handler.WithGroup(name), h.buffer}
}

// Package logbuffer writes the lines of a log together, because each write is a
// system call.
package logbuffer

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"time"
)

// Limits of buffered lines.
const (
	maxDelay = 50 * time.Millisecond
	maxBytes = 32 << 10
)

// Buffer buffers lines and writes several at once.
type Buffer struct {
	mu      sync.Mutex
	w       io.Writer
	lines   []byte
	waiting bool // a delayed flush is scheduled
}

// New returns a buffer of w.
func New(w io.Writer) *Buffer { return &Buffer{w: w} }

// Write buffers a line. It flushes if the buffer is full.
func (b *Buffer) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines = append(b.lines, line...)
	if len(b.lines) >= maxBytes {
		b.flush()
		return len(line), nil
	}
	if !b.waiting {
		b.waiting = true
		time.AfterFunc(maxDelay, b.Flush)
	}
	return len(line), nil
}

// Flush writes the buffered lines.
func (b *Buffer) Flush() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting = false
	b.flush()
}

func (b *Buffer) flush() {
	if len(b.lines) == 0 {
		return
	}
	_, _ = b.w.Write(b.lines) // a failure to log can't be logged
	if b.lines = b.lines[:0]; cap(b.lines) > 4*maxBytes {
		b.lines = nil
	}
}

// Handler returns a handler that also flushes after warnings and errors. The lines
// of h go to b.
func (b *Buffer) Handler(h slog.Handler) slog.Handler { return handler{h, b} }

// handler flushes warnings and errors at once, together with preceding
// lines.
type handler struct {
	slog.Handler
	buffer *Buffer
}

// Handle implements slog.Handler.
func (h handler) Handle(ctx context.Context, r slog.Record) error {
	err := h.Handler.Handle(ctx, r)
	if r.Level >= slog.LevelWarn {
		h.buffer.Flush()
	}
	return err
}

// WithAttrs implements slog.Handler.
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.Handler.WithAttrs(attrs), h.buffer}
}

// WithGroup implements slog.Handler.
func (h handler) WithGroup(name string) slog.Handler {
	return handler{h.Handler.WithGroup(name), h.buffer}
}

package logbuffer

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// writes records the content of each write.
type writes struct {
	mu  sync.Mutex
	all []string
}

func (w *writes) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, string(p))
	return len(p), nil
}

func (w *writes) taken() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.all
	w.all = nil
	return all
}

func TestLogLinesAreBatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &writes{}
		b := New(w)
		log := slog.New(b.Handler(slog.NewTextHandler(b, nil))).With("a", 1).WithGroup("g")
		want := func(step string, writes ...int) {
			t.Helper()
			synctest.Wait()
			var lines []int
			for _, text := range w.taken() {
				lines = append(lines, strings.Count(text, "\n"))
			}
			if len(lines) != len(writes) || len(lines) > 0 && lines[0] != writes[0] {
				t.Errorf("%s: writes of %v lines, want %v", step, lines, writes)
			}
		}
		log.Info("one")
		log.Info("two")
		want("at once")
		time.Sleep(maxDelay - time.Nanosecond)
		want("just before the delay")
		time.Sleep(time.Nanosecond)
		want("after the delay", 2)
		time.Sleep(time.Hour)
		want("without new lines")
		log.Info("three")
		log.Warn("four")
		want("a warning", 2)
		time.Sleep(maxDelay)
		want("flush of an empty buffer")
		log.Info("five")
		b.Flush()
		want("after Flush", 1)
	})
}

func TestLogBufferFlushesWhenFull(t *testing.T) {
	for _, tc := range []struct{ bytes, writes int }{{maxBytes - 1, 0}, {maxBytes, 1}, {maxBytes + 1, 1}} {
		synctest.Test(t, func(t *testing.T) {
			w := &writes{}
			b := New(w)
			defer b.Flush()
			if n, err := b.Write(bytes.Repeat([]byte("x"), tc.bytes)); n != tc.bytes || err != nil {
				t.Errorf("Write() = %d, %v", n, err)
			}
			if got := len(w.taken()); got != tc.writes {
				t.Errorf("%d bytes caused %d writes, want %d", tc.bytes, got, tc.writes)
			}
		})
	}
}

package background_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/errgroup"

	"mcpgateway/services/background"
)

func TestPanicsAreLoggedAndCounted(t *testing.T) {
	var lines bytes.Buffer
	tasks := background.New(slog.New(slog.NewTextHandler(&lines, nil)))
	var group sync.WaitGroup
	group.Go(tasks.Func("refill", func() { panic("no fuel") }))
	group.Wait()
	synctest.Test(t, func(*testing.T) {
		released := make(chan struct{})
		tasks.Go("delivery", func() {
			defer close(released)
			var index map[string]int
			index["x"]++ //nolint:staticcheck // panics with a runtime error
		})
		<-released
		tasks.Go("last", func() { panic("once more") })
		synctest.Wait() // panics are counted after the deferred calls
	})
	if got := tasks.Panics(); got != 3 {
		t.Errorf("%d panics were counted, want 3", got)
	}
	for _, want := range []string{`level=ERROR msg="panic in background task" task=refill error="no fuel" stack=`, "task=delivery", "nil map", "TestPanicsAreLoggedAndCounted"} {
		if !strings.Contains(lines.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, lines.String())
		}
	}
}

func TestNilTasksRecover(t *testing.T) {
	var tasks *background.Tasks
	var panicked *background.PanicError
	if err := tasks.Try("orphan", func() error { panic("lost") }); !errors.As(err, &panicked) || panicked.Value != "lost" || panicked.Task != "orphan" {
		t.Errorf("got %v", err)
	}
}

func TestWaitingCallersGetTheError(t *testing.T) {
	tasks := background.New(slog.New(slog.DiscardHandler))
	var group errgroup.Group
	group.Go(tasks.ErrFunc("read", func() error { panic("broken") }))
	var panicked *background.PanicError
	if err := group.Wait(); !errors.As(err, &panicked) || err.Error() != "panic in read: broken" {
		t.Errorf("got %v", err)
	}
	failure := errors.New("an ordinary failure")
	if err := tasks.Try("read", func() error { return failure }); !errors.Is(err, failure) || tasks.Panics() != 1 {
		t.Errorf("got %v after %d panics", err, tasks.Panics())
	}
}

func TestLoopsRestartWithBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		tasks := background.New(slog.New(slog.DiscardHandler))
		last := time.Now()
		var delays []time.Duration
		var running sync.WaitGroup
		running.Go(tasks.Loop(ctx, "sweep", func(context.Context) {
			delays = append(delays, time.Since(last))
			if len(delays) == 9 { // a run beyond the longest delay starts again with the shortest
				time.Sleep(time.Minute + time.Nanosecond)
			}
			last = time.Now()
			panic("again")
		}))
		time.Sleep(5 * time.Minute) // of the fake clock: up to the tenth run
		synctest.Wait()
		want := []time.Duration{0, 1, 2, 4, 8, 16, 32, 60, 60, 1}
		for i, seconds := range want {
			if i >= len(delays) || delays[i] != seconds*time.Second {
				t.Fatalf("the delays were %v, want %v seconds", delays, want)
			}
		}
		ended := time.Now()
		cancel()
		running.Wait()
		if time.Since(ended) != 0 {
			t.Errorf("the loop ended %v after its context", time.Since(ended))
		}
	})
}

func TestLoopsThatReturnAreNotRestarted(t *testing.T) {
	runs := 0
	background.New(nil).Loop(t.Context(), "load", func(context.Context) { runs++ })()
	if runs != 1 {
		t.Errorf("the loop ran %d times, want once", runs)
	}
}

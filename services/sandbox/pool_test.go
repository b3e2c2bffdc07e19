package sandbox_test

import (
	"encoding/json"
	"testing"
	"time"

	"mcpgateway/services/sandbox"
)

// newPool returns a pool that starts this binary.
func newPool(t *testing.T) *sandbox.Pool {
	t.Helper()
	p := sandbox.NewPool(nil, nil)
	t.Cleanup(p.Close)
	return p
}

// run runs code in a child of the pool and returns the result.
func run(t *testing.T, p *sandbox.Pool, code string) string {
	t.Helper()
	child, err := p.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Refill()
	defer p.Discard(child)
	if err := child.Start(sandbox.NewStart(code, time.Minute)); err != nil {
		t.Fatal(err)
	}
	for f := range child.Frames() {
		var end sandbox.FinishMessage
		if f.Kind != sandbox.FrameFinish {
			continue
		}
		if err := json.Unmarshal(f.Body, &end); err != nil || end.Error != nil {
			t.Fatalf("run failed with %+v (%v)", end.Error, err)
		}
		return string(end.Result)
	}
	t.Fatal("the child exited without reporting")
	return ""
}

func TestPoolEmptyBeforeFirstRunAndWhenIdle(t *testing.T) {
	p := newPool(t)
	if n := p.Warm(); n != 0 {
		t.Errorf("%d warm children before the first run, want 0", n)
	}
	run(t, p, "1")
	sandbox.AwaitWarm(p)
	sandbox.Drain(p)
	if n := p.Warm(); n != 0 {
		t.Errorf("%d warm children after the idle timeout, want 0", n)
	}
	if result := run(t, p, "return 2"); result != "2" {
		t.Errorf("result after the idle timeout = %s", result)
	}
}

func TestPoolReplacesDeadWarmChild(t *testing.T) {
	p := newPool(t)
	run(t, p, "1")
	sandbox.AwaitWarm(p)
	sandbox.KillWarm(p)
	if result := run(t, p, "return 2"); result != "2" {
		t.Errorf("result = %s", result)
	}
}

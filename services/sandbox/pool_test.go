package sandbox_test

import (
	"encoding/json"
	"testing"
	"time"

	"mcpgateway/services/sandbox"
)

// newPool returns a pool whose children are this binary.
func newPool(t *testing.T) *sandbox.Pool {
	t.Helper()
	p := sandbox.NewPool(nil, nil)
	t.Cleanup(p.Close)
	return p
}

// run returns the result of code that a child of the pool runs.
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
			t.Fatalf("it ended with %+v (%v)", end.Error, err)
		}
		return string(end.Result)
	}
	t.Fatal("the child ended without a report")
	return ""
}

func TestThePoolIsEmptyBeforeTheFirstRunAndAfterIdling(t *testing.T) {
	p := newPool(t)
	if n := p.Warm(); n != 0 {
		t.Errorf("%d children wait before the first run", n)
	}
	run(t, p, "1")
	sandbox.AwaitWarm(p)
	sandbox.Drain(p)
	if n := p.Warm(); n != 0 {
		t.Errorf("%d children wait after idling", n)
	}
	if result := run(t, p, "return 2"); result != "2" {
		t.Errorf("after idling the result is %s", result)
	}
}

func TestAWarmChildThatDiedIsReplaced(t *testing.T) {
	p := newPool(t)
	run(t, p, "1")
	sandbox.AwaitWarm(p)
	sandbox.KillWarm(p)
	if result := run(t, p, "return 2"); result != "2" {
		t.Errorf("the result is %s", result)
	}
}

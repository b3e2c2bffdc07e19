package codemode_test

import (
	"testing"

	"mcpgateway/services/codemode"
)

func TestThePoolIsEmptyBeforeTheFirstRunAndAfterIdling(t *testing.T) {
	r := runner(t, codemode.Options{})
	if n := codemode.WarmChildren(r); n != 0 {
		t.Errorf("%d children wait before the first run", n)
	}
	run(t, r, request("1"), newTools())
	codemode.AwaitWarm(r)
	codemode.Drain(r)
	if out := run(t, r, request("return 2"), newTools()); string(out.Result) != "2" {
		t.Errorf("after idling: %+v", out.Error)
	}
}

func TestAWarmChildThatDiedIsReplaced(t *testing.T) {
	r := runner(t, codemode.Options{})
	run(t, r, request("1"), newTools())
	codemode.AwaitWarm(r)
	codemode.KillWarm(r)
	if out := run(t, r, request("return 2"), newTools()); string(out.Result) != "2" {
		t.Errorf("it ended with %+v", out.Error)
	}
}

package codemode_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"mcpgateway/services/sandbox"
)

// worker is the command of the children in these tests; nothing is this binary.
var worker []string

// TestMain is also the child process of the runs in these tests: the runner
// starts this binary again, unless worker names another.
func TestMain(m *testing.M) {
	if sandbox.IsWorker(os.Args) {
		os.Exit(sandbox.WorkerMain())
	}
	command, remove, err := buildWorker()
	if err != nil {
		fmt.Fprintln(os.Stderr, "the worker cannot be built:", err)
		os.Exit(1)
	}
	worker = command
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		remove()
		os.Exit(code)
	}))
}

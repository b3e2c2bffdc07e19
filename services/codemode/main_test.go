package codemode_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"mcpgateway/services/sandbox"
)

// worker is the command of the children in these tests. Nil means this binary.
var worker []string

// TestMain is also the entry point of child processes: the runner starts this
// binary again, unless worker is set.
func TestMain(m *testing.M) {
	if sandbox.IsWorker(os.Args) {
		os.Exit(sandbox.WorkerMain())
	}
	command, remove, err := buildWorker()
	if err != nil {
		fmt.Fprintln(os.Stderr, "failed to build the worker:", err)
		os.Exit(1)
	}
	worker = command
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		remove()
		os.Exit(code)
	}))
}

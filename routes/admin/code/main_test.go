package code_test

import (
	"mcpgateway/services/sandbox"
	"os"
	"testing"
)

// TestMain also serves as the worker process, because the runner starts this
// test binary to run submitted code.
func TestMain(m *testing.M) {
	if sandbox.IsWorker(os.Args) {
		os.Exit(sandbox.WorkerMain())
	}
	os.Exit(m.Run())
}

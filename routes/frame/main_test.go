package frame_test

import (
	"os"
	"testing"

	"mcpgateway/services/sandbox"
)

// TestMain is also the process that runs submitted code: the runner starts this
// program again.
func TestMain(m *testing.M) {
	if sandbox.IsWorker(os.Args) {
		os.Exit(sandbox.WorkerMain())
	}
	os.Exit(m.Run())
}

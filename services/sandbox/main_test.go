package sandbox_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"mcpgateway/services/sandbox"
)

// TestMain also is the processes that these tests start: the pool starts this
// binary again, and so do the tests of what confines a process.
func TestMain(m *testing.M) {
	if sandbox.IsWorker(os.Args) {
		os.Exit(sandbox.WorkerMain())
	}
	if len(os.Args) > 1 && os.Args[1] == probeCommand {
		os.Exit(probe())
	}
	if len(os.Args) > 1 && os.Args[1] == callsCommand {
		os.Exit(probeCalls())
	}
	goleak.VerifyTestMain(m)
}

package sandbox_test

import (
	"os"
	"testing"

	"mcpgateway/services/background/leaktest"
	"mcpgateway/services/sandbox"
)

// TestMain is also the entry point of the processes of these tests: the pool
// and the confinement tests start this binary again.
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
	leaktest.Main(m)
}

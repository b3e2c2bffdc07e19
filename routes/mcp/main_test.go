package mcp_test

import (
	"os"
	"testing"

	"mcpgateway/services/sandbox"
)

// TestMain is also the main function of the processes that run submitted code:
// the runner starts this binary again.
func TestMain(m *testing.M) {
	if sandbox.IsWorker(os.Args) {
		os.Exit(sandbox.WorkerMain())
	}
	os.Exit(m.Run())
}

package frame_test

import (
	"os"
	"testing"

	"mcpgateway/services/codemode"
)

// TestMain also is the process that runs submitted code: the runner starts
// this program again.
func TestMain(m *testing.M) {
	if codemode.IsWorker(os.Args) {
		os.Exit(codemode.WorkerMain())
	}
	os.Exit(m.Run())
}

// Package sandboxtest is for tests that run submitted code: the runner starts
// the test binary again as its child.
package sandboxtest

import (
	"os"
	"testing"

	"mcpgateway/services/sandbox"
)

// Main is the TestMain of a package whose tests run submitted code. It doesn't
// return.
func Main(m *testing.M) {
	Worker()
	os.Exit(m.Run())
}

// Worker runs the code and exits if this process is a child. Otherwise it
// returns, and children can be started.
func Worker() {
	if !sandbox.IsWorker(os.Args) {
		prepare()
		return
	}
	replace()
	os.Exit(sandbox.WorkerMain())
}

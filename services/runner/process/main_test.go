//go:build linux || darwin

package process_test

import (
	"fmt"
	"os"
	"testing"

	"mcpgateway/services/runner/process"
)

// launcher is the argument with which this test binary launches programs.
const launcher = "launch-program"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == launcher {
		fmt.Fprintln(os.Stderr, process.Launch(os.Args[2:]))
		os.Exit(1)
	}
	if err := process.Adopt(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

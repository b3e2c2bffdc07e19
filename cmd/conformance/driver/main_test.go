//go:build conformance

package driver

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"mcpgateway/services/background/leaktest"
)

// TestMain runs the tests or a job. A suite starts this binary as its client under
// test with the argument "client" and the server's URL. The rest of the job is in the
// environment.
func TestMain(m *testing.M) {
	if len(os.Args) != 3 || os.Args[1] != "client" {
		leaktest.Main(m)
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	job := Job{URL: os.Args[2], Scenario: os.Getenv("MCP_CONFORMANCE_SCENARIO"), Context: []byte(os.Getenv("MCP_CONFORMANCE_CONTEXT"))}
	err := Run(ctx, job, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "driver:", err)
		os.Exit(1)
	}
}

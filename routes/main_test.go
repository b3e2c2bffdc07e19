package routes_test

import (
	"context"
	"errors"
	"net"
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
	// Configurations name servers on the internet, which the tests never reach:
	// a lost query to a name server would take 5 seconds.
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("tests have no name server")
	}}
	os.Exit(m.Run())
}

package measure

import (
	"context"
	"net"
	"strings"
	"time"

	"mcpgateway/cmd/internal/stage"
)

// readyLimit is the startup timeout of a child.
const readyLimit = time.Minute

// Programs are the measured binaries and a folder for their data.
type Programs struct {
	Gateway string // binary
	Self    string // the binary of this program
	Folder  string
}

// Child is another process of this binary, started with other arguments.
type Child struct {
	Address string // host:port
	URL     string // scheme and address
	process *stage.Process
}

// StartChild starts a command of the binary and waits until it prints "READY URL".
// The process runs until ctx is done or Stop is called.
func StartChild(ctx context.Context, binary, folder string, args ...string) (*Child, error) {
	process, err := stage.Start(ctx, stage.Program{
		Name: "bench " + args[0], Path: binary, Dir: folder, Env: stage.BareEnvironment(folder), Args: args,
		Ready: func(line string) (string, bool) { return strings.CutPrefix(line, "READY ") },
	})
	if err != nil {
		return nil, err
	}
	url, err := process.Await(ctx, readyLimit)
	if err != nil {
		process.Stop()
		return nil, err
	}
	_, address, _ := strings.Cut(url, "://")
	if _, _, err := net.SplitHostPort(address); err != nil {
		process.Stop()
		return nil, err
	}
	return &Child{Address: address, URL: url, process: process}, nil
}

// PID returns the child's process ID.
func (c *Child) PID() int { return c.process.PID() }

// Stop stops the child and waits for its exit.
func (c *Child) Stop() { c.process.Stop() }

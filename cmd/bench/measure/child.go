package measure

import (
	"context"
	"net"
	"strings"
	"time"

	"mcpgateway/cmd/internal/stage"
)

// readyLimit is how long a child may take until it serves.
const readyLimit = time.Minute

// Programs are what is measured, and a folder for what they store.
type Programs struct {
	Gateway string // binary
	Self    string // the binary of this program
	Folder  string
}

// Child is another program of the measurement: this one, started anew with
// other arguments.
type Child struct {
	Address string // host:port
	URL     string // scheme and address
	process *stage.Process
}

// StartChild starts a command of the binary, which says "READY URL" once it
// serves. It ends with ctx or with Stop.
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

// PID returns the number of the child's process.
func (c *Child) PID() int { return c.process.PID() }

// Stop ends the child and returns when it has ended.
func (c *Child) Stop() { c.process.Stop() }

package main

import (
	"context"
	"fmt"

	"mcpgateway/services/sandbox"
)

// codeWorker is the hidden command with which the gateway runs submitted code
// in a process of its own: it takes one run on standard input. It is not for
// people and not in the help.
func codeWorker(context.Context, streams, []string) error {
	if code := sandbox.WorkerMain(); code != 0 {
		return fmt.Errorf("the process that runs code ended with %d", code)
	}
	return nil
}

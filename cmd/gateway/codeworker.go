package main

import (
	"context"
	"fmt"

	"mcpgateway/services/sandbox"
)

// codeWorker is the hidden command of the child process that runs submitted
// code. It executes one run from standard input.
func codeWorker(context.Context, streams, []string) error {
	if code := sandbox.WorkerMain(); code != 0 {
		return fmt.Errorf("code worker exited with status %d", code)
	}
	return nil
}

//go:build race

package codemode_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

const raceEnabled = true

// buildTimeout limits building the worker.
const buildTimeout = 3 * time.Minute

// buildWorker builds the children's program without the race detector, which
// makes code ten times slower and larger. It returns the command of the
// children and a cleanup function.
func buildWorker() (command []string, remove func(), err error) {
	dir, err := os.MkdirTemp("", "code-worker")
	if err != nil {
		return nil, nil, err
	}
	remove = func() { os.RemoveAll(dir) }
	ctx, cancel := context.WithTimeout(context.Background(), buildTimeout)
	defer cancel()
	worker := filepath.Join(dir, "worker")
	if out, err := exec.CommandContext(ctx, "go", "build", "-race=false", "-o", worker, "../sandbox/testdata/worker").CombinedOutput(); err != nil {
		remove()
		return nil, nil, fmt.Errorf("%w: %s", err, out)
	}
	return []string{worker}, remove, nil
}

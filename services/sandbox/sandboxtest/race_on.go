//go:build race

package sandboxtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Race reports whether the race detector is on.
const Race = true

// buildTimeout limits building the worker.
const buildTimeout = 10 * time.Minute

// prepare builds the children's program without the race detector, under which
// the engine is ten times slower and larger, so that limits of time and memory
// can't be tested.
func prepare() {
	ctx, cancel := context.WithTimeout(context.Background(), buildTimeout)
	defer cancel()
	build := exec.CommandContext(ctx, "go", "build", "-race=false", "-trimpath", "-o", worker(), "mcpgateway/services/sandbox/testdata/worker")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "failed to build the worker: %v\n%s", err, out)
		os.Exit(1)
	}
}

// Command returns the command of children for a runner that starts another program
// than this one, or nil for this one.
func Command() []string { return []string{worker()} }

// replace replaces this process by that program.
func replace() {
	err := syscall.Exec(worker(), os.Args, os.Environ())
	fmt.Fprintln(os.Stderr, "failed to start the worker:", err)
	os.Exit(1)
}

// worker returns the path of the program, in the directory of this one, which
// `go test` removes.
func worker() string {
	path, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return path + ".worker"
}

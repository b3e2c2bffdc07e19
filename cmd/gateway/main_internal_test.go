package main

import (
	"context"
	"os"
	"slices"
	"testing"
)

// TestMain lets this test binary be the processes that a gateway in it starts.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && slices.Contains([]string{"runner-guard", "runner-serve", "runner-launch"}, os.Args[1]) {
		os.Exit(run(context.Background(), streams{out: os.Stdout, err: os.Stderr, in: os.Stdin, environ: os.Environ()}, os.Args[1:]))
	}
	os.Exit(m.Run())
}

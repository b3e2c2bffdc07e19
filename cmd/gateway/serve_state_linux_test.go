package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestServeState runs two gateways with programs as one user, whose runners need a
// directory each.
func TestServeState(t *testing.T) {
	file := clientFile(t, `{"mcpServers":{"a":{"command":"sh"}}}`)
	environ := func() []string { return surroundings(t, "PATH="+os.Getenv("PATH")) }
	own := filepath.Join(t.TempDir(), "own")
	first := startServing(t, environ(), "--local", file, "--state", own)
	if code, out, errs := commandLine(t, environ(), "", "runner", "status", "--state", own); code != 0 || !strings.Contains(out, "file "+file) {
		t.Errorf("status: %d %s%s", code, out, errs)
	}
	const refused = "choose one with --state"
	if code, _, errs := commandLine(t, environ(), "", "serve", "--addr", "127.0.0.1:0", "--local", file, "--state", own); code == 0 || !strings.Contains(errs, "another runner uses the directory "+own) || !strings.Contains(errs, refused) {
		t.Errorf("second gateway with the same directory: %d %s", code, errs)
	}
	startServing(t, environ(), "--local", file, "--state", filepath.Join(t.TempDir(), "another")).stop(t)
	first.stop(t)
}

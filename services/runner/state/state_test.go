//go:build linux || darwin

package state_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcpgateway/services/runner/state"
)

func TestDirectoryKeepsItsRunner(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "runner")
	first, err := state.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	var inUse *state.InUse
	if _, err := state.Open(path); !errors.As(err, &inUse) {
		t.Errorf("opened twice: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := state.Open(path)
	if err != nil || again.Runner() != first.Runner() || len(again.Runner()) != 24 {
		t.Fatalf("%v, %v", again, err)
	}
	_ = again.Close()
	if err := os.WriteFile(filepath.Join(path, "id"), []byte("../x"), 0o600); err != nil {
		t.Fatal(err)
	}
	repaired, err := state.Open(path)
	if err != nil || repaired.Runner() == "../x" || repaired.Runner() == first.Runner() {
		t.Errorf("after damage: %v, %v", repaired, err)
	}
	_ = repaired.Close()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestOpenDirectoryIsRefused(t *testing.T) {
	for _, mode := range []os.FileMode{0o750, 0o705, 0o777} {
		path := filepath.Join(t.TempDir(), "runner")
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := state.Open(path); err == nil || !strings.Contains(err.Error(), "chmod 0700") {
			t.Errorf("mode %v: %v", mode, err)
		}
	}
}

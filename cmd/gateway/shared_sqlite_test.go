package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSharedSQLiteFile starts two gateways on the same database. Both serve calls,
// and a change reaches both.
func TestSharedSQLiteFile(t *testing.T) {
	environ := surroundings(t)
	both := []*serving{startServing(t, environ, "--demo"), startServing(t, environ)}
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"clock__current_time","arguments":{"zone":"UTC"}}}`
	answers := func(want string) func() bool {
		return func() bool {
			for _, s := range both {
				if got, err := s.post(t, "demo", call); err != nil || !strings.Contains(got, want) {
					return false
				}
			}
			return true
		}
	}
	until(t, "both call the tool", answers(`"structuredContent"`))
	file := filepath.Join(t.TempDir(), "change.json")
	if err := os.WriteFile(file, []byte(`{"projects":{"demo":{"disabledTools":["clock__current_time"]}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := commandLine(t, environ, "", "apply", "-f", file); code != 0 {
		t.Fatalf("apply: exit code %d: %s", code, errs)
	}
	until(t, "both reject the tool", answers("TOOL_DISABLED"))
	for _, s := range both {
		s.end()
		if code := <-s.code; code != 0 {
			t.Errorf("exit code %d", code)
		}
	}
}

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A mistyped database path must be an error and not an empty gateway, above all for
// scheduled backups and verifications.
func TestCommandsCreateNoDatabase(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "data")
	environ := []string{"GATEWAY_DATABASE_URL=sqlite:" + filepath.Join(folder, "gatewy.db"), "GATEWAY_LOG_FORMAT=json"}
	copied := filepath.Join(t.TempDir(), "copy.db")
	for _, args := range [][]string{
		{"backup", "-o", copied}, {"audit", "verify"}, {"export"}, {"rekey"}, {"migrate", "status"},
		{"keys", "list", "--project", "p"}, {"keys", "create", "--project", "p", "--name", "n"},
	} {
		code, out, errs := commandLine(t, environ, "", args...)
		if code != exitFailed || out != "" || !strings.Contains(errs, "no database at "+filepath.Join(folder, "gatewy.db")) {
			t.Errorf("%v: exit %d, stdout %q, stderr %q", args, code, out, errs)
		}
	}
	for _, path := range []string{folder, copied} {
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("%s was created: %v", path, err)
		}
	}
	if code, _, errs := commandLine(t, environ, "", "migrate", "up"); code != 0 {
		t.Errorf("migrate up: exit %d, %s", code, errs)
	}
	if code, out, errs := commandLine(t, environ, "", "audit", "verify"); code != 0 || out != "The audit log is empty.\n" {
		t.Errorf("audit verify of a new database: exit %d, stdout %q, stderr %q", code, out, errs)
	}
}

func TestVersionFlag(t *testing.T) {
	_, want, _ := commandLine(t, nil, "", "version")
	for _, flag := range []string{"--version", "-v"} {
		if code, out, errs := commandLine(t, nil, "", flag); code != 0 || out != want || want == "" {
			t.Errorf("%s: exit %d, stdout %q, stderr %q, want %q", flag, code, out, errs, want)
		}
	}
}

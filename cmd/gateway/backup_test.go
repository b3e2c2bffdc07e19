package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBackupIsTheWholeDatabase(t *testing.T) {
	environ := surroundings(t)
	const declaration = `{"projects":{"work":{"mcpServers":{"docs":{"url":"http://127.0.0.1:1/mcp"}}}}}`
	command := func(environ []string, code int, args ...string) (out, errs string) {
		t.Helper()
		got, out, errs := commandLine(t, environ, declaration, args...)
		if got != code {
			t.Fatalf("%v: exit code %d: %s", args, got, errs)
		}
		return out, errs
	}
	command(environ, 0, "apply", "-f", "-")
	file := filepath.Join(t.TempDir(), "copy.db")
	command(environ, 0, "backup", "-o", file)
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the copy has mode %v, %v", info.Mode(), err)
	}
	restored := append([]string{}, environ...)
	for i, setting := range restored {
		if strings.HasPrefix(setting, "GATEWAY_DATABASE_URL=") {
			restored[i] = "GATEWAY_DATABASE_URL=sqlite:" + file
		}
	}
	want, _ := command(environ, 0, "export")
	if got, _ := command(restored, 0, "export"); got != want || !strings.Contains(got, "docs") {
		t.Errorf("restored is\n%s\nwant\n%s", got, want)
	}
	if _, errs := command(environ, exitFailed, "backup", "-o", file); !strings.Contains(errs, "exists already") {
		t.Errorf("a second copy to the same file: %s", errs)
	}
	command(environ, exitUsage, "backup")
}

package modelstest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Restored copies a PostgreSQL database with pg_dump and pg_restore and returns
// the address of the copy, which is dropped when the test ends.
func Restored(t *testing.T, dsn string) string {
	t.Helper()
	restored := emptyPostgres(t)
	file := filepath.Join(t.TempDir(), "gateway.dump")
	runClient(t, "pg_dump", "--format=custom", "--file="+file, "--dbname="+dsn)
	runClient(t, "pg_restore", "--no-owner", "--exit-on-error", "--dbname="+restored, file)
	return restored
}

// runClient runs a PostgreSQL client program, of the server's version if both
// were installed together.
func runClient(t *testing.T, name string, args ...string) {
	t.Helper()
	bin, err := serverBinaries()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(bin, name)
	if _, err := os.Stat(path); err != nil {
		if path, err = exec.LookPath(name); err != nil {
			t.Fatal(fmt.Errorf("%w; run: %s", err, installHint))
		}
	}
	var said bytes.Buffer
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C"}
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, said.String())
	}
}

// ClientPath returns a PATH with the client programs of PostgreSQL, of the
// server's version first.
func ClientPath(t *testing.T) string {
	t.Helper()
	bin, err := serverBinaries()
	if err != nil {
		t.Fatal(err)
	}
	return bin + string(os.PathListSeparator) + os.Getenv("PATH")
}

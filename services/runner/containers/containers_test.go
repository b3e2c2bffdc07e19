//go:build linux || darwin

package containers_test

import (
	"os"
	"path/filepath"
	"testing"

	"mcpgateway/services/runner/containers"
)

// docker lists two containers and records the arguments of its calls.
const docker = `#!/bin/sh
echo "$@" >>"$RECORD"
[ "$3" = ps ] && echo "one
two"
exit 0
`

func TestContainersOfEarlierRunnersAreRemoved(t *testing.T) {
	dir := t.TempDir()
	program, record := filepath.Join(dir, "docker"), filepath.Join(dir, "record")
	if err := os.WriteFile(program, []byte(docker), 0o700); err != nil {
		t.Fatal(err)
	}
	env := []string{"RECORD=" + record, "PATH=" + os.Getenv("PATH")}
	c := containers.NewClients(dir)
	if err := c.Remove(t.Context(), env, "gateway.runner=x"); err != nil {
		t.Errorf("without a client: %v", err)
	}
	for range 2 {
		if err := c.Add([]string{program, "--context", "far"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := containers.NewClients(dir).Remove(t.Context(), env, "gateway.runner=x"); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(record)
	const want = "--context far ps --all --quiet --filter label=gateway.runner=x\n--context far rm --force one two\n"
	if err != nil || string(got) != want {
		t.Errorf("calls:\n%s, %v", got, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "containers"), []byte(`[["docker"],[]]`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.Remove(t.Context(), env, "gateway.runner=x"); err != nil {
		t.Errorf("a relative client was used: %v", err)
	}
}

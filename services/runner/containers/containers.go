//go:build linux || darwin

// Package containers removes the containers of a runner that ended without doing
// so: they outlive the docker or podman program that started them.
package containers

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// limit is the time for a removal.
const limit = 10 * time.Second

// maxClients is the maximum number of remembered clients.
const maxClients = 20

// Clients are the docker and podman programs that a runner has used, in a file of
// its state directory.
type Clients struct{ file string }

// NewClients returns the clients in a state directory.
func NewClients(state string) Clients { return Clients{filepath.Join(state, "containers")} }

// Add remembers a client: the absolute path of the program, and its arguments
// before the command.
func (c Clients) Add(client []string) error {
	known := c.read()
	if len(known) >= maxClients || slices.ContainsFunc(known, func(k []string) bool { return slices.Equal(k, client) }) {
		return nil
	}
	raw, err := json.Marshal(append(known, client))
	if err != nil {
		return err
	}
	return os.WriteFile(c.file, raw, 0o600)
}

// read returns the clients. Without a file there are none.
func (c Clients) read() (known [][]string) {
	raw, err := os.ReadFile(c.file)
	if err != nil || json.Unmarshal(raw, &known) != nil {
		return nil
	}
	return slices.DeleteFunc(known, func(k []string) bool { return len(k) == 0 || !filepath.IsAbs(k[0]) })
}

// Remove removes all containers with a label. env is the environment for the
// clients.
func (c Clients) Remove(ctx context.Context, env []string, label string) error {
	var failed error
	for _, client := range c.read() {
		failed = errors.Join(failed, remove(ctx, client, env, label))
	}
	return failed
}

func remove(ctx context.Context, client, env []string, label string) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	out, err := command(ctx, client, env, "ps", "--all", "--quiet", "--filter", "label="+label).Output()
	ids := strings.Fields(string(out))
	if err != nil || len(ids) == 0 {
		return err
	}
	return command(ctx, client, env, append([]string{"rm", "--force"}, ids...)...).Run()
}

func command(ctx context.Context, client, env []string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, client[0], append(slices.Clone(client[1:]), args...)...)
	c.Env, c.WaitDelay = env, time.Second
	return c
}

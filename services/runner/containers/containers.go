//go:build linux || darwin

// Package containers removes containers of local servers. They outlive the
// docker or podman program that started them, so each gets a label.
package containers

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mcpgateway/services/runner/entry"
)

// Label is the label with the marker of the process that started a container.
// Labels of a runner have the same names with the ID alone.
const (
	Label        = "gateway.runner"
	processLabel = "gateway.runner.process"
)

// limit is the time for a removal.
const limit = 10 * time.Second

// IsRun returns the position after `run` in the arguments of `docker run` and
// `podman run`, or 0 for other programs.
func IsRun(program string, args []string) int {
	if name := filepath.Base(program); name != "docker" && name != "podman" {
		return 0
	}
	switch {
	case len(args) > 0 && args[0] == "run":
		return 1
	case len(args) > 1 && args[0] == "container" && args[1] == "run":
		return 2
	}
	return 0
}

// Labeled returns a program with the labels of its container, or the same
// program if it starts none.
func Labeled(p *entry.Program, runner, marker string) *entry.Program {
	at := IsRun(p.Program, p.Args)
	if at == 0 {
		return p
	}
	labeled := *p
	labeled.Args = slices.Insert(slices.Clone(p.Args), at, "--label", Label+"="+runner, "--label", processLabel+"="+marker)
	return &labeled
}

// RemoveProcess removes the container of a process with a marker. path is that
// of docker or podman, env the environment of the process.
func RemoveProcess(ctx context.Context, path string, env []string, marker string) error {
	return remove(ctx, path, env, processLabel+"="+marker)
}

// Known are the docker and podman programs that a runner has used, in a file.
type Known struct{ file string }

// NewKnown returns the list in a file of the state directory.
func NewKnown(state string) Known { return Known{filepath.Join(state, "containers")} }

// Add adds an absolute path.
func (k Known) Add(path string) error {
	if slices.Contains(k.paths(), path) {
		return nil
	}
	f, err := os.OpenFile(k.file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(path + "\n")
	return errors.Join(err, f.Close())
}

func (k Known) paths() []string {
	raw, _ := os.ReadFile(k.file) // without the file there are none
	return strings.Fields(strings.ReplaceAll(string(raw), " ", "\x00"))
}

// Remove removes all containers of a runner.
func (k Known) Remove(ctx context.Context, env []string, runner string) error {
	var failed error
	for _, path := range k.paths() {
		failed = errors.Join(failed, remove(ctx, path, env, Label+"="+runner))
	}
	return failed
}

// remove removes the containers with a label.
func remove(ctx context.Context, path string, env []string, label string) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	list := exec.CommandContext(ctx, path, "ps", "--all", "--quiet", "--no-trunc", "--filter", "label="+label)
	list.Env = env
	out, err := list.Output()
	ids := strings.Fields(string(out))
	if err != nil || len(ids) == 0 {
		return err
	}
	rm := exec.CommandContext(ctx, path, append([]string{"rm", "--force"}, ids...)...)
	rm.Env = env
	return rm.Run()
}

//go:build linux || darwin

package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mcpgateway/services/runner/containers"
	"mcpgateway/services/runner/entry"
	"mcpgateway/services/runner/process"
)

// start starts a process of the program of an entry.
func (r *Runner) start(name string) func(process.Spec) (*process.Process, error) {
	return func(spec process.Spec) (*process.Process, error) {
		if spec.Writable != nil {
			private, err := r.private(name, spec.Program)
			if err != nil {
				return nil, err
			}
			spec.Program = private
		}
		if containers.IsRun(spec.Program.Program, spec.Args) == 0 {
			return r.starter.Start(spec)
		}
		return r.startContainer(spec)
	}
}

// startContainer starts docker or podman. When it ends, its container is removed.
func (r *Runner) startContainer(spec process.Spec) (*process.Process, error) {
	path, err := process.Find(spec.Program.Program, spec.Env)
	if err != nil {
		return nil, err
	}
	if err := r.known.Add(path); err != nil {
		return nil, err
	}
	spec.Program = containers.Labeled(spec.Program, r.o.Runner, spec.Marker)
	p, err := r.starter.Start(spec)
	if err != nil {
		return nil, err
	}
	r.removals.Go(r.o.Tasks.Func("removal of a container", func() {
		<-p.Done()
		r.removing.RLock()
		defer r.removing.RUnlock()
		if err := containers.RemoveProcess(context.Background(), path, spec.Env, spec.Marker); err != nil {
			r.o.Log.Warn("container not removed", "program", spec.Program.Program, "error", err)
		}
	}))
	return p, nil
}

// private returns a confined program with its own temporary and cache
// directories in the state directory.
func (r *Runner) private(name string, p *entry.Program) (*entry.Program, error) {
	hash := sha256.Sum256([]byte(name)) // a name can contain anything
	base := filepath.Join(r.o.State, "private", hex.EncodeToString(hash[:8]))
	own := *p
	own.Env, own.Writable = slices.Clone(p.Env), slices.Clone(p.Writable)
	for variable, dir := range map[string]string{"TMPDIR": "tmp", "XDG_CACHE_HOME": "cache"} {
		dir = filepath.Join(base, dir)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		own.Env = slices.DeleteFunc(own.Env, func(v string) bool { return strings.HasPrefix(v, variable+"=") })
		own.Env = append(own.Env, variable+"="+dir)
		own.Writable = append(own.Writable, dir)
	}
	return &own, nil
}

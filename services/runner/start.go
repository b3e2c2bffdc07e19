//go:build linux || darwin

package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mcpgateway/services/runner/entry"
	"mcpgateway/services/runner/process"
	"mcpgateway/services/runner/supervise"
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
		if err := r.remember(spec); err != nil {
			return nil, err
		}
		return r.starter.Start(spec)
	}
}

// remember stores the client of a labeled container, so that the guard and the
// next runner can remove the container.
func (r *Runner) remember(spec process.Spec) error {
	at := slices.Index(spec.Args, supervise.LabelRunner+"="+r.o.Runner) - 2 // run --label …
	if at < 0 || spec.Args[at] != "run" {
		return nil
	}
	path, err := process.Find(spec.Program.Program, spec.Env)
	if err != nil {
		return err
	}
	global := slices.DeleteFunc(slices.Clone(spec.Args[:at]), func(arg string) bool { return arg == "container" })
	return r.clients.Add(append([]string{path}, global...))
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

//go:build linux || darwin

package process

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// launch are the limits that Launch applies before it executes the program.
type launch struct {
	Memory   int64    `json:"memory,omitempty"` // MiB
	Files    uint64   `json:"files,omitempty"`
	Writable []string `json:"writable,omitempty"`
	Confined bool     `json:"confined,omitempty"`
	Parent   int      `json:"parent"`
}

// niceness is the nice value of programs: 0 is the default, 19 the lowest
// priority.
const niceness = 5

// launchArguments returns the arguments of Launch for a program at a path.
func launchArguments(spec Spec, path string) ([]string, error) {
	raw, err := json.Marshal(launch{Memory: spec.Memory, Files: spec.Files, Writable: spec.Writable, Confined: spec.Writable != nil, Parent: os.Getpid()})
	if err != nil {
		return nil, err
	}
	return append([]string{string(raw), path}, spec.Args...), nil
}

// Launch limits this process and replaces it by a program. The arguments are
// those that Start passes. It returns only if that fails.
func Launch(arguments []string) error {
	if len(arguments) < 2 {
		return fmt.Errorf("this command is for the runner")
	}
	var l launch
	if err := json.Unmarshal([]byte(arguments[0]), &l); err != nil {
		return fmt.Errorf("this command is for the runner: %w", err)
	}
	// Priority, privileges and confinement belong to the thread that executes
	// the program.
	runtime.LockOSThread()
	limits := []struct {
		resource int
		value    uint64
	}{{unix.RLIMIT_CORE, 0}, {unix.RLIMIT_NOFILE, l.Files}, {dataLimit, uint64(l.Memory) << 20}}
	for i, limit := range limits {
		if i > 0 && limit.value == 0 {
			continue
		}
		if err := lower(limit.resource, limit.value); err != nil {
			return fmt.Errorf("set limits: %w", err)
		}
	}
	if err := l.prepare(); err != nil {
		return err
	}
	program := arguments[1]
	return &os.PathError{Op: "execute", Path: program, Err: syscall.Exec(program, arguments[1:], os.Environ())}
}

// lower sets a resource limit, at most the present hard limit.
func lower(resource int, value uint64) error {
	var now unix.Rlimit
	if err := unix.Getrlimit(resource, &now); err != nil {
		return err
	}
	value = min(value, now.Max)
	return unix.Setrlimit(resource, &unix.Rlimit{Cur: value, Max: value})
}

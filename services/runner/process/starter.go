//go:build linux || darwin

// Package process starts and stops the programs of local servers. Stopping one
// ends everything that it started, also what left its process group.
package process

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"mcpgateway/services/background"
	"mcpgateway/services/runner/entry"
)

// Variable is the environment variable that marks the programs of a runner and
// everything that they start.
const Variable = "GATEWAY_RUNNER"

// Spec is a program to start.
type Spec struct {
	*entry.Program
	Memory int64  // MiB of each process; 0 means unlimited
	Files  uint64 // open files of each process; 0 means unlimited
	Marker string // value of Variable, different for each process
}

// Starter starts programs. All are children of one thread, so that the kernel
// ends them with it.
type Starter struct {
	tasks    *background.Tasks
	launcher []string
	requests chan func()
	ending   sync.Once
	ended    chan struct{}

	mu      sync.RWMutex // read-locked while a program starts
	running map[int]bool // ids of started programs that were not waited for
	runMu   sync.Mutex   // guards running
}

// errClosed is the error of a closed Starter.
var errClosed = errors.New("the runner is ending")

// NewStarter returns a starter. launcher is the command that runs Launch in a
// separate process, without its arguments. The caller must call Close.
func NewStarter(tasks *background.Tasks, launcher ...string) *Starter {
	s := &Starter{tasks: tasks, launcher: launcher, requests: make(chan func()), ended: make(chan struct{}), running: map[int]bool{}}
	tasks.Go("program starter", s.serve)
	return s
}

// serve runs requests on one thread. The thread ends with the goroutine, and
// with it all programs.
func (s *Starter) serve() {
	runtime.LockOSThread()
	for {
		select {
		case request := <-s.requests:
			request()
		case <-s.ended:
			return
		}
	}
}

// Close ends the thread, and on Linux all programs with it.
func (s *Starter) Close() { s.ending.Do(func() { close(s.ended) }) }

// NotFound is the error for a program that does not exist.
type NotFound struct{ Program string }

func (e *NotFound) Error() string {
	switch {
	case filepath.IsAbs(e.Program):
		return e.Program + " is not a program that the runner can execute"
	case strings.ContainsRune(e.Program, filepath.Separator):
		return e.Program + " is a relative path: write an absolute one, or one that starts with ~/"
	}
	return e.Program + " is not on the runner's PATH"
}

// Start starts a program. The error is *NotFound, or one of the operating
// system.
func (s *Starter) Start(spec Spec) (*Process, error) {
	path, err := Find(spec.Program.Program, spec.Env)
	if err != nil {
		return nil, err
	}
	arguments, err := launchArguments(spec, path)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(context.Background(), s.launcher[0], append(append([]string{}, s.launcher[1:]...), arguments...)...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = spec.Dir, append(append([]string{}, spec.Env...), Variable+"="+spec.Marker), attributes()
	p := &Process{marker: spec.Marker, done: make(chan struct{})}
	theirs, err := p.pipes(cmd)
	if err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	started := make(chan error, 1)
	request := func() { started <- cmd.Start() }
	select {
	case s.requests <- request:
		err = <-started
	case <-s.ended:
		err = errClosed
	}
	for _, f := range theirs {
		_ = f.Close()
	}
	if err != nil {
		p.closePipes()
		return nil, err
	}
	p.pid = cmd.Process.Pid
	s.setRunning(p.pid, true)
	s.tasks.Go("program wait", func() {
		_ = cmd.Wait() // the state has its exit status
		p.state = cmd.ProcessState
		s.setRunning(p.pid, false)
		close(p.done)
	})
	return p, nil
}

func (s *Starter) setRunning(pid int, running bool) {
	s.runMu.Lock()
	defer s.runMu.Unlock()
	if running {
		s.running[pid] = true
		return
	}
	delete(s.running, pid)
}

// Reap waits for adopted children of this process that have ended: those whose
// parent ended before them.
func (s *Starter) Reap() {
	s.mu.Lock()
	defer s.mu.Unlock()
	reapAdopted(func(pid int) bool {
		s.runMu.Lock()
		defer s.runMu.Unlock()
		return s.running[pid]
	})
}

// pipes connects the program's standard streams. It returns the program's ends.
func (p *Process) pipes(cmd *exec.Cmd) (theirs []*os.File, err error) {
	for _, stream := range []struct {
		ours   **os.File
		attach func(*os.File)
		write  bool // the gateway writes
	}{
		{&p.stdin, func(f *os.File) { cmd.Stdin = f }, true},
		{&p.stdout, func(f *os.File) { cmd.Stdout = f }, false},
		{&p.stderr, func(f *os.File) { cmd.Stderr = f }, false},
	} {
		r, w, err := os.Pipe()
		if err != nil {
			for _, f := range theirs {
				_ = f.Close()
			}
			p.closePipes()
			return nil, err
		}
		ours, other := r, w
		if stream.write {
			ours, other = w, r
		}
		*stream.ours = ours
		stream.attach(other)
		theirs = append(theirs, other)
	}
	return theirs, nil
}

// Find returns the absolute path of a program: as written if it has a slash, else
// from the PATH of its environment. The error is *NotFound.
func Find(program string, env []string) (string, error) {
	if strings.ContainsRune(program, filepath.Separator) {
		if !filepath.IsAbs(program) || !isExecutable(program) {
			return "", &NotFound{Program: program}
		}
		return program, nil
	}
	for _, variable := range env {
		list, ok := strings.CutPrefix(variable, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(list) {
			if path := filepath.Join(dir, program); filepath.IsAbs(path) && isExecutable(path) {
				return path, nil
			}
		}
	}
	return "", &NotFound{Program: program}
}

func isExecutable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

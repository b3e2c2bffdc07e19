//go:build linux && (amd64 || arm64)

package sandbox_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mcpgateway/services/sandbox"
)

// There are two kinds of children. The released program drops the privileges of
// all its threads. This binary, if built with cgo, executes itself again.
func TestChildThreadsHaveNoPrivileges(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"released": buildReleased(t), "self": self} {
		t.Run(name, func(t *testing.T) {
			child := startChild(t, path)
			threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", child))
			if err != nil || len(threads) < 2 {
				t.Fatalf("the child has %d threads (%v)", len(threads), err)
			}
			for _, thread := range threads {
				checkThread(t, thread)
			}
		})
	}
}

func checkThread(t *testing.T, thread string) {
	t.Helper()
	fields := statusOf(t, thread)
	want := map[string]string{"CapInh": "0000000000000000", "CapPrm": "0000000000000000", "CapEff": "0000000000000000", "CapAmb": "0000000000000000", "NoNewPrivs": "1", "Seccomp": "2"}
	if own, err := strconv.ParseUint(statusOf(t, "/proc/thread-self")["CapEff"], 16, 64); err == nil && own&(1<<unix.CAP_SETPCAP) != 0 {
		want["CapBnd"] = "0000000000000000"
	}
	for name, value := range want {
		if fields[name] != value {
			t.Errorf("%s: %s is %q, want %q", thread, name, fields[name], value)
		}
	}
	tid, err := strconv.Atoi(filepath.Base(thread))
	if err != nil {
		t.Fatal(err)
	}
	own, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		t.Fatal(err)
	}
	priority, err := unix.Getpriority(unix.PRIO_PROCESS, tid)
	if err != nil || 20-priority != max(10, 20-own) {
		t.Errorf("%s: nice is %d (%v), want 10", thread, 20-priority, err)
	}
}

// statusOf returns the fields of a thread's status file.
func statusOf(t *testing.T, thread string) map[string]string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(thread, "status"))
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]string{}
	for line := range strings.Lines(string(raw)) {
		name, value, _ := strings.Cut(line, ":")
		fields[name] = strings.TrimSpace(value)
	}
	return fields
}

// startChild starts a child and returns its PID once it is ready. The child
// exits after the test, when its input ends.
func startChild(t *testing.T, path string) int {
	t.Helper()
	command := exec.CommandContext(context.Background(), path, sandbox.WorkerCommand)
	command.Env = []string{}
	sandbox.Tame(command)
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := command.Wait(); err != nil {
			t.Errorf("child exited with %v", err)
		}
	})
	if _, err := io.ReadFull(out, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	return command.Process.Pid
}

// buildReleased builds the program of the children as for a release, without
// cgo, and returns its path.
func buildReleased(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "worker")
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	build := exec.CommandContext(ctx, "go", "build", "-race=false", "-trimpath", "-o", path, "./testdata/worker")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

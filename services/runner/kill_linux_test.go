package runner_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// gone is the time after which nothing may be left, for a process that was killed.
const gone = time.Second

// forks waits for a forking server and returns the ids of its children and of
// itself.
func (w *world) forks(t *testing.T) (pids []int) {
	t.Helper()
	eventually(t, patience, func() string {
		l, err := w.client.Log(t.Context(), "forks")
		if err != nil {
			return err.Error()
		}
		pids = nil
		for _, line := range l.Lines {
			var mode string
			var pid int
			if n, _ := fmt.Sscanf(line.Text, "mockmcp: child %s %d", &mode, &pid); n == 2 {
				if _, _, running := stat(pid); running {
					pids = append(pids, pid)
				}
			}
		}
		if len(pids) < 5 {
			return fmt.Sprintf("%d children: %v", len(pids), l.Lines)
		}
		return ""
	})
	w.await(t, "forks", "running")
	_, runs := w.tree(t)
	return append(pids, children(t, runs, "")...)
}

// awaitTraces waits until the runner has stored the child that no marker finds.
func (w *world) awaitTraces(t *testing.T, pids []int) {
	t.Helper()
	eventually(t, patience, func() string {
		raw, err := os.ReadFile(w.state + "/processes")
		for _, pid := range pids {
			if strings.Contains(string(raw), fmt.Sprintf(`"pid":%d,`, pid)) {
				return ""
			}
		}
		return fmt.Sprintf("stored %q, %v", raw, err)
	})
}

// wantGone checks that processes end in time.
func wantGone(t *testing.T, limit time.Duration, pids []int) {
	t.Helper()
	eventually(t, limit, func() string {
		left := slices.DeleteFunc(slices.Clone(pids), func(pid int) bool { _, _, running := stat(pid); return !running })
		if len(left) == 0 {
			return ""
		}
		return fmt.Sprintf("%d of %d processes are left: %v", len(left), len(pids), left)
	})
}

func signalTo(t *testing.T, pid int, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
		t.Fatal(err)
	}
}

// TestKilledProcessesLeaveNothing kills the process that needs a runner, the
// guard, the runner, and all of them, while a server runs that forked into other
// groups, sessions and environments and ignores signals.
func TestKilledProcessesLeaveNothing(t *testing.T) {
	cases := map[string]struct {
		victims  func(w *world, guard, runs int) []int
		recovers bool
		atOnce   bool // all: only the next start ends what is left
	}{
		"guard":      {victims: func(_ *world, guard, _ int) []int { return []int{guard} }, recovers: true},
		"runner":     {victims: func(_ *world, _, runs int) []int { return []int{runs} }, recovers: true},
		"keeper":     {victims: func(w *world, _, _ int) []int { return []int{w.cmd.Process.Pid} }},
		"everything": {victims: func(w *world, guard, runs int) []int { return []int{guard, w.cmd.Process.Pid, runs} }, atOnce: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, mock(t, "forks", `,"start":"eager"`, "-fork", "plain,group,session,orphan,clean", "-survive"))
			w.start(t)
			pids := w.forks(t)
			if c.atOnce {
				w.awaitTraces(t, pids)
			}
			guard, runs := w.tree(t)
			victims := c.victims(w, guard, runs)
			for _, s := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGKILL} { // none sees the end of another
				for _, pid := range victims {
					signalTo(t, pid, s)
				}
			}
			if c.atOnce {
				<-w.ended
				w.start(t)
				w.forks(t)
			}
			wantGone(t, gone, pids)
			if c.recovers {
				w.forks(t)
				if now, _ := w.tree(t); now == guard {
					t.Error("the guard is the same")
				}
			}
		})
	}
}

// TestStopLeavesNothing stops the process that needs a runner.
func TestStopLeavesNothing(t *testing.T) {
	w := newWorld(t, mock(t, "forks", `,"start":"eager"`, "-fork", "plain,session,orphan,clean,group")+","+mock(t, "plain", `,"start":"eager"`))
	w.start(t)
	pids := w.forks(t)
	w.await(t, "plain", "running")
	guard, runs := w.tree(t)
	if err := w.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-w.ended
	wantGone(t, 0, append(pids, guard, runs))
	if !w.cmd.ProcessState.Success() {
		t.Errorf("exit status %s", w.cmd.ProcessState)
	}
}

// TestEnvironments checks that no process below the one with secrets has them in
// its environment.
func TestEnvironments(t *testing.T) {
	w := newWorld(t, mock(t, "one", `,"start":"eager","env":{"OWN":"own"}`)+","+mock(t, "two", `,"start":"eager","env":{"TOKEN":"${OTHER_SECRET}"}`))
	w.start(t, "GATEWAY_ENCRYPTION_KEY=key-secret", "OTHER_SECRET=other-secret")
	w.await(t, "one", "running")
	w.await(t, "two", "running")
	guard, runs := w.tree(t)
	servers := children(t, runs, "")
	if len(servers) != 2 {
		t.Fatalf("%d servers", len(servers))
	}
	others := 0
	for _, pid := range append([]int{guard, runs}, servers...) {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if errors.Is(err, fs.ErrPermission) && !slices.Contains(servers, pid) {
			continue // hidden from all users but root
		}
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(raw), "key-secret") {
			t.Errorf("the gateway's key is in the environment of process %d", pid)
		}
		if slices.Contains(servers, pid) && strings.Contains(string(raw), "other-secret") {
			others++
		}
	}
	if others != 1 {
		t.Errorf("%d servers have the secret of one", others)
	}
	for _, pid := range []int{w.cmd.Process.Pid, guard, runs} { // the kernel gives hidden processes to root
		if owner := ownerOf(t, fmt.Sprintf("/proc/%d/environ", pid)); owner != 0 {
			t.Errorf("process %d can be read by the user %d", pid, owner)
		}
	}
}

func ownerOf(t *testing.T, path string) uint32 {
	t.Helper()
	var info syscall.Stat_t
	if err := syscall.Stat(path, &info); err != nil {
		t.Fatal(err)
	}
	return info.Uid
}

//go:build linux || darwin

package process_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcpgateway/services/runner/entry"
	"mcpgateway/services/runner/process"
)

func newStarter(t *testing.T) *process.Starter {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := process.NewStarter(nil, self, launcher)
	t.Cleanup(s.Close)
	return s
}

// shell returns the program that runs a script.
func shell(script string) *entry.Program {
	return &entry.Program{Program: "sh", Args: []string{"-c", script}, Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=/tmp"}, Dir: "/tmp"}
}

func start(t *testing.T, s *process.Starter, spec process.Spec) *process.Process {
	t.Helper()
	if spec.Marker == "" {
		spec.Marker = t.Name()
	}
	p, err := s.Start(spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Stop(stopNow()) })
	return p
}

// stopNow returns a done context.
func stopNow() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func readLine(t *testing.T, r io.Reader) string {
	t.Helper()
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatalf("read %q: %v", line, err)
	}
	return strings.TrimSpace(line)
}

func wantNothingLeft(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("process %d is left: %v", pid, err)
		}
	}
}

func TestStreamsAndExit(t *testing.T) {
	p := start(t, newStarter(t), process.Spec{Program: shell(`read line; echo "got $line"; echo problem >&2; exit 3`)})
	if _, err := io.WriteString(p.Stdin(), "hello\n"); err != nil {
		t.Fatal(err)
	}
	if got := readLine(t, p.Stdout()); got != "got hello" {
		t.Errorf("output %q", got)
	}
	if got := readLine(t, p.Stderr()); got != "problem" {
		t.Errorf("errors %q", got)
	}
	<-p.Done()
	if p.Exit() != "exit code 3" || !p.Failed() {
		t.Errorf("ended with %s", p.Exit())
	}
}

// TestEnvironment checks that a program gets the variables of its entry and the
// marker, and none of this process.
func TestEnvironment(t *testing.T) {
	t.Setenv("RUNNER_SECRET", "secret")
	program := shell("env; ls /proc/self/fd | wc -l")
	program.Env = append(program.Env, "OWN=1")
	p := start(t, newStarter(t), process.Spec{Program: program, Marker: "m1"})
	out, err := io.ReadAll(p.Stdout())
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Fields(string(out))
	if !slices.Contains(lines, "OWN=1") || !slices.Contains(lines, "GATEWAY_RUNNER=m1") || strings.Contains(string(out), "RUNNER_SECRET") {
		t.Errorf("environment:\n%s", out)
	}
	// ls itself opens one.
	if open := lines[len(lines)-1]; open != "4" && open != "0" { // 0 without /proc
		t.Errorf("%s open descriptors", open)
	}
}

func TestMissingProgram(t *testing.T) {
	s := newStarter(t)
	folder := t.TempDir()
	plain := filepath.Join(folder, "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const unusable = " is not a program that the runner can execute"
	for program, problem := range map[string]string{
		"no-such-program": " is not on the runner's PATH", "./sh": " is a relative path: write an absolute one, or one that starts with ~/", plain: unusable, folder: unusable,
	} {
		spec := process.Spec{Program: &entry.Program{Program: program, Env: []string{"PATH=" + os.Getenv("PATH")}, Dir: "/"}}
		var missing *process.NotFound
		if _, err := s.Start(spec); !errors.As(err, &missing) || err.Error() != program+problem {
			t.Errorf("%s: %v", program, err)
		}
	}
}

// TestStopLeavesNothing stops programs that ignore signals, leave their group, or
// have no marker or parent.
func TestStopLeavesNothing(t *testing.T) {
	forks := map[string]string{
		"ends with its input":  `cat >/dev/null & echo $!; echo end; cat >/dev/null`,
		"ignores SIGTERM":      `trap '' TERM; sleep 1000 & echo $!; echo end; while :; do sleep 1000; done`,
		"another group":        `trap '' TERM; setsid sh -c 'trap "" TERM; echo $$; exec sleep 1000' & sleep 1000 & echo $!; echo end; while :; do sleep 1000; done`,
		"without parent":       `(setsid sh -c 'echo $$; exec sleep 1000' &) ; sleep 0.1; echo end; while :; do sleep 1000; done`,
		"without marker":       `env -u GATEWAY_RUNNER sh -c 'echo $$; exec sleep 1000' & sleep 0.1; echo end; while :; do sleep 1000; done`,
		"parent ended already": `(setsid sh -c 'echo $$; exec sleep 1000' &) ; sleep 0.1; echo end`,
	}
	for name, script := range forks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, newStarter(t), process.Spec{Program: shell(script)})
			pids := []int{p.PID()}
			lines := bufio.NewScanner(p.Stdout())
			for lines.Scan() && lines.Text() != "end" {
				var pid int
				if _, err := fmt.Sscan(lines.Text(), &pid); err != nil {
					t.Fatal(err)
				}
				pids = append(pids, pid)
			}
			if len(pids) < 2 {
				t.Fatal("the program started nothing")
			}
			p.Stop(stopNow())
			wantEnded(t, pids)
		})
	}
}

// wantEnded checks that the processes are gone, or wait for their parent to take
// their status.
func wantEnded(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err == nil && !strings.Contains(string(state), ") Z ") {
			t.Errorf("process %d is left: %s", pid, state)
		}
	}
}

func TestPoliteStop(t *testing.T) {
	p := start(t, newStarter(t), process.Spec{Program: shell(`cat >/dev/null; exit 0`)})
	before := time.Now()
	p.Stop(context.Background())
	if p.Failed() || time.Since(before) > 2*time.Second { // the time until SIGTERM
		t.Errorf("ended with %s after %v", p.Exit(), time.Since(before))
	}
}

func TestTerminated(t *testing.T) {
	p := start(t, newStarter(t), process.Spec{Program: shell(`trap 'exit 7' TERM; echo ready; while :; do sleep 0.05; done`)})
	readLine(t, p.Stdout())
	p.Stop(context.Background())
	if p.Exit() != "exit code 7" {
		t.Errorf("ended with %s", p.Exit())
	}
}

func TestThreadEndsPrograms(t *testing.T) {
	s := newStarter(t)
	p := start(t, s, process.Spec{Program: shell(`sleep 1000 & echo $!; while :; do sleep 1000; done`)})
	readLine(t, p.Stdout())
	s.Close()
	<-p.Done()
	if p.Exit() != "signal: killed" {
		t.Errorf("ended with %s", p.Exit())
	}
	if _, err := s.Start(process.Spec{Program: shell("true")}); err == nil {
		t.Error("a closed starter starts programs")
	}
}

func TestSweep(t *testing.T) {
	s := newStarter(t)
	script := `(setsid sh -c 'echo $$; exec sleep 1000' &) ; sleep 0.1; exit 0`
	left := start(t, s, process.Spec{Program: shell(script), Marker: "old/1"})
	other := start(t, s, process.Spec{Program: shell("sleep 1000"), Marker: "new/1"})
	var pid int
	if _, err := fmt.Sscan(readLine(t, left.Stdout()), &pid); err != nil {
		t.Fatal(err)
	}
	<-left.Done()
	if n := process.Sweep(func(marker string) bool { return strings.HasPrefix(marker, "old/") }); n != 1 {
		t.Errorf("%d processes swept", n)
	}
	s.Reap()
	wantNothingLeft(t, []int{pid})
	if err := syscall.Kill(other.PID(), 0); err != nil {
		t.Errorf("a process of another runner: %v", err)
	}
}

func TestLimits(t *testing.T) {
	p := start(t, newStarter(t), process.Spec{Program: shell(`ulimit -n; ulimit -c; ulimit -d; nice; cat /proc/self/oom_score_adj; grep NoNewPrivs /proc/self/status`), Memory: 512, Files: 200})
	out, err := io.ReadAll(p.Stdout())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"200", "0", "524288"}
	got := strings.Fields(string(out))
	if len(got) < 5 || !slices.Equal(got[:3], want) || got[4] != "500" || got[len(got)-1] != "1" {
		t.Errorf("limits:\n%s", out)
	}
}

func TestSandbox(t *testing.T) {
	allowed, forbidden := t.TempDir(), t.TempDir()
	program := shell(fmt.Sprintf(`echo x >%[1]s/a && echo wrote; echo x 2>/dev/null >%[2]s/a || echo refused; mkdir %[1]s/b && echo made; mkdir %[2]s/b 2>/dev/null || echo refused; cat /etc/hostname >/dev/null && echo read; echo x >/dev/null && echo null`, allowed, forbidden))
	program.Writable = []string{allowed}
	p := start(t, newStarter(t), process.Spec{Program: program})
	out, err := io.ReadAll(p.Stdout())
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Fields(string(out)); !slices.Equal(got, []string{"wrote", "refused", "made", "refused", "read", "null"}) {
		message, _ := io.ReadAll(p.Stderr())
		t.Errorf("got %v\n%s", got, message)
	}
}

func TestSandboxOfMissingDirectory(t *testing.T) {
	program := shell("true")
	program.Writable = []string{filepath.Join(t.TempDir(), "missing")}
	p := start(t, newStarter(t), process.Spec{Program: program})
	if got := readLine(t, p.Stderr()); !strings.Contains(got, "sandbox.write") {
		t.Errorf("message %q", got)
	}
	<-p.Done()
	if !p.Failed() {
		t.Error("the program ran")
	}
}

func TestMemory(t *testing.T) {
	p := start(t, newStarter(t), process.Spec{Program: shell(`sleep 1000 & echo ready; wait`)})
	readLine(t, p.Stdout())
	if n := len(p.Tree()); n != 2 {
		t.Errorf("%d processes", n)
	}
	if m := p.Memory(); m < 100<<10 || m > 100<<20 {
		t.Errorf("%d bytes", m)
	}
}

func TestMemories(t *testing.T) {
	s := newStarter(t)
	// The child leaves the process group of its program.
	large := start(t, s, process.Spec{Program: shell(`setsid sh -c 'x=$(head -c 30000000 /dev/zero | tr "\0" x); echo grown; sleep 1000; true' & wait`), Marker: t.Name() + ".large"})
	small := start(t, s, process.Spec{Program: shell(`echo ready; cat`), Marker: t.Name() + ".small"})
	ended := start(t, s, process.Spec{Program: shell(`exit 0`), Marker: t.Name() + ".ended"})
	readLine(t, large.Stdout())
	readLine(t, small.Stdout())
	<-ended.Done()
	got := process.Memories([]*process.Process{large, ended, small})
	if got[0] < 30_000_000 || got[1] != 0 || got[2] <= 0 || got[2] > 20_000_000 {
		t.Errorf("memories %v", got)
	}
}

package stage_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"mcpgateway/cmd/internal/stage"
)

const patience = 30 * time.Second

// shell returns a program that runs a script.
func shell(t *testing.T, script string) stage.Program {
	t.Helper()
	folder := t.TempDir()
	return stage.Program{
		Name: "the script", Path: "sh", Args: []string{"-c", script}, Dir: folder, Env: stage.BareEnvironment(folder),
		Ready: func(line string) (string, bool) { return strings.CutPrefix(line, "READY ") },
	}
}

// start starts a script and stops it at the end of the test.
func start(t *testing.T, script string) *stage.Process {
	t.Helper()
	p, err := stage.Start(t.Context(), shell(t, script))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return p
}

func TestAwaitReadyLineAndStop(t *testing.T) {
	for name, script := range map[string]string{
		"standard output": "echo first; echo READY here; exec sleep 60",
		"standard error":  "echo READY here >&2; exec sleep 60",
		"several writes":  "printf 'a\\nREA'; printf 'DY he'; printf 're\\nb'; exec sleep 60",
		"first of two":    "echo READY here; echo READY there; exec sleep 60",
		"after long line": "head -c 300000 /dev/zero | tr '\\0' x; echo; echo READY here; exec sleep 60",
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, script)
			if got, err := p.Await(t.Context(), patience); err != nil || got != "here" {
				t.Errorf("Await() = %q, %v, want \"here\"", got, err)
			}
			p.Stop()
			select {
			case <-p.Ended():
			default:
				t.Error("Stop returned before the process exited")
			}
		})
	}
}

func TestAwaitErrors(t *testing.T) {
	p := start(t, "echo no port is free; exit 3")
	_, err := p.Await(t.Context(), patience)
	if err == nil || !strings.Contains(err.Error(), "no port is free") || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("Await of an exited process = %v, want its output and status", err)
	}
	p = start(t, "echo READY; echo not READY here; exec sleep 60")
	if _, err := p.Await(t.Context(), 50*time.Millisecond); err == nil || !strings.Contains(err.Error(), "not ready within") {
		t.Errorf("Await without a ready line = %v, want a timeout", err)
	}
	program := shell(t, "")
	program.Path = "/no/such/program"
	if _, err := stage.Start(t.Context(), program); err == nil || !strings.Contains(err.Error(), "the script") {
		t.Errorf("Start of a missing program = %v, want an error with its name", err)
	}
}

func TestOutputEndIsRetained(t *testing.T) {
	p := start(t, "head -c 300000 /dev/zero | tr '\\0' x; printf end")
	<-p.Ended()
	if got := p.Output(); len(got) != 256<<10 || !strings.HasSuffix(got, "xend") {
		t.Errorf("Output() has %d bytes and ends in %q, want 256 KiB ending in \"xend\"", len(got), got[max(0, len(got)-8):])
	}
}

func TestProcessEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p, err := stage.Start(ctx, shell(t, "exec sleep 60"))
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	select {
	case <-p.Ended():
	case <-time.After(patience):
		t.Error("process still runs after cancellation")
		p.Stop()
	}
}

func TestRun(t *testing.T) {
	done, err := stage.Run(t.Context(), shell(t, "echo out; echo err >&2; exit 4"), patience)
	if want := (stage.Outcome{Stdout: "out\n", Stderr: "err\n", Status: 4}); err != nil || done != want {
		t.Errorf("Run() = %+v, %v, want %+v", done, err, want)
	}
	if _, err := stage.Run(t.Context(), shell(t, "exec sleep 60"), 50*time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Run of a slow program = %v, want DeadlineExceeded", err)
	}
	if out, err := stage.Must(t.Context(), shell(t, "echo out"), patience); err != nil || out != "out\n" {
		t.Errorf("Must() = %q, %v, want \"out\\n\"", out, err)
	}
	if _, err := stage.Must(t.Context(), shell(t, "echo because >&2; exit 1"), patience); err == nil || !strings.Contains(err.Error(), "because") {
		t.Errorf("Must of a failed program = %v, want its output", err)
	}
}

func TestEventually(t *testing.T) {
	notYet := errors.New("not yet")
	attempts := 0
	err := stage.Eventually(t.Context(), patience, "the third attempt", func(context.Context) error {
		if attempts++; attempts < 3 {
			return notYet
		}
		return nil
	})
	if err != nil || attempts != 3 {
		t.Errorf("Eventually() = %v after %d attempts, want nil after 3", err, attempts)
	}
	never := func(context.Context) error { return notYet }
	if err := stage.Eventually(t.Context(), 50*time.Millisecond, "never", never); !errors.Is(err, notYet) {
		t.Errorf("Eventually with failing attempts = %v, want the last error", err)
	}
	p := start(t, "echo it broke; exit 1")
	<-p.Ended()
	if err := stage.Eventually(t.Context(), patience, "never", never, p); err == nil || !strings.Contains(err.Error(), "it broke") {
		t.Errorf("Eventually after a process exited = %v, want its output", err)
	}
}

func TestStderrFile(t *testing.T) {
	p := shell(t, "echo kept; echo $$ >&2")
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	p.Stderr = log
	started, err := stage.Start(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	<-started.Ended()
	written, err := os.ReadFile(log.Name())
	if err != nil || strings.TrimSpace(string(written)) != strconv.Itoa(started.PID()) || started.Output() != "kept\n" {
		t.Errorf("stderr file = %q, %v, want PID %d; Output() = %q, want \"kept\\n\"", written, err, started.PID(), started.Output())
	}
}

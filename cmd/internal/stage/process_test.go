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

const patience = 20 * time.Second

// shell returns a program that runs a script.
func shell(t *testing.T, script string) stage.Program {
	t.Helper()
	folder := t.TempDir()
	return stage.Program{
		Name: "the script", Path: "sh", Args: []string{"-c", script}, Dir: folder, Env: stage.BareEnvironment(folder),
		Ready: func(line string) (string, bool) { return strings.CutPrefix(line, "READY ") },
	}
}

// start starts a script that the test ends.
func start(t *testing.T, script string) *stage.Process {
	t.Helper()
	p, err := stage.Start(t.Context(), shell(t, script))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return p
}

func TestTheReadyLineIsFoundAndTheProcessEnds(t *testing.T) {
	for name, script := range map[string]string{
		"on standard output": "echo first; echo READY here; exec sleep 60",
		"on standard error":  "echo READY here >&2; exec sleep 60",
		"in pieces":          "printf 'a\\nREA'; printf 'DY he'; printf 're\\nb'; exec sleep 60",
		"the first of two":   "echo READY here; echo READY there; exec sleep 60",
		"after much":         "head -c 300000 /dev/zero | tr '\\0' x; echo; echo READY here; exec sleep 60",
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, script)
			if said, err := p.Await(t.Context(), patience); err != nil || said != "here" {
				t.Errorf("got %q, %v", said, err)
			}
			p.Stop()
			select {
			case <-p.Ended():
			default:
				t.Error("Stop returned before the process had ended")
			}
		})
	}
}

func TestAProcessThatIsNotReadyTellsWhy(t *testing.T) {
	p := start(t, "echo no port is free; exit 3")
	_, err := p.Await(t.Context(), patience)
	if err == nil || !strings.Contains(err.Error(), "no port is free") || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("a process that ended gave %v", err)
	}
	p = start(t, "echo READY; echo not READY here; exec sleep 60")
	if _, err := p.Await(t.Context(), 50*time.Millisecond); err == nil || !strings.Contains(err.Error(), "not ready within") {
		t.Errorf("a process without a ready line gave %v", err)
	}
	program := shell(t, "")
	program.Path = "/no/such/program"
	if _, err := stage.Start(t.Context(), program); err == nil || !strings.Contains(err.Error(), "the script") {
		t.Errorf("a program that does not exist gave %v", err)
	}
}

func TestTheEndOfTheOutputIsKept(t *testing.T) {
	p := start(t, "head -c 300000 /dev/zero | tr '\\0' x; printf end")
	<-p.Ended()
	if got := p.Output(); len(got) != 256<<10 || !strings.HasSuffix(got, "xend") {
		t.Errorf("%d bytes are kept, ending in %q", len(got), got[max(0, len(got)-8):])
	}
}

func TestAProcessEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p, err := stage.Start(ctx, shell(t, "exec sleep 60"))
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	select {
	case <-p.Ended():
	case <-time.After(patience):
		t.Error("it still runs")
		p.Stop()
	}
}

func TestAProgramRunsToItsEnd(t *testing.T) {
	done, err := stage.Run(t.Context(), shell(t, "echo out; echo err >&2; exit 4"), patience)
	if want := (stage.Outcome{Stdout: "out\n", Stderr: "err\n", Status: 4}); err != nil || done != want {
		t.Errorf("got %+v, %v, want %+v", done, err, want)
	}
	if _, err := stage.Run(t.Context(), shell(t, "exec sleep 60"), 50*time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a program that takes too long gave %v", err)
	}
	if out, err := stage.Must(t.Context(), shell(t, "echo out"), patience); err != nil || out != "out\n" {
		t.Errorf("got %q, %v", out, err)
	}
	if _, err := stage.Must(t.Context(), shell(t, "echo because >&2; exit 1"), patience); err == nil || !strings.Contains(err.Error(), "because") {
		t.Errorf("a program that failed gave %v", err)
	}
}

func TestEventuallyRepeatsUntilItWorks(t *testing.T) {
	notYet := errors.New("not yet")
	attempts := 0
	err := stage.Eventually(t.Context(), patience, "the third attempt", func(context.Context) error {
		if attempts++; attempts < 3 {
			return notYet
		}
		return nil
	})
	if err != nil || attempts != 3 {
		t.Errorf("%d attempts, %v", attempts, err)
	}
	never := func(context.Context) error { return notYet }
	if err := stage.Eventually(t.Context(), 50*time.Millisecond, "never", never); !errors.Is(err, notYet) {
		t.Errorf("an attempt that never works gave %v", err)
	}
	p := start(t, "echo it broke; exit 1")
	<-p.Ended()
	if err := stage.Eventually(t.Context(), patience, "never", never, p); err == nil || !strings.Contains(err.Error(), "it broke") {
		t.Errorf("a process that has ended gave %v", err)
	}
}

func TestStandardErrorCanGoToAFile(t *testing.T) {
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
		t.Errorf("the file holds %q (%v), the output is %q, and the process was %d", written, err, started.Output(), started.PID())
	}
}

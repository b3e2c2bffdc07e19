package codemode_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpgateway/services/codemode"
	"mcpgateway/services/sandbox"
	"mcpgateway/services/sandbox/sandboxtest"
)

// snippet is a file of testdata/hostile. Its first line lists the phases in
// which it may end, or ok.
type snippet struct {
	name, code string
	ends       []string
}

func hostile(t *testing.T) []snippet {
	t.Helper()
	files, err := filepath.Glob("testdata/hostile/*.js")
	if err != nil {
		t.Fatal(err)
	}
	var all []snippet
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		header, code, _ := strings.Cut(string(raw), "\n")
		ends, found := strings.CutPrefix(header, "// ends: ")
		if !found {
			t.Fatalf("%s does not say how it ends", file)
		}
		all = append(all, snippet{filepath.Base(file), code, strings.Fields(ends)})
	}
	if len(all) < 40 {
		t.Fatalf("found only %d snippets", len(all))
	}
	return all
}

// children returns the running child processes of this process.
func children(t *testing.T) []string {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range stats {
		raw, err := os.ReadFile(file)
		if err != nil {
			continue // it has exited since
		}
		_, rest, _ := strings.Cut(string(raw), ") ")
		if fields := strings.Fields(rest); len(fields) > 1 && fields[1] == strconv.Itoa(os.Getpid()) {
			found = append(found, filepath.Base(filepath.Dir(file))+" "+fields[0])
		}
	}
	return found
}

// TestSandbox runs hostile code. Each snippet must end in time and in an
// expected phase, on its own or by a limit. Concurrent runs must keep their
// latency and this process its memory. Afterwards no child may be left.
func TestSandbox(t *testing.T) {
	timeout, slack := 500*time.Millisecond, 500*time.Millisecond
	if sandboxtest.Race {
		slack = 2 * time.Second // the race detector slows down this side of the runs
	}
	r := newRunner(codemode.Options{})
	closed := false
	defer func() {
		if !closed {
			r.Close()
		}
	}()
	run(t, r, request("1"), newTools()) // the first run starts the pool
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)

	ctx, stop := context.WithCancel(t.Context())
	var probes, slow int
	var slowest time.Duration
	var probing sync.WaitGroup
	probing.Go(func() {
		for ctx.Err() == nil {
			q := request("return 1 + 1")
			q.ProjectID = "probe"
			begin := time.Now()
			out, err := r.Run(ctx, q, newTools())
			if took := time.Since(begin); ctx.Err() == nil {
				if err != nil || string(out.Result) != "2" {
					t.Errorf("a run concurrent with hostile ones failed: %+v (%v)", out.Error, err)
				}
				probes++
				if took > timeout+slack {
					slow++
				}
				slowest = max(slowest, took)
			}
		}
	})
	for _, s := range hostile(t) {
		t.Run(s.name, func(t *testing.T) {
			q, timeout := request(s.code), timeout
			if !slices.Contains(s.ends, "timeout") {
				timeout = codemode.DefaultTimeout // it ends on its own, even on a busy machine
			}
			q.Timeout = timeout
			var out codemode.Outcome
			var took time.Duration
			for tries := 0; tries == 0 || took > timeout+slack && tries < 3; tries++ { // repeated because other load on the machine can delay one
				begin := time.Now()
				var err error
				if out, err = r.Run(t.Context(), q, newTools()); err != nil {
					t.Fatal(err)
				}
				took = time.Since(begin)
			}
			if took > timeout+slack {
				t.Errorf("run ended after %s, want within %s", took, timeout+slack)
			}
			phase := "ok"
			if out.Error != nil {
				phase = string(out.Error.Phase)
			}
			if !slices.Contains(s.ends, phase) {
				t.Errorf("phase %s, want one of %q: %+v, result %.200s", phase, s.ends, out.Error, out.Result)
			}
			checkBounds(t, out)
		})
	}
	stop()
	probing.Wait()
	// Other load on the machine may delay one run in a hundred.
	if slow > probes/100 {
		t.Errorf("%d of %d runs concurrent with hostile ones were slow, the slowest took %s", slow, probes, slowest)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 32<<20 {
		t.Errorf("this process uses %d bytes more than before", grown)
	}
	r.Close()
	closed = true
	if runtime.GOOS == "linux" {
		if left := children(t); len(left) > 0 {
			t.Errorf("children left: %q", left)
		}
	}
}

func checkBounds(t *testing.T, out codemode.Outcome) {
	t.Helper()
	if !json.Valid(out.Result) || len(out.Result) > sandbox.MaxResult {
		t.Errorf("result has %d bytes, valid %v", len(out.Result), json.Valid(out.Result))
	}
	logged := 0
	for _, l := range out.Logs {
		logged += len(l.Text)
	}
	if len(out.Logs) > sandbox.MaxLogLines || logged > sandbox.MaxLogBytes+8 {
		t.Errorf("%d log lines with %d bytes", len(out.Logs), logged)
	}
	if len(out.Calls) > sandbox.MaxCalls {
		t.Errorf("%d calls", len(out.Calls))
	}
}

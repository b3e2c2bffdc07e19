package codemode_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/services/codemode"
	"mcpgateway/services/fault"
	"mcpgateway/services/sandbox"
)

func TestRequestLimits(t *testing.T) {
	pad := func(n int) string { return "//" + strings.Repeat("x", n-2) }
	quoted := func(n int) json.RawMessage { return json.RawMessage(`"` + strings.Repeat("x", n-2) + `"`) }
	cases := []struct {
		name   string
		change func(*codemode.Request)
		ok     bool
	}{
		{"code below the limit", func(q *codemode.Request) { q.Code = pad(sandbox.MaxCode - 1) }, true},
		{"code at the limit", func(q *codemode.Request) { q.Code = pad(sandbox.MaxCode) }, true},
		{"code above the limit", func(q *codemode.Request) { q.Code = pad(sandbox.MaxCode + 1) }, false},
		{"empty code", func(q *codemode.Request) { q.Code = " \n" }, false},
		{"input below the limit", func(q *codemode.Request) { q.Input = quoted(codemode.MaxInput - 1) }, true},
		{"input at the limit", func(q *codemode.Request) { q.Input = quoted(codemode.MaxInput) }, true},
		{"input above the limit", func(q *codemode.Request) { q.Input = quoted(codemode.MaxInput + 1) }, false},
		{"input not JSON", func(q *codemode.Request) { q.Input = json.RawMessage(`{"a":`) }, false},
		{"timeout below the limit", func(q *codemode.Request) { q.ProjectLimit, q.Timeout = 9*time.Second, 9*time.Second-1 }, true},
		{"timeout at the limit", func(q *codemode.Request) { q.ProjectLimit, q.Timeout = 9*time.Second, 9*time.Second }, true},
		{"timeout above the limit", func(q *codemode.Request) { q.ProjectLimit, q.Timeout = 9*time.Second, 9*time.Second+1 }, false},
		{"negative timeout", func(q *codemode.Request) { q.Timeout = -1 }, false},
		{"unknown type check", func(q *codemode.Request) { q.Typecheck = "maybe" }, false},
	}
	r := runner(t, codemode.Options{})
	for _, c := range cases {
		q := request("1")
		c.change(&q)
		_, err := r.Run(t.Context(), q, newTools())
		if c.ok && err != nil || !c.ok && !fault.Is(err, fault.CodeInvalidParameter) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestCallAndLogLimits(t *testing.T) {
	cases := []struct {
		name, code string
		want       string // result, or the phase of the error
	}{
		{"calls below the limit", fmt.Sprintf("for (let i = 0; i < %d; i++) await text.plain(); return 'ok'", sandbox.MaxCalls-1), `"ok"`},
		{"calls at the limit", fmt.Sprintf("for (let i = 0; i < %d; i++) await text.plain(); return 'ok'", sandbox.MaxCalls), `"ok"`},
		{"calls above the limit", fmt.Sprintf("for (let i = 0; i < %d; i++) await text.plain(); return 'ok'", sandbox.MaxCalls+1), "limit"},
		{"tool result below the limit", fmt.Sprintf("return (await text.big({n: %d})).length", codemode.MaxToolResult-1), fmt.Sprint(codemode.MaxToolResult - 1)},
		{"tool result at the limit", fmt.Sprintf("return (await text.big({n: %d})).length", codemode.MaxToolResult), fmt.Sprint(codemode.MaxToolResult)},
		{"tool result above the limit", fmt.Sprintf("return (await text.big({n: %d})).length", codemode.MaxToolResult+1), "limit"},
		{"arguments at the limit", fmt.Sprintf("return await text.plain({s: 'x'.repeat(%d)})", sandbox.MaxArguments-8), `"just words"`},
		{"arguments above the limit", fmt.Sprintf("return await text.plain({s: 'x'.repeat(%d)})", sandbox.MaxArguments-7), "limit"},
	}
	r := runner(t, codemode.Options{})
	for _, c := range cases {
		out := run(t, r, request(c.code), newTools())
		got := string(out.Result)
		if out.Error != nil {
			got = string(out.Error.Phase)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s (%+v)", c.name, got, c.want, out.Error)
		}
	}
	for lines, lost := range map[int]int{sandbox.MaxLogLines - 1: 0, sandbox.MaxLogLines: 0, sandbox.MaxLogLines + 1: 1, sandbox.MaxLogLines + 7: 7} {
		out := run(t, r, request(fmt.Sprintf("for (let i = 0; i < %d; i++) console.log(i)", lines)), newTools())
		got := 0
		if out.Truncated != nil {
			got = out.Truncated.Logs
		}
		if len(out.Logs) != min(lines, sandbox.MaxLogLines) || got != lost {
			t.Errorf("%d log lines: %d in the outcome, %d dropped, want %d dropped", lines, len(out.Logs), got, lost)
		}
	}
	for size, cut := range map[int]bool{sandbox.MaxResult - 1: false, sandbox.MaxResult: false, sandbox.MaxResult + 1: true} {
		out := run(t, r, request(fmt.Sprintf("return 'x'.repeat(%d)", size-2)), newTools())
		if !out.OK || (out.Truncated != nil) != cut || cut && out.Truncated.Result != size || !json.Valid(out.Result) || len(out.Result) > sandbox.MaxResult {
			t.Errorf("result of %d bytes: truncated %+v, %d bytes left", size, out.Truncated, len(out.Result))
		}
	}
}

// gated counts concurrent calls and releases them together.
type gated struct {
	mu            sync.Mutex
	running, most int
	order         []string
	full          chan struct{}
	open          chan struct{}
}

func (g *gated) Call(ctx context.Context, _ string, arguments []byte) ([]byte, error) {
	g.mu.Lock()
	g.running++
	g.order = append(g.order, string(arguments))
	if g.most = max(g.most, g.running); g.running == codemode.MaxParallelCalls {
		select {
		case <-g.full:
		default:
			close(g.full)
		}
	}
	g.mu.Unlock()
	select {
	case <-g.open:
	case <-ctx.Done():
	}
	g.mu.Lock()
	g.running--
	g.mu.Unlock()
	return []byte(`{"content":[]}`), nil
}

func TestParallelCallLimit(t *testing.T) {
	r := runner(t, codemode.Options{})
	g := &gated{full: make(chan struct{}), open: make(chan struct{})}
	done := make(chan codemode.Outcome, 1)
	go func() {
		out, err := r.Run(t.Context(), request("await Promise.all(Array.from({length: 90}, (_, i) => text.plain({i})))"), g)
		if err != nil {
			t.Error(err)
		}
		done <- out
	}()
	<-g.full
	close(g.open)
	out := <-done
	if !out.OK || g.most != codemode.MaxParallelCalls || len(out.Calls) != 90 {
		t.Errorf("%d concurrent calls, %d in all (%+v)", g.most, len(out.Calls), out.Error)
	}
	first := map[string]bool{}
	for _, a := range g.order[:codemode.MaxParallelCalls] {
		first[a] = true
	}
	for i := range codemode.MaxParallelCalls {
		if !first[fmt.Sprintf(`{"i":%d}`, i)] {
			t.Errorf("call %d was not among the first: %q", i, g.order)
		}
	}
}

func TestTimeoutKeepsCallRecords(t *testing.T) {
	t.Parallel() // mostly waits
	r := runner(t, codemode.Options{})
	run(t, r, request("1"), newTools())
	q := request("await text.write({a: 1}); console.log('before'); slow.write({}); await slow.hang({})")
	q.Timeout = 3 * time.Second // enough for the earlier calls, even on a busy machine
	d := newTools()
	out := run(t, r, q, d)
	if out.Error == nil || out.Error.Phase != sandbox.PhaseTimeout || out.Error.StartedCalls != 3 {
		t.Fatalf("error %+v", out.Error)
	}
	var got []string
	for _, c := range out.Calls {
		got = append(got, fmt.Sprintf("%d %s %v %.12s", c.Seq, c.Tool, c.OK, c.Error))
	}
	want := []string{"1 text__write true ", "2 slow__write false The run ende", "3 slow__hang false The run ende"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if !strings.Contains(out.Error.Hint, "1 text__write, 2 slow__write") || strings.Contains(out.Error.Hint, "hang") {
		t.Errorf("hint %q", out.Error.Hint)
	}
	if len(out.Logs) != 1 || out.Logs[0].Text != "before" {
		t.Errorf("logs %+v", out.Logs)
	}
}

func TestCancelEndsRun(t *testing.T) {
	r := runner(t, codemode.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	d := newTools()
	go func() {
		<-d.hang
		cancel()
	}()
	begin := time.Now()
	out, err := r.Run(ctx, request("await slow.hang({})"), d)
	if err != nil || out.Error == nil || out.Error.Phase != sandbox.PhaseCancelled || len(out.Calls) != 1 || out.Calls[0].OK {
		t.Errorf("%+v, calls %+v (%v)", out.Error, out.Calls, err)
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("cancel took %s", took)
	}
	out, err = r.Run(ctx, request("1"), d)
	if err != nil || out.Error == nil || out.Error.Phase != sandbox.PhaseCancelled {
		t.Errorf("Run() with an ended context: %+v (%v)", out.Error, err)
	}
}

func TestDryRunSendsOnlyReads(t *testing.T) {
	r := runner(t, codemode.Options{})
	d := newTools()
	q := request(`const a = await text.plain(); const b = await text.write({a}); const c = await gateway.call("text__delete", {id: 9007199254740991}); return [a, b, c.dryRun]`)
	q.DryRun = true
	out := run(t, r, q, d)
	if want := `["just words",{"arguments":{"a":"just words"},"dryRun":true,"tool":"text__write"},true]`; string(out.Result) != want {
		t.Errorf("result %s, want %s (%+v)", out.Result, want, out.Error)
	}
	want := []codemode.PlannedCall{{Seq: 2, Tool: "text__write", Arguments: json.RawMessage(`{"a":"just words"}`)}, {Seq: 3, Tool: "text__delete", Arguments: json.RawMessage(`{"id":9007199254740991}`)}}
	if diff := cmp.Diff(want, out.Plan); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"text__plain {}"}, d.made()); diff != "" {
		t.Errorf("calls sent (-want +got):\n%s", diff)
	}
	if len(out.Calls) != 3 || out.Calls[0].DryRun || !out.Calls[1].DryRun || !out.Calls[2].DryRun {
		t.Errorf("call records %+v", out.Calls)
	}
}

func TestRunWaitsForWritesOnly(t *testing.T) {
	r := runner(t, codemode.Options{})
	g := &gated{full: make(chan struct{}), open: make(chan struct{})}
	begun := make(chan struct{}, 2)
	q := request("text.write({}); slow.hang({}); return 1")
	q.Progress = func(codemode.Progress) { begun <- struct{}{} }
	done := make(chan codemode.Outcome, 1)
	go func() {
		out, err := r.Run(t.Context(), q, g)
		if err != nil {
			t.Error(err)
		}
		done <- out
	}()
	<-begun // the read was cancelled and has ended
	select {
	case <-done:
		t.Fatal("the run ended before its write")
	default:
	}
	close(g.open)
	out := <-done
	if !out.OK || string(out.Result) != "1" || !out.Calls[0].OK {
		t.Errorf("result %s, calls %+v, error %+v", out.Result, out.Calls, out.Error)
	}
}

func TestProgressReports(t *testing.T) {
	r := runner(t, codemode.Options{})
	q := request("console.info('starting'); console.log('quiet'); await text.plain(); try { await text.fails() } catch {}")
	var reports []string
	q.Progress = func(p codemode.Progress) {
		message, _, _ := strings.Cut(p.Message, ",")
		reports = append(reports, fmt.Sprintf("%s %d/%d", message, p.Done, p.Started))
	}
	run(t, r, q, newTools())
	want := []string{"starting 0/0", "text__plain done (1/1 1/1", "text__fails failed (2/2 2/2"}
	if diff := cmp.Diff(want, reports); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRunsPerProjectLimit(t *testing.T) {
	t.Parallel() // mostly waits
	r := runner(t, codemode.Options{})
	var begun atomic.Int64
	entered, release := make(chan struct{}, 16), make(chan struct{})
	d := dispatch(func(ctx context.Context, _ string, _ []byte) ([]byte, error) {
		begun.Add(1)
		entered <- struct{}{}
		select {
		case <-release:
		case <-ctx.Done():
		}
		return []byte(`{"content":[]}`), nil
	})
	var all sync.WaitGroup
	start := func() {
		all.Go(func() {
			out, err := r.Run(t.Context(), request("await text.plain()"), d)
			if err != nil || !out.OK {
				t.Errorf("%+v (%v)", out.Error, err)
			}
		})
	}
	for range codemode.MaxRunsPerProject {
		start()
	}
	for range min(codemode.MaxRunsPerProject, 4) {
		<-entered
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	out, err := r.Run(ctx, request("await text.plain()"), d)
	if err != nil || out.Error == nil || out.Error.Phase != sandbox.PhaseCancelled || begun.Load() != codemode.MaxRunsPerProject {
		t.Errorf("fifth concurrent run: %+v (%v), want it to wait", out.Error, err)
	}
	out, err = r.Run(t.Context(), request("await text.plain()"), d)
	if err != nil || out.Error == nil || out.Error.Phase != sandbox.PhaseLimit || out.Error.RetryAfterMS <= 0 {
		t.Errorf("run after the queue timeout: %+v (%v)", out.Error, err)
	}
	start()
	close(release)
	all.Wait()
}

// dispatch is a function that implements Dispatcher.
type dispatch func(ctx context.Context, name string, arguments []byte) ([]byte, error)

func (f dispatch) Call(ctx context.Context, name string, arguments []byte) ([]byte, error) {
	return f(ctx, name, arguments)
}

type refuseWrite struct{}

func (refuseWrite) Check(definition, _ []byte) error {
	if string(definition) != `{"name":"write"}` {
		return nil
	}
	return errors.New(`{"message":"unknown 'repoName', did you mean 'repo'?"}`)
}

func TestArgumentsAreValidatedBeforeCall(t *testing.T) {
	r := runner(t, codemode.Options{Validate: refuseWrite{}})
	d := newTools()
	out := run(t, r, request("await text.plain(); await text.write({repoName: 1})"), d)
	if out.Error == nil || !strings.Contains(out.Error.Message, "did you mean") || len(d.made()) != 1 {
		t.Errorf("error %+v, calls %q", out.Error, d.made())
	}
}

func TestCloseEndsRuns(t *testing.T) {
	r := newRunner(codemode.Options{})
	d := newTools()
	done := make(chan codemode.Outcome, 1)
	go func() {
		out, err := r.Run(t.Context(), request("await slow.hang({})"), d)
		if err != nil {
			t.Error(err)
		}
		done <- out
	}()
	<-d.hang
	r.Close()
	if out := <-done; out.OK {
		t.Error("Run() outlived Close()")
	}
	if out, err := r.Run(t.Context(), request("1"), d); err == nil && out.OK {
		t.Error("Run() succeeded after Close()")
	}
	r.Close()
}

func TestInvalidWorkerCommand(t *testing.T) {
	r := runner(t, codemode.Options{Command: []string{"/bin/echo", "no worker"}})
	if _, err := r.Run(t.Context(), request("1"), newTools()); !fault.Is(err, fault.CodeInternal) {
		t.Errorf("%v", err)
	}
}

func TestEffectOf(t *testing.T) {
	cases := map[string]codemode.Effect{
		`{"annotations":{"readOnlyHint":true}}`:                        codemode.EffectRead,
		`{"annotations":{"readOnlyHint":true,"destructiveHint":true}}`: codemode.EffectRead,
		`{"annotations":{"readOnlyHint":false}}`:                       codemode.EffectWrite,
		`{"annotations":{"destructiveHint":false}}`:                    codemode.EffectWrite,
		`{"annotations":{"title":"x"}}`:                                codemode.EffectUnknown,
		`{}`:                                                           codemode.EffectUnknown,
		`not json`:                                                     codemode.EffectUnknown,
	}
	for definition, want := range cases {
		if got := codemode.EffectOf([]byte(definition)); got != want {
			t.Errorf("%s: %s, want %s", definition, got, want)
		}
	}
}

func TestQueuedArgumentsLimit(t *testing.T) {
	r := runner(t, codemode.Options{})
	const size = 1 << 19
	const fits = codemode.MaxQueuedArguments / size
	for calls, refused := range map[int]int{fits - 1: 0, fits: 0, fits + 1: 1} {
		open := make(chan struct{})
		d := dispatch(func(ctx context.Context, _ string, _ []byte) ([]byte, error) {
			select {
			case <-open:
			case <-ctx.Done():
			}
			return []byte(`{"content":[]}`), nil
		})
		// Two quotes, a name, a colon and braces add eight bytes.
		q := request(fmt.Sprintf("const s = 'x'.repeat(%d); const all = Array.from({length: %d}, (_, i) => text.plain(i < %d ? {} : {s})); console.info('all made'); return (await Promise.allSettled(all)).filter((a) => a.status === 'rejected').length", size-8, codemode.MaxParallelCalls+calls, codemode.MaxParallelCalls))
		q.Progress = func(p codemode.Progress) {
			if p.Message == "all made" {
				close(open)
			}
		}
		if out := run(t, r, q, d); string(out.Result) != fmt.Sprint(refused) {
			t.Errorf("%d calls: %s rejected, want %d (%+v)", calls, out.Result, refused, out.Error)
		}
	}
}

func TestHeldResultsLimit(t *testing.T) {
	const most = codemode.MaxHeldResults
	for _, c := range []struct {
		sizes []int
		want  []bool
	}{
		{[]int{most - 1}, []bool{true}},
		{[]int{most - 1, 1}, []bool{true, true}},
		{[]int{most - 1, 2, 1}, []bool{true, false, true}},
	} {
		if got := codemode.HoldResults(c.sizes...); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.sizes, got, c.want)
		}
	}
}

func TestManyLargeResults(t *testing.T) {
	r := runner(t, codemode.Options{})
	const size = 1 << 20
	q := request(fmt.Sprintf("const all = await Promise.all(Array.from({length: %d}, () => text.big({n: %d}).then((s) => s.length))); return all.reduce((a, b) => a + b)", 20, size))
	if out := run(t, r, q, newTools()); string(out.Result) != fmt.Sprint(20*size) {
		t.Errorf("%s of %d (%+v)", out.Result, 20*size, out.Error)
	}
}

//go:build local

package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	localAdminToken = "token-of-the-local-test"
	startOfSlow     = 90 * time.Second
	// goneLimit is the maximum time until no process of a killed tree is left.
	goneLimit = time.Second
	// memoryLimit is the maximum resident memory of the runner.
	memoryLimit = 256 << 20
)

// localWorld is a gateway with programs whose processes tests inspect.
type localWorld struct {
	*stage
	mock string // path of the program
	key  string
	ids  map[string]string // of servers, by alias
}

// newLocalWorld starts a gateway with programs. args maps aliases to the arguments
// of their programs; more has further keys of entries.
func newLocalWorld(t *testing.T, args map[string]string, more map[string]map[string]any) *localWorld {
	t.Helper()
	w := &localWorld{stage: &stage{root: moduleRoot(t), folder: t.TempDir()}, ids: map[string]string{}}
	w.binary = w.build(t, "gateway", "./cmd/gateway")
	w.mock = w.build(t, "mockmcp", "./cmd/mockmcp")
	entries := map[string]any{}
	for alias, line := range args {
		e := map[string]any{"command": w.mock, "args": append([]string{"-stdio", "-kind", "program"}, strings.Fields(line)...)}
		for name, value := range more[alias] {
			e[name] = value
		}
		entries[alias] = e
	}
	w.serveLocal(t, entries, "GATEWAY_ADMIN_TOKEN="+localAdminToken, "GATEWAY_LOG_LEVEL=warn")
	w.key = w.localKey(t)
	for _, record := range w.records(t) {
		w.ids[record.Alias] = record.ID
	}
	return w
}

// localRecord is the record of a local server.
type localRecord struct {
	ID, Alias string
	Runner    struct {
		State, Message string
		Restarts       int
	}
}

func (w *localWorld) api(ctx context.Context, method, path string) ([]byte, error) {
	status, _, body, err := send(ctx, method, w.base+path, localAdminToken, nil)
	if err == nil && status/100 != 2 {
		err = fmt.Errorf("%s %s: status %d: %s", method, path, status, body)
	}
	return body, err
}

// records returns the servers of the project.
func (w *localWorld) records(t *testing.T) []localRecord {
	t.Helper()
	body, err := w.api(t.Context(), http.MethodGet, "/api/projects/local/servers?limit=100")
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ Items []localRecord }
	if err := json.Unmarshal(body, &list); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

func (w *localWorld) record(t *testing.T, alias string) localRecord {
	t.Helper()
	for _, r := range w.records(t) {
		if r.Alias == alias {
			return r
		}
	}
	t.Fatalf("no server %s", alias)
	return localRecord{}
}

// call calls a tool and returns the response.
func (w *localWorld) call(ctx context.Context, tool, arguments string) (string, error) {
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `}}`
	status, _, answer, err := send(ctx, http.MethodPost, w.endpoint("local"), w.key, []byte(body))
	if err == nil && (status != http.StatusOK || bytes.Contains(answer[:min(len(answer), 200)], []byte(`"error"`))) {
		err = fmt.Errorf("%s: status %d: %.500s", tool, status, answer)
	}
	return string(answer), err
}

func (w *localWorld) echo(ctx context.Context, alias string) error {
	answer, err := w.call(ctx, alias+"__echo", `{"text":"still here"}`)
	if err == nil && !strings.Contains(answer, "still here") {
		err = fmt.Errorf("%s: %s", alias, answer)
	}
	return err
}

// forks are the children of the forking program, in all ways to leave it.
const forks = "plain,group,session,orphan,clean"

// TestLocalKills kills the processes between the gateway and a forking program.
func TestLocalKills(t *testing.T) {
	w := newLocalWorld(t, map[string]string{"forker": "-survive -fork " + forks}, map[string]map[string]any{"forker": {"start": "eager"}})
	all := 1 + strings.Count(forks, ",") + 1
	running := func() []int {
		t.Helper()
		eventually(t, readyLimit, "the program and its children run", func(ctx context.Context) error {
			if n := len(w.programs()); n != all {
				return fmt.Errorf("%d of %d processes", n, all)
			}
			return w.echo(ctx, "forker")
		}, w.gateway)
		return w.programs()
	}
	old := running()
	for _, who := range []string{"runner", "guard"} {
		guard, runner := w.guardAndRunner(t)
		if guard == 0 || runner == 0 {
			t.Fatalf("guard %d and runner %d", guard, runner)
		}
		began := time.Now()
		kill(t, map[string]int{"runner": runner, "guard": guard}[who])
		took := gone(t, "SIGKILL of the "+who, old)
		old = running()
		t.Logf("SIGKILL of the %s: %d of %d processes left after %v, next call after %v", who, len(alive(old))-len(old), all, took.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
	}
	guard, runner := w.guardAndRunner(t)
	w.kill(t)
	t.Logf("SIGKILL of serve: 0 of %d processes left after %v", all+2, gone(t, "SIGKILL of serve", append(old, guard, runner)).Round(time.Millisecond))
	w.runLocal(t)
	old = running()

	guard, runner = w.guardAndRunner(t)
	for _, pid := range []int{guard, runner} { // they must not notice the end of the others
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
	}
	kill(t, runner, guard)
	w.kill(t)
	gone(t, "SIGKILL of all", []int{guard, runner})
	left := alive(old)
	marked := slices.DeleteFunc(slices.Clone(left), func(pid int) bool { return !isMarked(pid) })
	unmarked := slices.DeleteFunc(slices.Clone(left), isMarked) // no next start finds them
	w.runLocal(t)
	took := gone(t, "the next start", marked)
	kill(t, alive(unmarked)...)
	running()
	if len(unmarked) > 1 {
		t.Errorf("%d processes have no marker, want at most the one with an empty environment", len(unmarked))
	}
	t.Logf("SIGKILL of all at once: %d of %d processes left; of the %d with a marker 0 at %v after the next start was ready", len(left), all, len(marked), took.Round(time.Millisecond))
}

// TestLocalStarts starts and stops a program 1,000 times.
func TestLocalStarts(t *testing.T) {
	const rounds, warm = 1_000, 20
	w := newLocalWorld(t, map[string]string{"quick": ""}, nil)
	eventually(t, readyLimit, "the tools are known", func(ctx context.Context) error { return w.echo(ctx, "quick") }, w.gateway)
	round := func() {
		t.Helper()
		if err := w.echo(t.Context(), "quick"); err != nil {
			t.Fatal(err)
		}
		if _, err := w.api(t.Context(), http.MethodPost, "/api/servers/"+w.ids["quick"]+"/stop"); err != nil {
			t.Fatal(err)
		}
	}
	count := func() (processes, open int) {
		t.Helper()
		guard, runner := w.guardAndRunner(t)
		serve := w.gateway.cmd.Process.Pid
		return len(below(t, serve)), descriptors(t, serve) + descriptors(t, guard) + descriptors(t, runner)
	}
	for range warm {
		round()
	}
	processes, open := count()
	began := time.Now()
	for range rounds {
		round()
	}
	took := time.Since(began)
	eventually(t, readyLimit, "no process and no descriptor more", func(context.Context) error {
		if p, d := count(); p > processes || d > open+4 { // connections of the API close later
			return fmt.Errorf("%d processes, before %d; %d descriptors, before %d", p, processes, d, open)
		}
		return nil
	}, w.gateway)
	p, d := count()
	t.Logf("%d starts and stops in %v, %v each: processes %d before, %d after; descriptors %d before, %d after",
		rounds, took.Round(time.Second), (took / rounds).Round(time.Millisecond), processes, p, open, d)
}

// TestLocalFloods measures the runner and a calm program while others misbehave.
func TestLocalFloods(t *testing.T) {
	w := newLocalWorld(t, map[string]string{
		"calm": "", "lines": "", "garbage": "-garbage 1000", "stdout": "-flood stdout", "stderr": "-flood stderr", "unread": "-unread 40",
	}, map[string]map[string]any{"stderr": {"start": "eager"}, "stdout": {"start": "eager"}, "unread": {"timeout": 5_000}})
	_, runner := w.guardAndRunner(t)
	ctx, stop := context.WithCancel(t.Context())
	most := int64(0)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for ctx.Err() == nil {
			most = max(most, memoryOf(runner))
			time.Sleep(10 * time.Millisecond)
		}
	}()
	for _, alias := range []string{"calm", "garbage", "unread"} {
		eventually(t, readyLimit, alias+" runs", func(ctx context.Context) error { return w.echo(ctx, alias) }, w.gateway)
	}
	eventually(t, readyLimit, "the flood of standard output ends its program", func(context.Context) error {
		if r := w.record(t, "stdout").Runner; r.Restarts == 0 && r.State != "backoff" && r.State != "failed" {
			return fmt.Errorf("%+v", r)
		}
		return nil
	}, w.gateway)
	w.checkLines(t)
	w.checkUnread(t)
	var times []time.Duration
	for range 300 {
		began := time.Now()
		if err := w.echo(t.Context(), "calm"); err != nil {
			t.Fatal(err)
		}
		times = append(times, time.Since(began))
	}
	stop()
	<-watched
	slices.Sort(times)
	t.Logf("runner: at most %d MiB; calls of another program: p50 %v, p99 %v", most>>20, times[150].Round(10*time.Microsecond), times[297].Round(10*time.Microsecond))
	if most > memoryLimit {
		t.Errorf("the runner had %d MiB", most>>20)
	}
	if _, again := w.guardAndRunner(t); again != runner {
		t.Errorf("the runner ended: it was %d and is %d", runner, again)
	}
}

// checkLines requests lines around the limit of 10 MiB.
func (w *localWorld) checkLines(t *testing.T) {
	t.Helper()
	const limit = 10 << 20
	for _, size := range []int{limit - 1, limit, limit + 1} {
		eventually(t, readyLimit, "the program of lines runs", func(ctx context.Context) error { return w.echo(ctx, "lines") }, w.gateway)
		answer, err := w.call(t.Context(), "lines__line", fmt.Sprintf(`{"bytes":%d}`, size))
		if (err == nil) != (size <= limit) {
			t.Errorf("line of %d bytes: %.300s, %v", size, answer, err)
		}
		t.Logf("line of 10 MiB %+d: %d bytes for the client, %v", size-limit, len(answer), err)
	}
}

// checkUnread fills the queue of a program that doesn't read its input.
func (w *localWorld) checkUnread(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	text := strings.Repeat("x", 512<<10)
	var group sync.WaitGroup
	var mu sync.Mutex
	refused := 0
	for range 60 {
		group.Go(func() {
			_, err := w.call(ctx, "unread__echo", `{"text":"`+text+`"}`)
			if err != nil && strings.Contains(err.Error(), "does not read its input") {
				mu.Lock()
				refused++
				mu.Unlock()
			}
		})
	}
	group.Wait()
	if refused == 0 {
		t.Error("no call of a program that does not read its input was refused")
	}
	t.Logf("program that does not read its input: %d of 60 calls of 512 KiB refused", refused)
}

// laterStart is the text of a start in progress, with what the program has printed.
var laterStart = regexp.MustCompile(`^Starting, [1-9]\d* s: mockmcp: starting`)

// TestLocalSlowStart calls a program that takes 90 seconds to start.
func TestLocalSlowStart(t *testing.T) {
	const calls = 20
	w := newLocalWorld(t, map[string]string{"slow": "-start " + startOfSlow.String()}, map[string]map[string]any{"slow": {"timeout": 150_000}})
	// The tools are unknown until the first start.
	eventually(t, 2*startOfSlow, "the tools are known", func(ctx context.Context) error {
		state := w.record(t, "slow").Runner
		if strings.HasPrefix(state.Message, "Starting") {
			return fmt.Errorf("%s", state.Message)
		}
		return w.echo(ctx, "slow")
	}, w.gateway)
	if _, err := w.api(t.Context(), http.MethodPost, "/api/servers/"+w.ids["slow"]+"/stop"); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	var group sync.WaitGroup
	progress := make([]int, calls)
	for i := range calls {
		group.Go(func() {
			n, err := w.streamedEcho(t.Context(), "slow")
			if err != nil {
				t.Errorf("call %d: %v", i, err)
			}
			progress[i] = n
		})
	}
	eventually(t, readyLimit, "the state is shown", func(context.Context) error {
		if r := w.record(t, "slow").Runner; r.State != "starting" || !laterStart.MatchString(r.Message) {
			return fmt.Errorf("%+v", r)
		}
		if n := len(w.programs()); n != 1 {
			return fmt.Errorf("%d processes", n)
		}
		return nil
	}, w.gateway)
	shown := w.record(t, "slow").Runner.Message
	group.Wait()
	if n := len(w.programs()); n != 1 {
		t.Errorf("%d processes for %d calls", n, calls)
	}
	if slices.Min(progress) == 0 {
		t.Errorf("progress of the calls: %v", progress)
	}
	t.Logf("start of %v: %d calls by 1 process after %v, %d to %d progress messages each; shown: %q",
		startOfSlow, calls, time.Since(began).Round(100*time.Millisecond), slices.Min(progress), slices.Max(progress), shown)
}

// streamedEcho calls echo over the SSE bridge and returns the number of progress
// messages about the start.
func (w *localWorld) streamedEcho(ctx context.Context, alias string) (progress int, err error) {
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + alias + `__echo","arguments":{"text":"still here"}}}`
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.base+"/v1/mcp/local/sse", strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Authorization", "Bearer "+w.key)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err == nil && !bytes.Contains(raw, []byte("still here")) {
		err = fmt.Errorf("status %d: %.300s", response.StatusCode, raw)
	}
	return bytes.Count(raw, []byte("starting, ")), err
}

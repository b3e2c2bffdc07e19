//go:build ha

package main_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpgateway/models/modelstest"
	"mcpgateway/services/upstream/upstreamtest/programtest"
)

const (
	connectorCalls    = 10_000
	connectorClients  = 6               // of each replica
	connectorCutEvery = 5 * time.Second // HA_CUT replaces it
	// connectorCallsPerCut is the number of calls of a client between two cuts.
	connectorCallsPerCut = 100
	// noticeTime is the time until both ends notice a cut. Calls that begin in it are
	// sent on a connection that has ended.
	noticeTime   = 50 * time.Millisecond
	offlineAfter = 30 * time.Second // of silence
	offlineSlack = 5 * time.Second
)

// laptop is two replicas on one PostgreSQL and the runner of another computer, with
// programs of two generations. Its connections go through a proxy that cuts them.
type laptop struct {
	replicas []*replica
	proxy    *cutter
	runner   *process
	folders  map[string]string // of the programs, by alias
	key      string
	seen     [][2]string // table of observations
}

// TestReplicasConnector calls programs of a runner on another computer whose
// connections end again and again. Only calls in flight at that time may fail, and
// no call of a writing tool is executed twice. Then the computer sleeps, and its
// token is revoked.
func TestReplicasConnector(t *testing.T) {
	l := newLaptop(t)
	l.callWhileCut(t)
	l.sleep(t)
	l.revoke(t)
	var table strings.Builder
	for _, line := range l.seen {
		fmt.Fprintf(&table, "\n%-60s %s", line[0], line[1])
	}
	t.Log(table.String())
}

func newLaptop(t *testing.T) *laptop {
	t.Helper()
	cluster, err := modelstest.StartCluster()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	s := &stage{root: moduleRoot(t), folder: t.TempDir()}
	s.binary = s.build(t, "gateway", "./cmd/gateway")
	mock := s.build(t, "mockmcp", "./cmd/mockmcp")
	l := &laptop{folders: map[string]string{}}
	for n := range 2 {
		l.replicas = append(l.replicas, newReplica(t, s.binary, fmt.Sprint("replica ", n), cluster.URL))
	}
	for _, r := range l.replicas {
		r.start(t)
	}
	l.replicas[0].apply(t, map[string]any{"projects": map[string]any{"keyed": map[string]any{"authMode": "api_key"}}})
	l.key = strings.TrimSpace(l.replicas[0].command(t, "keys", "create", "--project", "keyed"))
	l.proxy = newCutter(t, func() []string {
		return []string{strings.TrimPrefix(l.replicas[0].base, "http://"), strings.TrimPrefix(l.replicas[1].base, "http://")}
	})

	entries := map[string]any{}
	for alias, eras := range map[string]string{"new": "all", "old": "2025-06-18"} {
		l.folders[alias] = filepath.Join(s.folder, alias)
		if err := os.Mkdir(l.folders[alias], 0o700); err != nil {
			t.Fatal(err)
		}
		entries[alias] = map[string]any{"command": mock, "args": []string{"-stdio", "-kind", "program", "-tools", "1", "-era", eras}, "cwd": l.folders[alias]}
	}
	file, token := filepath.Join(s.folder, "mcp.json"), filepath.Join(s.folder, "token")
	raw, err := json.Marshal(map[string]any{"mcpServers": entries})
	if err != nil {
		t.Fatal(err)
	}
	made := l.replicas[0].command(t, "connectors", "create", "--project", "keyed", "--name", "laptop")
	if err := errors.Join(os.WriteFile(file, raw, 0o600), os.WriteFile(token, []byte(made), 0o600)); err != nil {
		t.Fatal(err)
	}
	l.runner = startProcess(t, program{
		name: "runner", path: s.binary, dir: s.folder, env: append(bareEnvironment(s.folder), "GATEWAY_LOG_FORMAT=json"),
		args: []string{"runner", "--local", file, "--connect", l.proxy.url, "--token-file", token, "--state", filepath.Join(s.folder, "state")},
	})
	l.approve(t)
	return l
}

// approve approves the tools of both programs, and waits until each replica calls
// them.
func (l *laptop) approve(t *testing.T) {
	t.Helper()
	for alias := range l.folders {
		for _, tool := range []string{"read", "write"} {
			eventually(t, readyLimit, tool+" of "+alias+" is approved", func(ctx context.Context) error {
				status, _, body, err := send(ctx, http.MethodPatch, l.replicas[0].base+"/api/projects/keyed/tools/"+alias+"__"+tool, replicaToken, []byte(`{"approved":true}`))
				if err == nil && status != http.StatusOK {
					err = fmt.Errorf("status %d: %s", status, body)
				}
				return err
			}, l.runner)
		}
		for _, r := range l.replicas {
			eventually(t, readyLimit, alias+" responds", func(ctx context.Context) error { return l.plainCall(ctx, r, alias, -1) }, l.runner)
		}
	}
}

// plainCall calls the reading tool of a program once.
func (l *laptop) plainCall(ctx context.Context, r *replica, alias string, n int) error {
	status, _, body, err := send(ctx, http.MethodPost, r.base+"/v1/mcp/keyed/request", l.key,
		fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%s__read","arguments":{"n":%d}}}`, alias, n))
	if err == nil && (status != http.StatusOK || !strings.Contains(string(body), fmt.Sprintf(`"text":"%d"`, n))) {
		err = fmt.Errorf("status %d: %s", status, body)
	}
	return err
}

// numberedCall is the outcome of one call.
type numberedCall struct {
	alias, tool  string
	n            int
	began, ended time.Time
	err          error
}

// callWhileCut calls tools with clients of both generations at both replicas while
// the connections of the runner end again and again.
func (l *laptop) callWhileCut(t *testing.T) {
	every := connectorCutEvery
	if set := os.Getenv("HA_CUT"); set != "" {
		var err error
		if every, err = time.ParseDuration(set); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	stop := l.proxy.cutEvery(every)
	var mu sync.Mutex
	var all []numberedCall
	var clients sync.WaitGroup
	for n := range connectorClients * len(l.replicas) {
		version := []string{legacy, modern}[n/len(l.replicas)%2]
		session, err := connectGoSDK(t.Context(), t, l.replicas[n%len(l.replicas)].base+"/v1/mcp/keyed/request", l.key, version)
		if err != nil {
			t.Fatal(err)
		}
		clients.Go(func() {
			defer session.Close()
			calls := numberedCalls(t.Context(), session, n, connectorCalls/connectorClients/len(l.replicas)+1, every/connectorCallsPerCut)
			mu.Lock()
			defer mu.Unlock()
			all = append(all, calls...)
		})
	}
	clients.Wait()
	cuts := stop()
	l.check(t, all, cuts, time.Since(began))
}

// numberedCalls calls tools at an interval, half of them to the writing tool. Their
// numbers begin with that of the client. While some clients read, others write, so
// that calls of both tools are in flight at a cut.
func numberedCalls(ctx context.Context, session *mcp.ClientSession, client, count int, interval time.Duration) []numberedCall {
	calls := make([]numberedCall, 0, count)
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for i := range count {
		<-tick.C
		// The program takes its time, so that calls are in flight when connections end.
		c := numberedCall{alias: []string{"new", "old"}[i/2%2], tool: []string{"read", "write"}[(i+client/4)%2], n: client*1_000_000 + i, began: time.Now()}
		answer, err := session.CallTool(ctx, &mcp.CallToolParams{
			Name: c.alias + "__" + c.tool, Arguments: map[string]any{"n": c.n, "ms": (interval * 2 / 5).Milliseconds()},
		})
		switch c.ended = time.Now(); {
		case err != nil:
			c.err = err
		case len(answer.Content) != 1 || answer.Content[0].(*mcp.TextContent).Text != strconv.Itoa(c.n):
			raw, _ := json.Marshal(answer)
			c.err = fmt.Errorf("result %s", raw)
		}
		calls = append(calls, c)
	}
	return calls
}

// executed returns how often the programs executed each call.
func (l *laptop) executed(t *testing.T) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for alias, folder := range l.folders {
		raw, err := os.ReadFile(filepath.Join(folder, programtest.Journal))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(raw)) {
			counts[alias+" "+strings.TrimSpace(line)]++
		}
	}
	return counts
}

// check compares the outcome of each call with what the programs executed.
func (l *laptop) check(t *testing.T, all []numberedCall, cuts []time.Time, took time.Duration) {
	t.Helper()
	executed := l.executed(t)
	failed, wrong, repeated, twice, samples := map[string]int{}, 0, 0, 0, 0
	for _, c := range all {
		times := executed[fmt.Sprintf("%s %s %d", c.alias, c.tool, c.n)]
		switch {
		case c.tool == "write" && times > 1:
			twice++
		case c.tool == "read" && times > 1:
			repeated++
		}
		if c.err == nil && times == 0 {
			t.Errorf("call %d of %s %s has a result and was not executed", c.n, c.alias, c.tool)
		}
		if c.err == nil {
			continue
		}
		failed[c.tool]++
		if !inFlight(c, cuts) {
			wrong++
		}
		if !inFlight(c, cuts) || samples < 3 {
			samples++
			t.Logf("%s %s %d began %s, took %v: %v", c.alias, c.tool, c.n, c.began.Format(time.StampMilli), c.ended.Sub(c.began).Round(time.Millisecond), c.err)
		}
	}
	if twice > 0 || wrong > 0 || failed["read"] > 0 || len(cuts) < 3 || repeated == 0 {
		t.Errorf("%d writing calls were executed twice, %d calls failed that were not in flight at a cut, and %d reading calls failed; %d cuts, %d reading calls repeated", twice, wrong, failed["read"], len(cuts), repeated)
	}
	l.note("calls", fmt.Sprintf("%d in %v, %.0f per second", len(all), took.Round(time.Second), float64(len(all))/took.Seconds()))
	l.note("times that all connections of the runner were cut", len(cuts))
	l.note("failed calls of the reading tool", failed["read"])
	l.note("failed calls of the writing tool, all in flight at a cut", failed["write"])
	l.note("reading calls executed twice", repeated)
	l.note("writing calls executed twice", twice)
}

// inFlight reports whether a call was in flight at a cut.
func inFlight(c numberedCall, cuts []time.Time) bool {
	for _, at := range cuts {
		if !c.began.After(at.Add(noticeTime)) && !c.ended.Before(at) {
			return true
		}
	}
	return false
}

// sleep stops all processes of the runner as a computer's sleep does, and wakes
// them.
func (l *laptop) sleep(t *testing.T) {
	pids := family(t, l.runner.cmd.Process.Pid)
	signal(t, pids, syscall.SIGSTOP)
	began := time.Now()
	for _, r := range l.replicas {
		l.awaitState(t, r, "offline", offlineAfter+offlineSlack)
	}
	if took := time.Since(began); took < offlineAfter-offlineAfter/2 {
		t.Errorf("offline after %v of silence", took)
	}
	l.note("computer sleeps, offline at both replicas after", time.Since(began))
	for _, r := range l.replicas { // each has to read that the other has no connection either
		eventually(t, readyLimit, "the reason in errors", func(ctx context.Context) error {
			err := l.plainCall(ctx, r, "new", -2)
			if err != nil && strings.Contains(err.Error(), "Computer not connected") {
				return nil
			}
			return errors.Join(errors.New("a call while the computer sleeps has another result"), err)
		}, r.process)
	}
	signal(t, pids, syscall.SIGCONT)
	began = time.Now()
	for _, r := range l.replicas {
		for alias := range l.folders {
			eventually(t, readyLimit, alias+" responds again", func(ctx context.Context) error { return l.plainCall(ctx, r, alias, -3) }, l.runner)
		}
	}
	l.note("computer wakes, programs respond at both replicas after", time.Since(began))
}

// revoke revokes the token, which ends the connections to both replicas within a
// second.
func (l *laptop) revoke(t *testing.T) {
	var list struct{ Items []struct{ ID string } }
	l.replicas[0].administer(t, http.MethodGet, "/api/projects/keyed/connectors", nil, &list)
	if len(list.Items) != 1 {
		t.Fatalf("connectors: %+v", list)
	}
	began := time.Now()
	l.replicas[0].administer(t, http.MethodDelete, "/api/connectors/"+list.Items[0].ID, nil, nil)
	for _, r := range l.replicas {
		l.awaitState(t, r, "offline", readyLimit)
	}
	took := time.Since(began)
	if took > haPromise {
		t.Errorf("the connections of a revoked token ended after %v", took)
	}
	l.note("token revoked, connections to both replicas ended after", took)
	if err := l.plainCall(t.Context(), l.replicas[1], "new", -4); err == nil {
		t.Error("a call of a revoked connector has a result")
	}
	eventually(t, readyLimit, "the runner logs the reason", func(context.Context) error {
		if !strings.Contains(l.runner.log.String(), "the token was revoked") {
			return errors.New("no such line")
		}
		return nil
	}, l.runner)
}

// awaitState waits until a replica shows the state for every program.
func (l *laptop) awaitState(t *testing.T, r *replica, state string, limit time.Duration) {
	t.Helper()
	eventually(t, limit, r.program.name+" shows "+state, func(ctx context.Context) error {
		status, _, body, err := send(ctx, http.MethodGet, r.base+"/api/projects/keyed/servers", replicaToken, nil)
		if err == nil && (status != http.StatusOK || strings.Count(string(body), `"state":"`+state+`"`) != len(l.folders)) {
			err = fmt.Errorf("status %d: %s", status, body)
		}
		return err
	}, r.process)
}

// note adds a row to the table.
func (l *laptop) note(what string, value any) {
	if d, ok := value.(time.Duration); ok {
		value = d.Round(time.Millisecond)
	}
	l.seen = append(l.seen, [2]string{what, fmt.Sprint(value)})
}

// family returns a process and its descendants, parents first.
func family(t *testing.T, pid int) []int {
	t.Helper()
	pids := []int{pid}
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range lists {
		raw, err := os.ReadFile(list)
		if err != nil {
			t.Fatal(err)
		}
		for _, child := range strings.Fields(string(raw)) {
			n, err := strconv.Atoi(child)
			if err != nil {
				t.Fatal(err)
			}
			pids = append(pids, family(t, n)...)
		}
	}
	return pids
}

func signal(t *testing.T, pids []int, s syscall.Signal) {
	t.Helper()
	for _, pid := range pids {
		if err := syscall.Kill(pid, s); err != nil {
			t.Fatalf("%v to %d: %v", s, pid, err)
		}
	}
}

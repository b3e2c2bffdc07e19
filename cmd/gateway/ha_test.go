//go:build ha

package main_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
)

const (
	haCalls      = 10_000
	haSessions   = 8                     // clients with a session
	haStateless  = 2                     // clients of revision 2026-07-28
	haEvery      = 50 * time.Millisecond // between calls of a client
	haPromise    = time.Second           // for a change to reach every replica
	haDrain      = time.Second
	haPause      = 2 * time.Second        // between events
	haOutage     = 5 * time.Second        // second outage of the database
	haWork       = 100 * time.Millisecond // of the slow tool
	haProbeEvery = 5 * time.Millisecond
)

// fleet is two replicas on one PostgreSQL behind a load balancer, with two
// upstream servers.
type fleet struct {
	cluster  *modelstest.Cluster
	replicas []*replica
	balancer *balancer
	upstream *process // is restarted
	restart  program
	clients  []*haClient
	probe    *haClient // without a session
	tally    *tally
	seen     [][2]string // table of observations
}

// TestReplicas calls tools at a fixed rate while replicas, an upstream server and
// the database fail.
func TestReplicas(t *testing.T) {
	f := newFleet(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var over atomic.Bool
	began := time.Now()
	var calling sync.WaitGroup
	for _, c := range f.clients {
		calling.Go(func() { f.keepCalling(ctx, c, &over) })
	}
	pause := func() {
		select {
		case <-time.After(haPause):
		case <-ctx.Done():
		}
	}
	steps := []func(){
		func() { f.revokeKey(t) },
		func() { f.note("tool disabled on one replica, rejected by the other after", f.switchTool(t, 0, false)) },
		func() { f.note("tool enabled on the other, served by the first after", f.switchTool(t, 1, true)) },
		func() { f.killReplica(t, 0) },
		func() { f.restartUpstream(t) },
		func() { f.killReplica(t, 0) },
		func() { f.rollReplica(t, 1) },
		func() { f.restartDatabase(t, "fast", 0, false) },
		func() { f.restartDatabase(t, "immediate", haOutage, true) },
	}
	for _, step := range steps {
		pause()
		step()
	}
	pause()
	over.Store(true)
	calling.Wait()
	f.checkSessions(t)
	f.checkCallLog(t)
	f.report(t, time.Since(began))
}

func newFleet(t *testing.T) *fleet {
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
	f := &fleet{cluster: cluster, tally: &tally{failed: map[string]int{}}}
	s := &stage{root: moduleRoot(t), folder: t.TempDir()}
	s.binary = s.build(t, "gateway", "./cmd/gateway")
	mock := s.build(t, "mockmcp", "./cmd/mockmcp")
	servers := map[string]any{}
	for _, alias := range []string{steadyServer, restartedServer} {
		address := freeAddress(t)
		p := program{name: alias + " upstream", path: mock, args: []string{"-addr", address}, dir: s.folder, env: bareEnvironment(s.folder)}
		running := startProcess(t, p)
		eventually(t, readyLimit, alias+" upstream listens", accepts(address), running)
		servers[alias] = map[string]any{"url": "http://" + address + "/mcp"}
		if alias == restartedServer {
			f.upstream, f.restart = running, p
		}
	}
	for n := range 2 {
		f.replicas = append(f.replicas, newReplica(t, s.binary, fmt.Sprint("replica ", n), cluster.URL, "GATEWAY_DRAIN_DELAY="+haDrain.String()))
	}
	for _, r := range f.replicas { // concurrently, on an empty database
		r.begin(t)
	}
	for _, r := range f.replicas {
		r.awaitUse(t)
	}
	f.replicas[0].apply(t, map[string]any{"projects": map[string]any{"keyed": map[string]any{"authMode": "api_key", "mcpServers": servers}}})
	f.balancer = newBalancer(t, f.replicas[0].base, f.replicas[1].base)
	key, _ := f.newKey(t)
	for n := range haSessions + haStateless {
		c := &haClient{name: fmt.Sprint("client", n), http: &http.Client{Transport: &http.Transport{}, Timeout: time.Minute}}
		c.header = map[string]string{"MCP-Protocol-Version": modern, "Authorization": "Bearer " + key}
		if n < haSessions {
			if c.header, err = openSession(t.Context(), c.http, f.balancer.URL, "keyed", key); err != nil {
				t.Fatal(err)
			}
		}
		f.clients = append(f.clients, c)
	}
	f.probe = f.clients[haSessions]
	for _, r := range f.replicas {
		for _, alias := range []string{steadyServer, restartedServer} {
			eventually(t, syncLimit, alias+" is known", func(ctx context.Context) error { return f.probe.call(ctx, r.base, alias, 0) }, r.process)
		}
	}
	return f
}

// newKey creates a key of the project, waits until every replica accepts it, and
// returns it with its ID.
func (f *fleet) newKey(t *testing.T) (key, id string) {
	t.Helper()
	var made struct{ Key, ID string }
	f.replicas[0].administer(t, http.MethodPost, "/api/projects/keyed/keys", map[string]any{"name": "ha"}, &made)
	for _, r := range f.replicas {
		eventually(t, readyLimit, "the key is known", func(ctx context.Context) error { return keyed(ctx, r, made.Key) }, r.process)
	}
	return made.Key, made.ID
}

// errRefusedKey is the error for a key that a replica rejects.
var errRefusedKey = errors.New("key rejected")

// keyed returns nil if the replica accepts the key.
func keyed(ctx context.Context, r *replica, key string) error {
	status, _, body, err := send(ctx, http.MethodPost, r.base+"/v1/mcp/keyed/request", key, []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	switch {
	case err != nil:
		return err
	case status == http.StatusUnauthorized:
		return errRefusedKey
	case status != http.StatusOK:
		return fmt.Errorf("status %d: %s", status, body)
	}
	return nil
}

// keepCalling sends the client's share of the calls at its rate until all
// events have happened.
func (f *fleet) keepCalling(ctx context.Context, c *haClient, over *atomic.Bool) {
	tick := time.NewTicker(haEvery)
	defer tick.Stop()
	for n := 1; n <= haCalls/len(f.clients) || !over.Load(); n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		began := time.Now()
		switch n % 4 {
		case 0:
			f.tally.note(c, restartedServer, began, c.call(ctx, f.balancer.URL, restartedServer, n))
		case 1: // a slow call, to be in flight during a failure
			f.tally.note(c, steadyServer, began, c.sleep(ctx, f.balancer.URL, steadyServer, n))
		default:
			f.tally.note(c, steadyServer, began, c.call(ctx, f.balancer.URL, steadyServer, n))
		}
	}
}

// note adds a row to the table. A duration is the time for a change to reach
// all replicas.
func (f *fleet) note(what string, value any) {
	if d, ok := value.(time.Duration); ok {
		value = d.Round(time.Millisecond)
	}
	f.seen = append(f.seen, [2]string{what, fmt.Sprint(value)})
}

// known returns the time after began at which the condition holds on every
// replica, and fails the test if it exceeds the limit.
func (f *fleet) known(t *testing.T, what string, began time.Time, holds func(ctx context.Context, r *replica) bool) time.Duration {
	t.Helper()
	for _, r := range f.replicas {
		eventually(t, readyLimit, what, func(ctx context.Context) error {
			tick := time.NewTicker(haProbeEvery)
			defer tick.Stop()
			for !holds(ctx, r) {
				select {
				case <-ctx.Done():
					return ctx.Err()
				case <-tick.C:
				}
			}
			return nil
		}, r.process)
	}
	took := time.Since(began)
	if took > haPromise {
		t.Errorf("%s: reached all replicas after %v, want at most %v", what, took, haPromise)
	}
	return took
}

func (f *fleet) revokeKey(t *testing.T) {
	key, id := f.newKey(t)
	f.replicas[0].administer(t, http.MethodDelete, "/api/keys/"+id, nil, nil)
	f.note("key revoked on one replica, rejected by the other after", f.known(t, "rejection of the revoked key", time.Now(), func(ctx context.Context, r *replica) bool {
		return errors.Is(keyed(ctx, r, key), errRefusedKey)
	}))
}

// switchTool enables or disables a tool on a replica, as soon as that accepts
// the change, and returns the time until every replica applied it.
func (f *fleet) switchTool(t *testing.T, by int, enabled bool) time.Duration {
	t.Helper()
	want := []byte(fmt.Sprintf(`{"enabled":%v}`, enabled))
	eventually(t, readyLimit, "the change is taken", func(ctx context.Context) error {
		status, _, body, err := send(ctx, http.MethodPatch, f.replicas[by].base+"/api/projects/keyed/tools/"+steadyServer+"__add", replicaToken, want)
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("status %d: %s", status, body)
		}
		return err
	}, f.replicas[by].process)
	call := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + steadyServer + `__add","arguments":{"a":1,"b":2}}}`)
	bearer := strings.TrimPrefix(f.probe.header["Authorization"], "Bearer ")
	return f.known(t, "state of the tool", time.Now(), func(ctx context.Context, r *replica) bool {
		_, _, body, err := send(ctx, http.MethodPost, r.base+"/v1/mcp/keyed/request", bearer, call)
		return err == nil && strings.Contains(string(body), "TOOL_DISABLED") != enabled
	})
}

func (f *fleet) killReplica(t *testing.T, n int) {
	cut := f.balancer.cut.Load()
	began := time.Now()
	if err := f.replicas[n].cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-f.replicas[n].ended
	f.replicas[n].start(t)
	f.note("replica killed with SIGKILL, ready again after", time.Since(began))
	f.note("  requests that lost their connection", f.balancer.cut.Load()-cut)
}

// rollReplica restarts a replica like a deployment: no call may fail.
func (f *fleet) rollReplica(t *testing.T, n int) {
	cut := f.balancer.cut.Load()
	began := time.Now()
	if err := f.replicas[n].cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if !f.replicas[n].waitEnd(shutdownLimit) || f.replicas[n].cmd.ProcessState.ExitCode() != 0 {
		t.Fatalf("exit of the replica: %v", f.replicas[n].cmd.ProcessState)
	}
	f.replicas[n].start(t)
	f.note("replica drained after SIGTERM, ready again after", time.Since(began))
	cut = f.balancer.cut.Load() - cut
	f.note("  requests that lost their connection", cut)
	if cut != 0 {
		t.Errorf("%d requests failed during a graceful shutdown", cut)
	}
}

func (f *fleet) restartUpstream(t *testing.T) {
	over := f.tally.outage()
	began := time.Now()
	if err := f.upstream.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-f.upstream.ended
	f.upstream = startProcess(t, f.restart)
	eventually(t, readyLimit, "the upstream listens again", accepts(f.restart.args[1]), f.upstream)
	over()
	f.note("upstream server killed with SIGKILL, listening again after", time.Since(began))
}

// restartDatabase restarts PostgreSQL and immediately makes a change. The replicas
// must receive it although their connections failed.
func (f *fleet) restartDatabase(t *testing.T, mode string, down time.Duration, enabled bool) {
	answered := f.tally.completed()
	began := time.Now()
	if err := f.cluster.Halt(t.Context(), mode); err != nil {
		t.Fatal(err)
	}
	select {
	case <-time.After(down):
	case <-t.Context().Done():
	}
	if err := f.cluster.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.note("PostgreSQL stopped ("+mode+"), available again after", time.Since(began))
	f.note("  successful calls during it", f.tally.completed()-answered)
	back := time.Now()
	took := f.switchTool(t, 1, enabled)
	f.note("  change immediately afterwards, on all replicas after", took)
	f.note("  both, since PostgreSQL was available", time.Since(back))
}

// checkSessions uses every session once on every replica.
func (f *fleet) checkSessions(t *testing.T) {
	valid := 0
	for _, c := range f.clients {
		for _, r := range f.replicas {
			if err := c.call(t.Context(), r.base, restartedServer, 0); err != nil {
				t.Errorf("%s at the end on %s: %v", c.name, r.program.name, err)
				continue
			}
			valid++
		}
	}
	f.note("working sessions and stateless clients at the end, on each replica", fmt.Sprintf("%d of %d", valid, len(f.clients)*len(f.replicas)))
}

// checkCallLog stops the replicas, which write their queues on exit, and counts the
// calls in the log. A killed process loses its queue: at most the calls of two
// writes.
func (f *fleet) checkCallLog(t *testing.T) {
	for _, r := range f.replicas {
		r.stop(t)
	}
	var rows int64
	if err := modelstest.Open(t, f.cluster.URL).Model(&models.Call{}).Count(&rows).Error; err != nil {
		t.Fatal(err)
	}
	answered := int64(f.tally.completed())
	f.note("rows in the call log", rows)
	if perSecond := int64(len(f.clients)) * int64(time.Second/haEvery); rows < answered-2*2*perSecond {
		t.Errorf("%d rows in the call log after %d calls", rows, answered)
	}
}

// report fails the test for every failed call and prints the table.
func (f *fleet) report(t *testing.T, took time.Duration) {
	y := f.tally
	y.mu.Lock()
	defer y.mu.Unlock()
	total := y.ok + y.cut + y.down
	for kind, n := range y.failed {
		t.Errorf("%d calls failed: %s", n, kind)
		total += n
	}
	for _, sample := range y.samples {
		t.Log(sample)
	}
	// Each kill breaks at most the calls in flight.
	if most := 2 * len(f.clients); y.cut > most {
		t.Errorf("connections of %d calls failed, want at most %d", y.cut, most)
	}
	if total < haCalls {
		t.Errorf("%d calls, want %d", total, haCalls)
	}
	f.note("calls", fmt.Sprintf("%d in %v, %.0f per second", total, took.Round(time.Second), float64(total)/took.Seconds()))
	f.note("  successful", y.ok)
	f.note("  connection lost with a killed replica", y.cut)
	f.note("  failed during the outage of the upstream server", y.down)
	f.note("  other failures", total-y.ok-y.cut-y.down)
	f.note("  sent again because a replica refused the connection", f.balancer.resent.Load())
	f.note("  p50, p99, maximum", fmt.Sprint(y.percentile(.5).Round(100*time.Microsecond), ", ", y.percentile(.99).Round(100*time.Microsecond), ", ", y.percentile(1).Round(time.Millisecond)))
	var table strings.Builder
	for _, line := range f.seen {
		fmt.Fprintf(&table, "\n%-68s %s", line[0], line[1])
	}
	t.Log(table.String())
}

//go:build chaos

package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"mcpgateway/services/upstream/upstreamtest"
)

const (
	chaosToken  = "administration-token-of-this-test"
	chaosRounds = 5
	chaosRound  = 4 * time.Second
	chaosPace   = 5 * time.Millisecond   // between calls to healthy servers
	badPace     = 500 * time.Millisecond // between calls to each other server
	chaosLists  = 50
	chaosMemory = 512 << 20 // maximum resident memory in bytes
)

// goodServers are always healthy; the others fail.
var goodServers = []string{"good1", "good2", "good3", "good4"}

// TestChaosUpstreams has ten upstream servers, six of which fail: one hangs,
// one is down, one sends garbage, one sends 100 MB, one redirects to a cloud's
// metadata address, and one has 5,000 tools. It measures the effect on calls to
// the other four.
func TestChaosUpstreams(t *testing.T) {
	up := map[string]*upstreamtest.Server{"many": upstreamtest.New(upstreamtest.Options{Tools: upstreamtest.Generated(5000), Record: -1})}
	for _, alias := range append([]string{"hang", "dead", "garbage", "flood", "redirect"}, goodServers...) {
		up[alias] = upstreamtest.New(upstreamtest.Options{Tools: upstreamtest.Standard(6), Record: -1})
	}
	s := chaosStage(t, up)
	ids := s.serverIDs(t)
	s.admin(t, http.MethodPatch, "/api/servers/"+ids["hang"], `{"timeout":1000}`, http.StatusOK)
	tool := func(alias string) string {
		if alias == "many" {
			return "many__find_task"
		}
		return alias + "__echo"
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}
	defer client.CloseIdleConnections()

	// round calls the healthy servers at a steady rate and returns the 99th
	// percentile of the latency.
	round := func() time.Duration {
		var (
			mu    sync.Mutex
			took  []time.Duration
			calls sync.WaitGroup
		)
		tick := time.NewTicker(chaosPace)
		defer tick.Stop()
		for i := range int(chaosRound / chaosPace) {
			<-tick.C
			calls.Go(func() {
				began := time.Now()
				body, err := s.callOf(t.Context(), client, tool(goodServers[i%len(goodServers)]))
				if err != nil || !strings.Contains(body, `"result"`) || strings.Contains(body, `"isError":true`) {
					t.Errorf("call to a healthy server: %.300s, %v", body, err)
				}
				mu.Lock()
				took = append(took, time.Since(began))
				mu.Unlock()
			})
		}
		calls.Wait()
		return quantile(took, 0.99)
	}
	outcomes := map[string]map[string]int{}
	var mu sync.Mutex
	// disturb calls the other servers until end is called.
	disturb := func() (end func()) {
		ctx, cancel := context.WithCancel(t.Context())
		var callers sync.WaitGroup
		for alias := range up {
			if slices.Contains(goodServers, alias) {
				continue
			}
			callers.Go(func() {
				tick := time.NewTicker(badPace)
				defer tick.Stop()
				for {
					select {
					case <-ctx.Done():
						return
					case <-tick.C:
					}
					callers.Go(func() {
						body, err := s.callOf(ctx, client, tool(alias))
						if ctx.Err() != nil {
							return
						}
						mu.Lock()
						defer mu.Unlock()
						if outcomes[alias] == nil {
							outcomes[alias] = map[string]int{}
						}
						outcomes[alias][outcomeOf(body, err)]++
					})
				}
			})
		}
		return func() { cancel(); callers.Wait() }
	}

	_ = round() // warm-up
	well := []time.Duration{round(), round(), round()}
	for alias, f := range map[string]upstreamtest.Fault{
		"hang":     {Kind: upstreamtest.Hang},
		"garbage":  {Kind: upstreamtest.InvalidJSON},
		"flood":    {Kind: upstreamtest.Huge, Bytes: 100 << 20},
		"redirect": {Kind: upstreamtest.Redirect, URL: "http://169.254.169.254/latest/meta-data/"},
	} {
		up[alias].SetFault(f)
	}
	up["dead"].Close()
	for _, alias := range []string{"hang", "dead", "garbage", "redirect"} { // like the next scheduled sync
		s.admin(t, http.MethodPost, "/api/servers/"+ids[alias]+"/sync", "", http.StatusBadGateway)
	}
	var before, after, lists []time.Duration
	var list string
	end := func() {}
	for range chaosRounds { // alternate, so that other load affects both equally
		end()
		before = append(before, round())
		end = disturb()
		after = append(after, round())
		for range chaosLists / chaosRounds {
			began := time.Now()
			list = s.request(t, client, listRequest)
			lists = append(lists, time.Since(began))
		}
	}
	servers := s.admin(t, http.MethodGet, "/api/projects/open/servers", "", http.StatusOK)
	search := s.request(t, client, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"gateway_searchMcpForTask","arguments":{"task":"echo a text"}}}`)
	memory := residentMemory(t, s.gateway.cmd.Process.Pid)
	end()

	t.Logf("p99 of calls to healthy servers, no faults:                   %v, median %v", well, quantile(well, 0.5))
	t.Logf("p99 of calls to healthy servers, no calls to faulty servers:  %v, median %v", before, quantile(before, 0.5))
	t.Logf("p99 of calls to healthy servers, with calls to faulty servers: %v, median %v", after, quantile(after, 0.5))
	t.Logf("tools/list with %d KiB: median %v, maximum %v; resident memory %d MiB", len(list)>>10, quantile(lists, 0.5), quantile(lists, 1), memory>>20)
	for _, alias := range []string{"hang", "dead", "garbage", "flood", "redirect", "many"} {
		t.Logf("outcomes of calls to %-8s: %v", alias, outcomes[alias])
	}
	if quantile(after, 0.5) > 2*quantile(before, 0.5) {
		t.Error("p99 of calls to healthy servers more than doubled")
	}
	if quantile(lists, 0.5) > 50*time.Millisecond {
		t.Error("median of tools/list is over 50 ms")
	}
	if memory > chaosMemory {
		t.Errorf("resident memory = %d MiB, want at most %d", memory>>20, chaosMemory>>20)
	}
	checkReasons(t, servers, list, search)
}

// outcomeOf returns the error code of a call, or another short outcome.
func outcomeOf(body string, err error) string {
	var answer struct {
		Error struct{ Data struct{ Code string } }
	}
	switch {
	case err != nil || json.Unmarshal([]byte(body), &answer) != nil:
		return "HTTP failure"
	case answer.Error.Data.Code != "":
		return answer.Error.Data.Code
	}
	return "result"
}

// checkReasons checks the state and reason of every server in the API, and the
// warnings in tools/list and in a search. It compares codes and facts, because
// messages may change.
func checkReasons(t *testing.T, servers, list, search string) {
	var records struct {
		Items []struct {
			Alias  string
			Health struct{ State, Reason string }
		}
	}
	if err := json.Unmarshal([]byte(servers), &records); err != nil {
		t.Fatal(err)
	}
	want := map[string]struct {
		states []string
		reason string // part of the reason; reasons are never empty
	}{
		"hang":     {[]string{"open", "half-open"}, ""},
		"dead":     {[]string{"open", "half-open"}, "connection refused"},
		"garbage":  {[]string{"failing"}, "JSON"},
		"flood":    {[]string{"failing"}, "10 MiB"},
		"redirect": {[]string{"failing"}, "169.254.169.254"},
	}
	for _, r := range records.Items {
		w, bad := want[r.Alias]
		if !bad {
			w.states = []string{"ok"}
		}
		t.Logf("%-8s is %s: %s", r.Alias, r.Health.State, r.Health.Reason)
		if !slices.Contains(w.states, r.Health.State) || (r.Health.Reason != "") != bad || !strings.Contains(r.Health.Reason, w.reason) {
			t.Errorf("%s: state %s, reason %q, want one of %v and %q", r.Alias, r.Health.State, r.Health.Reason, w.states, w.reason)
		}
	}
	const down, failed = "SERVER_UNAVAILABLE", "SERVER_SYNC_FAILED"
	for alias, code := range map[string]string{"hang": down, "dead": down} {
		if !slices.Contains(warningCodes(t, list, alias), code) {
			t.Errorf("tools/list has no %s warning about %s", code, alias)
		}
	}
	for alias, code := range map[string]string{"hang": down, "dead": down, "garbage": failed, "redirect": failed} {
		if !slices.Contains(warningCodes(t, search, alias), code) {
			t.Errorf("search has no %s warning about %s: %s", code, alias, search)
		}
	}
}

// warningCodes returns the codes of the warnings about a server in a list of
// tools or in the result of a search.
func warningCodes(t *testing.T, response, alias string) []string {
	t.Helper()
	type warnings struct {
		Warnings []struct{ Code, Message string }
	}
	var r struct {
		Result struct {
			Meta    map[string]json.RawMessage `json:"_meta"`
			Content []struct{ Text string }
		}
	}
	if err := json.Unmarshal([]byte(response), &r); err != nil {
		t.Fatal(err)
	}
	raw := []byte(r.Result.Meta["gateway/coverage"])
	if len(r.Result.Content) > 0 {
		raw = []byte(r.Result.Content[0].Text)
	}
	var found warnings
	if err := json.Unmarshal(raw, &found); err != nil {
		t.Fatalf("parse warnings in %s: %v", raw, err)
	}
	var codes []string
	for _, w := range found.Warnings {
		words := strings.FieldsFunc(w.Message, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		if slices.Contains(words, alias) {
			codes = append(codes, w.Code)
		}
	}
	return codes
}

// TestChaosStart measures startup with 50 servers in each of two projects. Half of
// them hang, the others refuse connections.
func TestChaosStart(t *testing.T) {
	hang, dead := upstreamtest.New(upstreamtest.Options{Tools: upstreamtest.Standard(20), Record: -1}), upstreamtest.New(upstreamtest.Options{Tools: upstreamtest.Standard(20), Record: -1})
	up := map[string]*upstreamtest.Server{}
	for i := range 50 {
		up[fmt.Sprintf("server%02d", i)] = []*upstreamtest.Server{hang, dead}[i%2]
	}
	s := chaosStage(t, up)
	s.kill(t)
	hang.SetFault(upstreamtest.Fault{Kind: upstreamtest.Hang})
	dead.Close()
	began := time.Now()
	s.startAgain(t)
	ready := time.Since(began)
	list := s.request(t, http.DefaultClient, listRequest)
	listed := time.Since(began)
	t.Logf("ready after %v, tools of 50 servers listed after %v", ready, listed)
	if n := strings.Count(list, `__echo"`); n != 50 {
		t.Errorf("tools of %d servers listed, want 50", n)
	}
	if listed > 2*time.Second {
		t.Error("listing took more than 2 s")
	}
}

// chaosStage starts the gateway with the upstream servers and an administration
// token.
func chaosStage(t *testing.T, up map[string]*upstreamtest.Server) *stage {
	t.Helper()
	s := &stage{root: moduleRoot(t), folder: t.TempDir(), direct: map[string]string{}}
	addresses := map[*upstreamtest.Server]string{}
	for alias, server := range up {
		if addresses[server] == "" {
			addresses[server] = server.Start(t)
		}
		s.direct[alias] = addresses[server]
	}
	s.binary = s.build(t, "gateway", "./cmd/gateway")
	s.start(t)
	s.kill(t)
	s.env = append(s.env, "GATEWAY_ADMIN_TOKEN="+chaosToken, "GATEWAY_LOG_LEVEL=warn")
	s.startAgain(t)
	return s
}

// admin sends a request to the administration API and returns the response.
func (s *stage) admin(t *testing.T, method, path, body string, want int) string {
	t.Helper()
	status, _, answer, err := send(t.Context(), method, s.base+path, chaosToken, []byte(body))
	if err != nil || status != want {
		t.Fatalf("%s %s: %d, %v: %s", method, path, status, err, answer)
	}
	return string(answer)
}

// serverIDs returns the IDs of the servers of the open project, by alias.
func (s *stage) serverIDs(t *testing.T) map[string]string {
	t.Helper()
	var list struct{ Items []struct{ ID, Alias string } }
	if err := json.Unmarshal([]byte(s.admin(t, http.MethodGet, "/api/projects/open/servers", "", http.StatusOK)), &list); err != nil {
		t.Fatal(err)
	}
	ids := map[string]string{}
	for _, server := range list.Items {
		ids[server.Alias] = server.ID
	}
	return ids
}

// callOf calls a tool of the open project.
func (s *stage) callOf(ctx context.Context, client *http.Client, tool string) (string, error) {
	return s.answerTo(ctx, client, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+`","arguments":{"text":"hi"}}}`)
}

func (s *stage) request(t *testing.T, client *http.Client, body string) string {
	t.Helper()
	answer, err := s.answerTo(t.Context(), client, body)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func (s *stage) answerTo(ctx context.Context, client *http.Client, body string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.endpoint("open"), bytes.NewReader([]byte(body)))
	if err != nil {
		return "", err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	return string(answer), err
}

// residentMemory returns the resident memory of a process in bytes (proc(5)).
func residentMemory(t *testing.T, pid int) int64 {
	t.Helper()
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		t.Fatal(err)
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(b), &size, &resident); err != nil {
		t.Fatal(err)
	}
	return resident * int64(os.Getpagesize())
}

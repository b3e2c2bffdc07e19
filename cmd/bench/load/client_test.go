package load_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mcpgateway/cmd/bench/load"
	"mcpgateway/services/background/leaktest"
	"mcpgateway/services/upstream/upstreamtest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// endpoint returns the endpoint at a URL.
func endpoint(t *testing.T, raw, revision string) load.Endpoint {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return load.Endpoint{Address: u.Host, Path: u.Path, Revision: revision, Tool: "echo", Key: "secret"}
}

// server returns an MCP server that requires the key, and its endpoint.
func server(t *testing.T, revision string, options upstreamtest.Options) (*upstreamtest.Server, load.Endpoint) {
	t.Helper()
	options.Token = "secret"
	s := upstreamtest.New(options)
	return s, endpoint(t, s.Start(t), revision)
}

func TestClientCallsAndLists(t *testing.T) {
	for _, revision := range []string{load.Sessions, load.Stateless} {
		t.Run(revision, func(t *testing.T) {
			s, e := server(t, revision, upstreamtest.Options{Tools: upstreamtest.Standard(25), Answer: upstreamtest.AnswerJSON, PageSize: 10})
			clients, err := load.OpenAll(t.Context(), e, 3)
			if err != nil {
				t.Fatal(err)
			}
			defer load.CloseAll(clients)
			for range 5 {
				for _, c := range clients {
					if err := c.Call(); err != nil {
						t.Fatal(err)
					}
				}
			}
			if s.Calls() != 15 {
				t.Errorf("server received %d calls, want 15", s.Calls())
			}
			texts := map[string]bool{}
			for _, r := range s.Requests() {
				if found := regexp.MustCompile(`"text":"(\w{32})"`).FindSubmatch(r.Body); found != nil {
					texts[string(found[1])] = true
				}
			}
			if len(texts) != 15 {
				t.Errorf("%d distinct texts in 15 calls, want 15", len(texts))
			}
			for _, n := range []int{25, 25, 35, 5, 0} {
				if n != 25 {
					s.SetTools(upstreamtest.Standard(n)...)
				}
				tools, size, err := clients[0].List()
				if err != nil || tools != n || size < n*100 {
					t.Errorf("List() = %d tools, %d bytes, %v, want %d tools", tools, size, err, n)
				}
			}
		})
	}
}

func TestRunCountsCalls(t *testing.T) {
	s, e := server(t, load.Sessions, upstreamtest.Options{Tools: upstreamtest.Standard(1)})
	clients, err := load.OpenAll(t.Context(), e, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer load.CloseAll(clients)
	closed, err := load.ClosedLoop(t.Context(), clients, 50*time.Millisecond)
	if err != nil || closed.Count() == 0 || int64(closed.Count()) != s.Calls() || closed.PerSecond() <= 0 {
		t.Fatalf("Closed() = %+v, %v, want %d calls", closed, err, s.Calls())
	}
	before := s.Calls()
	open, err := load.OpenLoop(t.Context(), clients, 500, 100*time.Millisecond)
	if err != nil || open.Count() != 50 || s.Calls()-before != 50 {
		t.Errorf("Due() at 500/s for 100 ms = %d calls, %v; server received %d; want 50", open.Count(), err, s.Calls()-before)
	}
}

func TestStallDelaysDueCalls(t *testing.T) {
	var slow atomic.Bool
	fast := upstreamtest.New(upstreamtest.Options{Tools: upstreamtest.Standard(1)})
	t.Cleanup(fast.Close)
	const stall = 200 * time.Millisecond
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if slow.CompareAndSwap(true, false) {
			<-time.After(stall)
		}
		fast.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	c, err := load.OpenAll(t.Context(), endpoint(t, web.URL+"/mcp", load.Sessions), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer load.CloseAll(c)
	slow.Store(true)
	open, err := load.OpenLoop(t.Context(), c, 1000, stall/2)
	if err != nil {
		t.Fatal(err)
	}
	// All calls were due while the first one stalled.
	if open.Count() != 100 || open.Quantile(0) < stall/2 {
		t.Errorf("Due() = %d calls, fastest %v, want 100 of at least %v", open.Count(), open.Quantile(0), stall/2)
	}
}

func TestWrongResponseEndsRun(t *testing.T) {
	const echo = `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"TEXT"}]}}`
	for name, c := range map[string]struct {
		status int
		answer string
		want   string // in the error
	}{
		"another status":     {503, echo, "HTTP 503"},
		"not JSON":           {200, `event: message`, "not a JSON object"},
		"another id":         {200, strings.Replace(echo, "ID", "7", 1), `response id "7"`},
		"JSON-RPC error":     {200, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32603,"message":"broken"}}`, "broken"},
		"failed tool":        {200, strings.Replace(echo, `"content"`, `"isError":true,"content"`, 1), "tool failed"},
		"another text":       {200, strings.Replace(echo, "TEXT", "something else", 1), "something else"},
		"empty content":      {200, strings.Replace(echo, `{"type":"text","text":"TEXT"}`, "", 1), "one content block"},
		"non-object content": {200, strings.Replace(echo, `{"type":"text","text":"TEXT"}`, "1", 1), "not an object"},
	} {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int64
			id, text := regexp.MustCompile(`"id":(\d+)`), regexp.MustCompile(`"text":"(\w+)"`)
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					return
				}
				status, answer := http.StatusOK, echo
				if calls.Add(1) > 3 { // the first three are correct
					status, answer = c.status, c.answer
				}
				answer = strings.ReplaceAll(answer, "ID", string(id.FindSubmatch(body)[1]))
				w.WriteHeader(status)
				fmt.Fprint(w, strings.ReplaceAll(answer, "TEXT", string(text.FindSubmatch(body)[1])))
			}))
			t.Cleanup(web.Close)
			clients, err := load.OpenAll(t.Context(), endpoint(t, web.URL+"/", load.Stateless), 1)
			if err != nil {
				t.Fatal(err)
			}
			defer load.CloseAll(clients)
			if _, err := load.ClosedLoop(t.Context(), clients, time.Minute); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Closed() = %v, want an error with %q", err, c.want)
			}
			if calls.Load() != 4 {
				t.Errorf("%d calls, want 4", calls.Load())
			}
		})
	}
}

func TestRunEndsWithContext(t *testing.T) {
	_, e := server(t, load.Sessions, upstreamtest.Options{Tools: upstreamtest.Standard(1)})
	clients, err := load.OpenAll(t.Context(), e, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer load.CloseAll(clients)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := load.ClosedLoop(ctx, clients, time.Minute); err == nil {
		t.Error("Closed with a cancelled context = nil error")
	}
	if _, err := load.OpenLoop(ctx, clients, 10, time.Minute); err == nil {
		t.Error("Due with a cancelled context = nil error")
	}
}

func TestOpenErrors(t *testing.T) {
	_, e := server(t, load.Sessions, upstreamtest.Options{})
	e.Key = "another"
	if _, err := load.OpenAll(t.Context(), e, 2); err == nil || !strings.Contains(err.Error(), "HTTP 401") {
		t.Errorf("OpenAll with a wrong key = %v, want HTTP 401", err)
	}
	e.Address = "127.0.0.1:1"
	if _, err := load.Open(t.Context(), e, 0); err == nil {
		t.Error("Open of a closed port = nil error")
	}
}

func TestStreamErr(t *testing.T) {
	s, e := server(t, load.Sessions, upstreamtest.Options{})
	c, err := load.Open(t.Context(), e, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	stream, err := c.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	s.Notify("notifications/tools/list_changed", nil)
	if err := stream.Err(); err != nil {
		t.Errorf("Err() of an open stream = %v, want nil", err)
	}
	s.Close()
	if err := s.Wait(t.Context(), func() bool { return s.Stats().Streams == 0 }); err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		if err = stream.Err(); err != nil {
			break
		}
	}
	if err == nil {
		t.Error("Err() of a closed stream = nil")
	}
	e.Key = "another"
	if _, err := c.Listen(t.Context()); err == nil {
		t.Error("Listen on a closed server = nil error")
	}
}

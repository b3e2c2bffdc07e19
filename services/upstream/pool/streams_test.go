package pool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mcpgateway/services/fault"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/pool"
	"mcpgateway/services/upstream/upstreamtest"
)

func progressCall(n int, token string) *upstream.Request {
	return &upstream.Request{Method: "tools/call", Params: fmt.Appendf(nil, `{"name":"progress","arguments":{"n":%d},"_meta":{"progressToken":%s}}`, n, token)}
}

func TestNotificationsArriveInOrder(t *testing.T) {
	for _, era := range upstreamtest.AllEras() {
		t.Run(string(era), func(t *testing.T) {
			s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{era}, Tools: upstreamtest.Standard(6)})
			p, to := newPool(t), target(s.Start(t))
			var all sync.WaitGroup
			for caller := range 8 {
				all.Go(func() {
					var steps []float64
					r := progressCall(20, fmt.Sprintf(`"t%d"`, caller))
					r.Notify = func(method string, params []byte) {
						var n struct {
							ProgressToken string
							Progress      float64
						}
						if err := json.Unmarshal(params, &n); err != nil || method != "notifications/progress" || n.ProgressToken != fmt.Sprint("t", caller) {
							t.Errorf("caller %d received %s %s", caller, method, params)
						}
						steps = append(steps, n.Progress)
					}
					if resp := mustCall(t, p, to, r); textOf(t, resp.Result) != "sent 20" {
						t.Errorf("got %s", resp.Result)
					}
					if len(steps) != 20 || !slices.IsSorted(steps) {
						t.Errorf("got %v", steps)
					}
				})
			}
			all.Wait()
		})
	}
}

func TestSlowReceiverDelaysNoOtherCall(t *testing.T) {
	s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{upstreamtest.Era20241105}, Tools: upstreamtest.Standard(6)})
	p, to := newPool(t), target(s.Start(t))
	mustCall(t, p, to, echo("warm"))
	stuck, proceed := make(chan struct{}), make(chan struct{})
	slow := make(chan int, 1)
	go func() {
		received := 0
		r := progressCall(500, `1`)
		r.Notify = func(string, []byte) {
			if received++; received == 1 {
				close(stuck)
				<-proceed
			}
		}
		if resp, err := p.Call(testContext(t), to, r); err != nil || resp.Error != nil {
			t.Errorf("slow call: %v", err)
		}
		slow <- received
	}()
	<-stuck
	mustCall(t, p, to, echo("quick"))
	close(proceed)
	if n := <-slow; n < 2 || n > 500 {
		t.Errorf("slow receiver got %d notifications", n)
	}
}

func TestServerRequestsDuringCall(t *testing.T) {
	ask := func(method string) upstreamtest.Tool {
		return upstreamtest.Tool{Definition: `{"name":"ask"}`, Call: func(ctx context.Context, c *upstreamtest.Call) upstreamtest.Result {
			raw, err := c.Request(ctx, method, []byte(`{"q":1e400}`))
			if err != nil {
				return upstreamtest.Failure(err.Error())
			}
			var m rpc
			_ = json.Unmarshal(raw, &m)
			return upstreamtest.Text(string(m.Result) + string(m.Error))
		}}
	}
	serve := func(_ context.Context, method string, params []byte) (result, rpcError []byte) {
		switch method {
		case "elicitation/create":
			return append(append([]byte(`{"asked":`), params...), '}'), nil
		case "roots/list":
			return nil, []byte(`{"code":-1,"message":"not today"}`)
		}
		return nil, nil
	}
	for _, tc := range []struct {
		name, method, want string
		serve              func(context.Context, string, []byte) ([]byte, []byte)
	}{
		{"ping", "ping", `{}`, nil},
		{"ping with Serve", "ping", `{}`, serve},
		{"rejected", "sampling/createMessage", `-32601`, nil},
		{"not served", "sampling/createMessage", `-32601`, serve},
		{"served", "elicitation/create", `{"asked":{"q":1e400}}`, serve},
		{"served with an error", "roots/list", `{"code":-1,"message":"not today"}`, serve},
	} {
		for _, era := range handshakeEras() {
			t.Run(tc.name+"/"+string(era), func(t *testing.T) {
				s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{era}, Tools: []upstreamtest.Tool{ask(tc.method)}})
				resp := mustCall(t, newPool(t), target(s.Start(t)), &upstream.Request{Method: "tools/call", Params: []byte(`{"name":"ask"}`), Serve: tc.serve})
				if got := textOf(t, resp.Result); !strings.Contains(got, tc.want) {
					t.Errorf("response to upstream = %s, want %s", got, tc.want)
				}
			})
		}
	}
}

func TestBrokenStreamIsResumed(t *testing.T) {
	s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{upstreamtest.Era20251125}, Tools: upstreamtest.Standard(1), Resumable: true})
	p, to := newPool(t), target(s.Start(t))
	mustCall(t, p, to, echo("warm"))
	s.SetFault(upstreamtest.Fault{On: upstreamtest.OnCall, Kind: upstreamtest.CutStream, Retry: time.Millisecond})
	resp := mustCall(t, p, to, echo("resumed"))
	if got := textOf(t, resp.Result); got != "resumed" {
		t.Errorf("got %s", got)
	}
	var resumed http.Header
	for _, r := range s.Requests() {
		if r.HTTPMethod == http.MethodGet {
			resumed = r.Header
		}
	}
	if resumed.Get("Last-Event-Id") == "" || resumed.Get("Mcp-Session-Id") == "" || resumed.Get("Accept") != "text/event-stream" || resumed.Get("Content-Type") != "" {
		t.Errorf("resumed with %v", resumed)
	}
	if n := s.Calls(); n != 2 {
		t.Errorf("tool was called %d times, want 2", n)
	}
}

func TestStreamIsResumedAfterRetryField(t *testing.T) {
	for _, tc := range []struct {
		name        string
		retry, want time.Duration
	}{
		{"requested delay", 150 * time.Millisecond, 150 * time.Millisecond},
		{"minimum delay", time.Millisecond, 100 * time.Millisecond},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, called := &counting{seen: map[string]int{}}, ""
				p := pool.New(&http.Client{Transport: inProcess{http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					switch {
					case r.Header.Get("Last-Event-Id") == "e1":
						writeEvents(w, `data: {"jsonrpc":"2.0","id":`+called+`,"result":{"resumed":true}}`+"\n\n")
					case r.Header.Get("Mcp-Session-Id") == "" || r.Method != http.MethodPost:
						c.ServeHTTP(w, r)
					default:
						m := received(r)
						if m.Method != "tools/call" {
							w.WriteHeader(http.StatusAccepted)
							return
						}
						called = string(m.ID)
						writeEvents(w, fmt.Sprintf("id: e1\nretry: %d\ndata:\n\n", tc.retry.Milliseconds()))
					}
				})}}, "1")
				defer p.Close()
				began := time.Now()
				resp := mustCall(t, p, target("http://resumed.example/mcp"), echo("x"))
				if took := time.Since(began); string(resp.Result) != `{"resumed":true}` || took != tc.want {
					t.Errorf("got %s after %s, want %s", resp.Result, took, tc.want)
				}
			})
		})
	}
}

func TestUnresumableStreamFails(t *testing.T) {
	for _, tc := range []struct {
		name, revision, first string
		resume                func(w http.ResponseWriter)
		gets                  int
	}{
		{"no IDs", "2025-11-25", "data:\n\n", nil, 0},
		{"no sessions", "2026-07-28", "id: 1\ndata:\n\n", nil, 0},
		{"rejected", "2025-11-25", "retry: 1\nid: 1\ndata:\n\n", func(w http.ResponseWriter) { w.WriteHeader(405) }, 1},
		{"no stream", "2025-11-25", "retry: 1\nid: 1\ndata:\n\n", func(w http.ResponseWriter) { writeJSON(w, "{}") }, 1},
		{"failing", "2025-11-25", "retry: 1\nid: 1\ndata:\n\n", func(w http.ResponseWriter) { w.WriteHeader(502) }, 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			gets := make(chan struct{}, 100)
			url := handmade(t, tc.revision, func(w http.ResponseWriter, r *http.Request, _ rpc) {
				switch r.Method {
				case http.MethodPost:
					writeEvents(w, tc.first)
				case http.MethodGet:
					gets <- struct{}{}
					tc.resume(w)
				}
			})
			_, err := newPool(t).Call(testContext(t), target(url), echo("x"))
			wantFault(t, err, fault.CodeUpstreamUnavailable)
			if len(gets) != tc.gets {
				t.Errorf("%d attempts to resume, want %d", len(gets), tc.gets)
			}
		})
	}
}

func TestTimeoutSendsCancellation(t *testing.T) {
	for _, era := range upstreamtest.AllEras() {
		t.Run(string(era), func(t *testing.T) {
			s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{era}, Tools: upstreamtest.Standard(2)})
			p, to := newPool(t), target(s.Start(t))
			mustCall(t, p, to, echo("warm"))
			short := *to
			short.Timeout = 150 * time.Millisecond
			_, err := p.Call(testContext(t), &short, &upstream.Request{Method: "tools/call", Params: []byte(`{"name":"sleep","arguments":{"ms":60000}}`)})
			wantFault(t, err, fault.CodeUpstreamTimeout, "within 15")
			if err := s.Wait(testContext(t), func() bool { return s.Stats().Cancelled == 1 }); err != nil {
				t.Errorf("upstream continues: %+v", s.Stats())
			}
			if h := p.Health("srv"); h.LastCode != fault.CodeUpstreamTimeout || h.ConsecutiveFailures != 1 {
				t.Errorf("Health() = %+v", h)
			}
			checkCancellation(t, s, era, "timed out")
			mustCall(t, p, to, echo("after"))
		})
	}
}

// checkCancellation checks that the upstream received the cancellation of its
// request.
func checkCancellation(t *testing.T, s *upstreamtest.Server, era upstreamtest.Era, reason string) {
	t.Helper()
	if era.Stateless() {
		if n := len(s.Requests("notifications/cancelled")); n != 0 {
			t.Errorf("stateless upstream received %d cancellations", n)
		}
		return
	}
	got, err := s.WaitForRequests(testContext(t), "notifications/cancelled", 1)
	if err != nil {
		t.Fatal("no cancellation was sent")
	}
	calls := s.Requests("tools/call")
	var m struct {
		Params struct {
			RequestID json.RawMessage
			Reason    string
		}
	}
	if err := json.Unmarshal(got[0].Body, &m); err != nil || string(m.Params.RequestID) != string(calls[len(calls)-1].ID) || !strings.Contains(m.Params.Reason, reason) {
		t.Errorf("got %s", got[0].Body)
	}
}

func TestCancelledCallIsNotFailure(t *testing.T) {
	for _, era := range upstreamtest.AllEras() {
		t.Run(string(era), func(t *testing.T) {
			s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{era}, Tools: upstreamtest.Standard(2)})
			p, to := newPool(t), target(s.Start(t))
			mustCall(t, p, to, echo("warm"))
			ctx, cancel := context.WithCancel(testContext(t))
			go func() {
				_ = s.Wait(testContext(t), func() bool { return s.Stats().Calls == 2 }) // a recorded request may not be cancellable yet
				cancel()
			}()
			_, err := p.Call(ctx, to, &upstream.Request{Method: "tools/call", Params: []byte(`{"name":"sleep","arguments":{"ms":60000}}`)})
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("got %v", err)
			}
			if h := p.Health("srv"); !h.OK() || !h.LastFailure.IsZero() {
				t.Errorf("Health() = %+v", h)
			}
			if err := s.Wait(testContext(t), func() bool { return s.Stats().Cancelled == 1 }); err != nil {
				t.Errorf("upstream continues: %+v", s.Stats())
			}
			checkCancellation(t, s, era, "caller")
			mustCall(t, p, to, echo("after"))
		})
	}
}

func TestCancelledContextSendsNothing(t *testing.T) {
	s := upstreamtest.New(upstreamtest.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := newPool(t).Call(ctx, target(s.Start(t)), echo("x"))
	if !errors.Is(err, context.Canceled) || len(s.Requests("tools/call")) != 0 {
		t.Errorf("got %v after %d calls", err, len(s.Requests("tools/call")))
	}
}

func TestHangingUpstreamDelaysOnlyItself(t *testing.T) {
	for _, on := range []string{upstreamtest.OnAccept, upstreamtest.OnAny, upstreamtest.OnInitialize, upstreamtest.OnCall} {
		t.Run("on "+on, func(t *testing.T) {
			hung := upstreamtest.New(upstreamtest.Options{Tools: upstreamtest.Standard(1)})
			hung.SetFault(upstreamtest.Fault{On: on, Kind: upstreamtest.Hang})
			well := upstreamtest.New(upstreamtest.Options{Tools: upstreamtest.Standard(1)})
			p := newPool(t)
			bad := target(hung.Start(t), func(t *upstream.Target) { t.ServerID = "hung" })
			good := target(well.Start(t))
			ctx, cancel := context.WithCancel(testContext(t))
			defer cancel()
			var all sync.WaitGroup
			var ended atomic.Int64
			for range 10 {
				all.Go(func() {
					_, err := p.Call(ctx, bad, echo("x"))
					ended.Add(1)
					if !errors.Is(err, context.Canceled) {
						t.Errorf("call to hanging upstream: %v", err)
					}
				})
			}
			for range 20 {
				mustCall(t, p, good, echo("y"))
			}
			if n := ended.Load(); n > 0 {
				t.Errorf("%d calls to the hanging upstream ended before 20 calls to another", n)
			}
			cancel()
			all.Wait()
			short := *bad
			short.Timeout = 400 * time.Millisecond
			_, err := p.Call(testContext(t), &short, echo("x"))
			wantFault(t, err, fault.CodeUpstreamTimeout, "400ms")
			if on != upstreamtest.OnCall {
				_, err := p.Describe(testContext(t), &short)
				wantFault(t, err, fault.CodeUpstreamTimeout, "400ms")
			}
			hung.SetFault() // it recovers automatically
			if err := retry(func() error { _, err := p.Call(testContext(t), bad, echo("z")); return err }); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestUnansweredProbeFallsBack(t *testing.T) {
	s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{upstreamtest.Era20250618}, Tools: upstreamtest.Standard(1)})
	s.SetFault(upstreamtest.Fault{On: "server/discover", Kind: upstreamtest.Hang})
	p, to := newPool(t), target(s.Start(t), within(3*time.Second))
	mustCall(t, p, to, echo("x"))
	if n := len(s.Requests("server/discover")); n != 1 {
		t.Errorf("%d probes", n)
	}
}

func TestEndlessStreamTimesOut(t *testing.T) {
	for _, era := range upstreamtest.AllEras() {
		s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{era}, Tools: upstreamtest.Standard(1)})
		p, to := newPool(t), target(s.Start(t))
		mustCall(t, p, to, echo("warm"))
		s.SetFault(upstreamtest.Fault{On: upstreamtest.OnCall, Kind: upstreamtest.EndlessSSE})
		to.Timeout = 200 * time.Millisecond
		_, err := p.Call(testContext(t), to, echo("x"))
		wantFault(t, err, fault.CodeUpstreamTimeout)
		p.Close()
		s.Close()
	}
}

func TestEventStreamConnectionIsReused(t *testing.T) {
	s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{upstreamtest.Era20251125}, Tools: upstreamtest.Standard(1), Answer: upstreamtest.AnswerSSE})
	conns := make(chan struct{}, 1000)
	srv := httptest.NewUnstartedServer(s)
	srv.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			conns <- struct{}{}
		}
	}
	srv.Start()
	defer srv.Close()
	p, to := newPool(t), target(srv.URL+"/mcp")
	defer p.Close()
	for range 200 {
		mustCall(t, p, to, echo("x"))
	}
	// The rest of a stream is read after the response, so a call can find the
	// connection in use and open another.
	if n := len(conns); n > 20 {
		t.Errorf("200 calls took %d connections", n)
	}
}

func TestHeadersPerRequest(t *testing.T) {
	for _, era := range upstreamtest.AllEras() {
		s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{era}, Tools: upstreamtest.Standard(1), Token: "b"})
		p, to := newPool(t), target(s.Start(t))
		missing := fault.Upstream(fault.CodeUpstreamUnauthorized, "the variable X is not set")
		var err error
		token := "b"
		to.Headers = func(context.Context) (http.Header, error) {
			return http.Header{"Authorization": {"Bearer " + token}}, err
		}
		mustCall(t, p, to, echo("x"))
		token = "a"
		_, callErr := p.Call(testContext(t), to, echo("x"))
		wantFault(t, callErr, fault.CodeUpstreamUnauthorized, "401")
		token, err = "b", missing
		if _, callErr = p.Call(testContext(t), to, echo("x")); !errors.Is(callErr, missing) {
			t.Errorf("got %v", callErr)
		}
		err = nil
		mustCall(t, p, to, echo("x"))
	}
}

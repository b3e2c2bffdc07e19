package pool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/upstreamtest"
)

// person responds to every elicitation with a name and counts them.
type person struct {
	name     string
	requests atomic.Int64
}

func (a *person) serve(_ context.Context, _ string, params []byte) (result, rpcError []byte) {
	a.requests.Add(1)
	return fmt.Appendf(nil, `{"by":%q,"asked":%s}`, a.name, params), nil
}

// calls returns a call of the tool "ask" by the person's client.
func (a *person) calls() *upstream.Request {
	return &upstream.Request{
		Method: "tools/call", Params: []byte(`{"name":"ask"}`), Serve: a.serve,
		Client: upstream.Client{SessionID: a.name, Capabilities: []byte(`{"elicitation":{}}`)},
	}
}

// put sends a request to the client and returns the response.
func put(ctx context.Context, c *upstreamtest.Call, method string) string {
	raw, err := c.Request(ctx, method, []byte(`{"q":1}`))
	if err != nil {
		return err.Error()
	}
	var m rpc
	if err := json.Unmarshal(raw, &m); err != nil {
		return err.Error()
	}
	return string(m.Result) + string(m.Error)
}

// asking returns a server whose tool "ask" sends requests on the GET stream.
func asking(o upstreamtest.Options, call func(ctx context.Context, c *upstreamtest.Call) string) *upstreamtest.Server {
	o.AskOnStream = true
	if o.Eras == nil {
		o.Eras = []upstreamtest.Era{upstreamtest.Era20251125}
	}
	o.Tools = []upstreamtest.Tool{{Definition: `{"name":"ask"}`, Call: func(ctx context.Context, c *upstreamtest.Call) upstreamtest.Result {
		return upstreamtest.Text(call(ctx, c))
	}}}
	return upstreamtest.New(o)
}

func elicit(ctx context.Context, c *upstreamtest.Call) string {
	return put(ctx, c, "elicitation/create")
}

func gets(s *upstreamtest.Server) (n int) {
	for _, r := range s.Requests() {
		if r.HTTPMethod == http.MethodGet {
			n++
		}
	}
	return n
}

func perClient(t *upstream.Target) { t.SessionMode = models.SessionPerClient }

func TestRequestOnGetStreamReachesOnlyCall(t *testing.T) {
	shared := func(*upstream.Target) {}
	for _, tc := range []struct {
		name, client string
		mode         func(*upstream.Target)
		streams      int // for three calls
	}{
		{"shared", "ann", shared, 1}, {"per client", "ann", perClient, 1}, {"per call", "", perClient, 3},
	} {
		for _, era := range handshakeEras() {
			t.Run(tc.name+"/"+string(era), func(t *testing.T) {
				s := asking(upstreamtest.Options{Eras: []upstreamtest.Era{era}}, elicit)
				p, to := newPool(t), target(s.Start(t), tc.mode)
				ann := &person{name: tc.client}
				for range 3 {
					if got, want := textOf(t, mustCall(t, p, to, ann.calls()).Result), fmt.Sprintf(`{"by":%q,"asked":{"q":1}}`, tc.client); got != want {
						t.Errorf("response to upstream = %s, want %s", got, want)
					}
				}
				if n := gets(s); n != tc.streams {
					t.Errorf("3 calls opened %d streams, want %d", n, tc.streams)
				}
				p.Close()
				if err := s.WaitForStreams(testContext(t), 0); err != nil {
					t.Errorf("stream is open after Close: %v", err)
				}
			})
		}
	}
}

func TestGetStreamOpensOnlyIfUseful(t *testing.T) {
	for name, edit := range map[string]func(*upstream.Request){
		"without Serve":        func(r *upstream.Request) { r.Serve = nil },
		"without capabilities": func(r *upstream.Request) { r.Client.Capabilities = nil },
	} {
		t.Run(name, func(t *testing.T) {
			s := asking(upstreamtest.Options{}, elicit)
			r := (&person{name: "ann"}).calls()
			edit(r)
			got := textOf(t, mustCall(t, newPool(t), target(s.Start(t)), r).Result)
			if got != upstreamtest.ErrNoStream.Error() || gets(s) != 0 {
				t.Errorf("response to upstream = %s on %d streams", got, gets(s))
			}
		})
	}
	t.Run("without a session", func(t *testing.T) {
		s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{upstreamtest.Era20251125}, Sessionless: true, Tools: upstreamtest.Standard(1)})
		r := (&person{name: "ann"}).calls()
		r.Params = echo("x").Params
		mustCall(t, newPool(t), target(s.Start(t)), r)
		if n := gets(s); n != 0 {
			t.Errorf("%d streams were opened in a shared session", n)
		}
	})
}

func TestAmbiguousRequestIsRejected(t *testing.T) {
	for _, tc := range []struct {
		name string
		edit func(*upstream.Request) // of the second call
	}{
		{"both can answer", func(*upstream.Request) {}},
		{"one cannot answer", func(r *upstream.Request) { r.Serve = nil }},
	} {
		for _, era := range handshakeEras() {
			t.Run(tc.name+"/"+string(era), func(t *testing.T) {
				arrived, proceed := make(chan struct{}), make(chan struct{})
				s := asking(upstreamtest.Options{Eras: []upstreamtest.Era{era}}, func(ctx context.Context, c *upstreamtest.Call) string {
					arrived <- struct{}{}
					<-proceed
					return elicit(ctx, c)
				})
				p, to := newPool(t), target(s.Start(t))
				ann, bob := &person{name: "ann"}, &person{name: "bob"}
				first, second := ann.calls(), bob.calls()
				tc.edit(second)
				results := make(chan string, 2)
				for _, r := range []*upstream.Request{first, second} {
					go func() {
						resp, err := p.Call(testContext(t), to, r)
						if err != nil {
							results <- err.Error()
							return
						}
						results <- string(resp.Result)
					}()
					<-arrived
				}
				// Both calls send a request before either receives a response.
				proceed <- struct{}{}
				if got := <-results; !strings.Contains(got, "-32603") || !strings.Contains(got, "Several calls") {
					t.Errorf("response to upstream = %s", got)
				}
				if ann.requests.Load()+bob.requests.Load() != 0 {
					t.Error("an ambiguous request reached a client")
				}
				proceed <- struct{}{}
				<-results
				// A single call in flight receives requests again.
				go func() { <-arrived; proceed <- struct{}{} }()
				if got := textOf(t, mustCall(t, p, to, bob.calls()).Result); !strings.Contains(got, `"by":"bob"`) {
					t.Errorf("response to upstream = %s", got)
				}
				if n := len(s.Requests("initialize")); n != 1 {
					t.Errorf("%d sessions, want one for both", n)
				}
			})
		}
	}
}

func TestMissingGetStreamIsTriedOnce(t *testing.T) {
	s := asking(upstreamtest.Options{NoStream: true}, elicit)
	p, to := newPool(t), target(s.Start(t))
	for range 3 {
		if got := textOf(t, mustCall(t, p, to, (&person{name: "ann"}).calls()).Result); got != upstreamtest.ErrNoStream.Error() {
			t.Errorf("response to upstream = %s", got)
		}
	}
	if n := gets(s); n != 1 {
		t.Errorf("%d GET requests", n)
	}
}

func TestGetStreamReopensDuringCall(t *testing.T) {
	var s *upstreamtest.Server
	s = asking(upstreamtest.Options{}, func(ctx context.Context, c *upstreamtest.Call) string {
		first := elicit(ctx, c)
		s.CloseStreams()
		if err := s.Wait(ctx, func() bool { return gets(s) == 2 && s.Stats().Streams == 1 }); err != nil {
			return err.Error()
		}
		return first + elicit(ctx, c)
	})
	p, to := newPool(t), target(s.Start(t))
	ann := &person{name: "ann"}
	if got := textOf(t, mustCall(t, p, to, ann.calls()).Result); strings.Count(got, `"by":"ann"`) != 2 {
		t.Errorf("response to upstream = %s", got)
	}
}

func TestRequestOfAbandonedCallIsRejected(t *testing.T) {
	for _, tc := range []struct {
		name     string
		mode     func(*upstream.Target)
		sessions int
	}{
		{"shared", func(*upstream.Target) {}, 2}, {"per client", perClient, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			arrived, proceed, late := make(chan struct{}), make(chan struct{}), make(chan string, 1)
			s := asking(upstreamtest.Options{}, func(ctx context.Context, c *upstreamtest.Call) string {
				if !strings.Contains(string(c.Params), "ignore-cancel") {
					arrived <- struct{}{}
					<-proceed
					return elicit(ctx, c)
				}
				arrived <- struct{}{}
				<-proceed
				lateCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
				defer cancel()
				late <- elicit(lateCtx, c) // continues although it was cancelled
				return "late"
			})
			p, to := newPool(t), target(s.Start(t), tc.mode)
			ann, bob := &person{name: "ann"}, &person{name: "bob"}
			ctx, cancel := context.WithCancel(testContext(t))
			gone, done := make(chan error, 1), make(chan *upstream.Response, 1)
			go func() {
				r := ann.calls()
				r.Params = []byte(`{"name":"ask","arguments":{"ignore-cancel":true}}`)
				_, err := p.Call(ctx, to, r)
				gone <- err
			}()
			<-arrived
			go func() {
				resp, _ := p.Call(testContext(t), to, bob.calls())
				done <- resp
			}()
			<-arrived
			cancel()
			if err := <-gone; !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			proceed <- struct{}{}
			proceed <- struct{}{}
			// Ann's own session still exists, but no call handles its requests.
			got, answer := <-late, <-done
			if strings.Contains(got, `"by"`) || ann.requests.Load() != 0 {
				t.Errorf("response to upstream = %s", got)
			}
			wantBob := int64(0) // in the shared session bob's requests cannot be distinguished from ann's
			if tc.name == "per client" {
				wantBob = 1
			}
			if n := bob.requests.Load(); n != wantBob || answer == nil {
				t.Errorf("bob received %d requests, want %d", n, wantBob)
			}
			go func() { <-arrived; proceed <- struct{}{} }()
			if got := textOf(t, mustCall(t, p, to, bob.calls()).Result); !strings.Contains(got, `"by":"bob"`) {
				t.Errorf("later response to upstream = %s", got)
			}
			go func() { <-arrived; proceed <- struct{}{} }()
			mustCall(t, p, to, ann.calls()) // her own session remains in use
			if n := len(s.Requests("initialize")); n != tc.sessions {
				t.Errorf("%d sessions, want %d", n, tc.sessions)
			}
		})
	}
}

func TestProgressOnGetStream(t *testing.T) {
	received := make(chan string)
	var s *upstreamtest.Server
	s = asking(upstreamtest.Options{}, func(_ context.Context, c *upstreamtest.Call) string {
		s.Notify("notifications/progress", []byte(`{"progressToken":"other","progress":1}`))
		s.Notify("notifications/message", []byte(`{"level":"info","data":"x"}`))
		s.Notify("notifications/progress", []byte(`{"progressToken":"mine","progress":2}`))
		first := <-received
		_ = c.Progress(3, -1, "") // the test checks what arrives
		second := <-received
		for range 20 { // on both streams concurrently; those on the GET stream may arrive too late
			s.Notify("notifications/progress", []byte(`{"progressToken":"mine","progress":4}`))
			_ = c.Progress(5, -1, "")
		}
		return first + " " + second
	})
	r := (&person{name: "ann"}).calls()
	r.Params = []byte(`{"name":"ask","_meta":{"progressToken":"mine"}}`)
	count, ended := 0, false
	r.Notify = func(method string, params []byte) {
		if count++; count <= 2 {
			received <- method + string(params)
		}
		if ended {
			t.Error("notification after the call")
		}
	}
	got := textOf(t, mustCall(t, newPool(t), target(s.Start(t)), r).Result)
	ended = true
	want := `notifications/progress{"progressToken":"mine","progress":2} notifications/progress{"progressToken":"mine","progress":3}`
	if got != want {
		t.Errorf("received %s, want %s", got, want)
	}
	if count < 22 { // those on the call's own stream arrive before its response
		t.Errorf("%d notifications", count)
	}
}

func TestRequestWithoutCallIsRejected(t *testing.T) {
	called, answers := make(chan struct{}), make(chan rpc, 2)
	url := handmade(t, "2025-11-25", func(w http.ResponseWriter, r *http.Request, m rpc) {
		switch {
		case r.Method == http.MethodGet:
			writeEvents(w, ": open\n\n")
			select {
			case <-called:
			case <-r.Context().Done():
			}
			for _, method := range []string{"ping", "elicitation/create"} {
				writeEvents(w, fmt.Sprintf("data: {\"jsonrpc\":\"2.0\",\"id\":%q,\"method\":%q}\n\n", method, method))
			}
			<-r.Context().Done()
		case m.Method == "":
			if r.Method == http.MethodPost {
				answers <- m
			}
			w.WriteHeader(http.StatusAccepted)
		default:
			writeJSON(w, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":{}}`)
		}
	})
	p := newPool(t)
	mustCall(t, p, target(url), (&person{name: "ann"}).calls())
	close(called)
	got := map[string]string{}
	for range 2 {
		select {
		case m := <-answers:
			got[string(m.ID)] = string(m.Result) + string(m.Error)
		case <-time.After(30 * time.Second):
			t.Fatalf("responses = %v", got)
		}
	}
	if got[`"ping"`] != "{}" || !strings.Contains(got[`"elicitation/create"`], "-32601") {
		t.Errorf("responses = %v", got)
	}
	p.Close()
}

// TestEveryRequestOverHTTPSSEIsAnswered sends requests of many calls at once on
// the stream that they share.
func TestEveryRequestOverHTTPSSEIsAnswered(t *testing.T) {
	const calls = 24
	var waiting sync.WaitGroup
	waiting.Add(calls)
	s := asking(upstreamtest.Options{Eras: []upstreamtest.Era{upstreamtest.Era20241105}}, func(ctx context.Context, c *upstreamtest.Call) string {
		waiting.Done()
		waiting.Wait()
		return elicit(ctx, c)
	})
	p, to := newPool(t), target(s.Start(t), within(10*time.Second))
	ann := &person{name: "ann"}
	var all sync.WaitGroup
	for range calls {
		all.Go(func() {
			response, err := p.Call(testContext(t), to, ann.calls())
			if err != nil {
				t.Error(err)
			} else if text := textOf(t, response.Result); !strings.Contains(text, "Several calls are in flight") && !strings.Contains(text, `"by":"ann"`) {
				t.Error(text)
			}
		})
	}
	all.Wait()
}

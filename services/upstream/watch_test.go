package upstream_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/upstreamtest"
)

// watch is a running Pool.Watch and what it heard.
type watch struct {
	end  context.CancelFunc
	over chan struct{}

	mu      sync.Mutex
	heard   []string
	changed chan struct{}
}

func startWatch(t testing.TB, p *upstream.Pool, to *upstream.Target) *watch {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	w := &watch{end: cancel, over: make(chan struct{}), changed: make(chan struct{})}
	go func() {
		defer close(w.over)
		p.Watch(ctx, to, func(e upstream.Event) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.heard = append(w.heard, strings.TrimPrefix(e.Method, "notifications/"))
			close(w.changed)
			w.changed = make(chan struct{})
		})
	}()
	t.Cleanup(func() { cancel(); <-w.over })
	return w
}

func (w *watch) events() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.heard)
}

// count returns how often a notification was heard; "" stands for an opened
// stream.
func (w *watch) count(method string) (n int) {
	for _, m := range w.events() {
		if m == method {
			n++
		}
	}
	return n
}

// await waits until a notification was heard n times.
func (w *watch) await(t testing.TB, method string, n int) {
	t.Helper()
	limit := time.NewTimer(30 * time.Second)
	defer limit.Stop()
	for {
		w.mu.Lock()
		changed := w.changed
		w.mu.Unlock()
		if w.count(method) >= n {
			return
		}
		select {
		case <-changed:
		case <-w.over:
			t.Fatalf("the watch ended; heard %q", w.events())
		case <-limit.C:
			t.Fatalf("%q was not heard %d times: %q", method, n, w.events())
		}
	}
}

// awaitEnd waits until Watch has returned.
func (w *watch) awaitEnd(t testing.TB) {
	t.Helper()
	select {
	case <-w.over:
	case <-time.After(30 * time.Second):
		t.Fatal("Watch did not return")
	}
}

// everything lets an upstream announce all kinds of changes.
const everything = `{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true}}`

func TestWatchHearsOfChangedLists(t *testing.T) {
	for _, era := range upstreamtest.AllEras() {
		t.Run(string(era), func(t *testing.T) {
			s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{era}, Capabilities: everything, Tools: upstreamtest.Standard(1)})
			p, to := newPool(t), target(s.Start(t))
			mustCall(t, p, to, echo("before"))
			w := startWatch(t, p, to)
			w.await(t, "", 1)
			s.SetTools(upstreamtest.Standard(2)...)
			w.await(t, "tools/list_changed", 1)
			s.Notify(upstream.PromptsListChanged, nil)
			s.Notify(upstream.ResourcesListChanged, nil)
			s.Notify("notifications/message", []byte(`{"level":"info","data":"x"}`))
			s.Notify("notifications/unknown", nil)
			s.SetTools(upstreamtest.Standard(3)...)
			w.await(t, "tools/list_changed", 2)
			want := []string{"", "tools/list_changed", "prompts/list_changed", "resources/list_changed", "tools/list_changed"}
			if got := w.events(); !slices.Equal(got, want) {
				t.Errorf("heard %q, want %q", got, want)
			}
			mustCall(t, p, to, echo("beside the stream"))
			if n := len(s.Requests("initialize")); n > 1 {
				t.Errorf("%d handshakes: the stream and calls do not share a session", n)
			}
			if n := s.Stats().Streams; n != 1 {
				t.Errorf("%d streams are open", n)
			}
			w.end()
			w.awaitEnd(t)
			if era != upstreamtest.Era20241105 { // whose stream is the session's
				if err := s.WaitForStreams(testContext(t), 0); err != nil {
					t.Errorf("a stream stays open behind the watch: %+v", s.Stats())
				}
			}
			mustCall(t, p, to, echo("behind the watch"))
		})
	}
}

func TestWatchHearsOfficialServers(t *testing.T) {
	for _, tc := range []struct {
		name    string
		handler func(func(*http.Request) *mcp.Server) http.Handler
	}{
		{"sessions", func(get func(*http.Request) *mcp.Server) http.Handler { return mcp.NewStreamableHTTPHandler(get, nil) }},
		{"stateless", func(get func(*http.Request) *mcp.Server) http.Handler {
			return mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Stateless: true})
		}},
		{"HTTP+SSE", func(get func(*http.Request) *mcp.Server) http.Handler { return mcp.NewSSEHandler(get, nil) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			sdk := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "1"}, &mcp.ServerOptions{
				SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
				UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
			})
			add := func(name string) {
				sdk.AddTool(&mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					return &mcp.CallToolResult{}, nil
				})
			}
			add("first")
			sdk.AddResource(&mcp.Resource{Name: "r", URI: "test://r"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
				return &mcp.ReadResourceResult{}, nil
			})
			srv := httptest.NewServer(tc.handler(func(*http.Request) *mcp.Server { return sdk }))
			defer srv.Close()
			p := newPool(t)
			defer p.Close() // before the server, which waits for streams
			to := target(srv.URL)
			w := startWatch(t, p, to)
			w.await(t, "", 1)
			add("second")
			w.await(t, "tools/list_changed", 1)
			release, err := p.Subscribe(testContext(t), to, "test://r")
			if err != nil {
				t.Fatal(err)
			}
			defer release()
			if err := sdk.ResourceUpdated(testContext(t), &mcp.ResourceUpdatedNotificationParams{URI: "test://r"}); err != nil {
				t.Fatal(err)
			}
			w.await(t, "resources/updated", 1)
			add("third")
			w.await(t, "tools/list_changed", 2)
			tools, _, _, err := p.ListTools(testContext(t), to)
			if err != nil || len(tools) != 3 {
				t.Errorf("%d tools, %v", len(tools), err)
			}
		})
	}
}

// TestWatchHearsWhatComesWithACall has upstreams without streams of their own.
func TestWatchHearsWhatComesWithACall(t *testing.T) {
	for _, era := range []upstreamtest.Era{upstreamtest.Era20250326, upstreamtest.Era20251125, upstreamtest.Era20260728} {
		t.Run(string(era), func(t *testing.T) {
			announcing := upstreamtest.Tool{Definition: `{"name":"announce"}`, Call: func(_ context.Context, c *upstreamtest.Call) upstreamtest.Result {
				if err := c.Notify(upstream.ToolsListChanged, nil); err != nil {
					return upstreamtest.Failure(err.Error())
				}
				return upstreamtest.Text("done")
			}}
			s := upstreamtest.New(upstreamtest.Options{
				Eras: []upstreamtest.Era{era}, NoStream: true, Capabilities: `{"tools":{}}`, Tools: []upstreamtest.Tool{announcing},
			})
			p, to := newPool(t), target(s.Start(t))
			w := startWatch(t, p, to)
			var notified []string
			call := &upstream.Request{Method: "tools/call", Params: []byte(`{"name":"announce"}`), Notify: func(method string, _ []byte) { notified = append(notified, method) }}
			call.Client.Capabilities = []byte(`{"roots":{}}`) // in a session of its own
			if err := retry(func() error {                    // the watch has begun once it hears something
				if mustCall(t, p, to, call); len(w.events()) == 0 {
					return fmt.Errorf("nothing heard")
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			w.await(t, "tools/list_changed", 1)
			if len(notified) == 0 || notified[0] != upstream.ToolsListChanged {
				t.Errorf("the caller was told %q", notified)
			}
		})
	}
}

func TestUpstreamWithoutAStreamIsNotAskedAgain(t *testing.T) {
	for name, status := range map[string]int{"405": 405, "404": 404, "400": 400, "406": 406, "501": 501, "not a stream": 200, "nothing": 204} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &counting{seen: map[string]int{}}
				up := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Method == http.MethodGet {
						c.count("GET")
						w.Header().Set("Content-Type", "text/html")
						w.WriteHeader(status)
						return
					}
					c.ServeHTTP(w, r)
				})
				p := upstream.NewPool(&http.Client{Transport: inProcess{up}}, "1")
				defer p.Close()
				to := target("http://quiet.example/mcp")
				startWatch(t, p, to)
				for range 100 {
					time.Sleep(10 * time.Minute)
					if _, err := p.Call(t.Context(), to, &upstream.Request{Method: "x/y"}); err != nil {
						t.Fatal(err)
					}
				}
				if seen := c.now(); seen["GET"] != 1 || seen["initialize"] != 1 {
					t.Errorf("in 1,000 minutes: %v", seen)
				}
				time.Sleep(time.Hour) // unused sessions end all the same
				if seen := c.now(); seen["DELETE"] != 1 {
					t.Errorf("the session was not ended: %v", seen)
				}
				if _, err := p.Call(t.Context(), to, &upstream.Request{Method: "x/y"}); err != nil {
					t.Fatal(err)
				}
				if seen := c.now(); seen["GET"] != 2 || seen["initialize"] != 2 {
					t.Errorf("a new session is asked once: %v", seen)
				}
			})
		})
	}
}

func TestStatelessUpstreamWithoutAStreamIsNotAskedAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		capabilities, answer string
		status, asked        int
	}{
		"unknown method":      {`{"tools":{"listChanged":true}}`, `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32601,"message":"no"}}`, 404, 1},
		"unknown with 200":    {`{"tools":{"listChanged":true}}`, `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32601,"message":"no"}}`, 200, 1},
		"not allowed":         {`{"tools":{"listChanged":true}}`, `no`, 405, 1},
		"nothing to announce": {`{"tools":{},"resources":{"listChanged":false}}`, ``, 200, 0},
		"agrees to nothing": {`{"tools":{"listChanged":true}}`, "event: message\ndata: " +
			`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{}}}` + "\n\nevent: message\ndata: " +
			`{"jsonrpc":"2.0","id":$ID,"result":{"resultType":"complete"}}` + "\n\n", 200, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &counting{seen: map[string]int{}}
				up := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					m := received(r)
					c.count(m.Method)
					switch m.Method {
					case "server/discover":
						writeJSON(w, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":`+tc.capabilities+`}}`)
					case "subscriptions/listen":
						w.Header().Set("Content-Type", "application/json")
						if strings.HasPrefix(tc.answer, "event") {
							w.Header().Set("Content-Type", "text/event-stream")
						}
						w.WriteHeader(tc.status)
						_, _ = io.WriteString(w, strings.ReplaceAll(tc.answer, "$ID", string(m.ID)))
					default:
						writeJSON(w, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":{"resultType":"complete","tools":[]}}`)
					}
				})
				p := upstream.NewPool(&http.Client{Transport: inProcess{up}}, "1")
				defer p.Close()
				to := target("http://quiet.example/mcp")
				startWatch(t, p, to)
				for range 100 { // each of which renews the upstream's description
					time.Sleep(10 * time.Minute)
					if _, _, _, err := p.ListTools(t.Context(), to); err != nil {
						t.Fatal(err)
					}
				}
				if seen := c.now(); seen["subscriptions/listen"] != tc.asked {
					t.Errorf("in 1,000 minutes: %v", seen)
				}
			})
		})
	}
}

func TestWatchBacksOff(t *testing.T) {
	for name, answer := range map[string]func(w http.ResponseWriter, r *http.Request){
		"it fails": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
		"it refuses our credentials": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusUnauthorized)
		},
		"it ends at once": func(w http.ResponseWriter, _ *http.Request) { writeEvents(w, "") },
		"it talks nonsense": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			writeEvents(w, "data: x\n\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				var mu sync.Mutex
				var asked []time.Duration
				c := &counting{seen: map[string]int{}}
				up := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Method != http.MethodGet {
						c.ServeHTTP(w, r)
						return
					}
					mu.Lock()
					asked = append(asked, time.Since(start))
					mu.Unlock()
					answer(w, r)
				})
				p := upstream.NewPool(&http.Client{Transport: inProcess{up}}, "1")
				defer p.Close()
				startWatch(t, p, target("http://busy.example/mcp"))
				time.Sleep(time.Hour)
				synctest.Wait()
				mu.Lock()
				defer mu.Unlock()
				for i, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60, 60} {
					if d := asked[i+1] - asked[i]; d < want*time.Second*8/10 || d > want*time.Second*12/10 {
						t.Errorf("attempt %d came after %s, want about %d s", i+2, d, want)
					}
				}
				if n := len(asked); n < 50 || n > 80 {
					t.Errorf("asked %d times in an hour", n)
				}
				if seen := c.now(); seen["initialize"] != 1 {
					t.Errorf("a stream that fails cost the session: %v", seen)
				}
			})
		})
	}
}

func TestWatchOfAnUpstreamThatIsDownBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		asked := 0
		up := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			asked++
			w.WriteHeader(http.StatusBadGateway)
		})
		p := upstream.NewPool(&http.Client{Transport: inProcess{up}}, "1")
		defer p.Close()
		startWatch(t, p, target("http://down.example/mcp"))
		time.Sleep(time.Hour)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if asked < 100 || asked > 160 { // two requests per attempt: the probe and the handshake
			t.Errorf("%d requests in an hour", asked)
		}
	})
}

func TestWatchResumesItsStream(t *testing.T) {
	gets := make(chan http.Header, 8)
	n := 0
	url := handmade(t, "2025-11-25", func(w http.ResponseWriter, r *http.Request, _ rpc) {
		if r.Method != http.MethodGet {
			w.WriteHeader(http.StatusOK)
			return
		}
		n++
		gets <- r.Header
		switch n {
		case 1:
			writeEvents(w, "id: e1\nretry: 1\ndata: "+`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`+"\n\n")
		case 2:
			writeEvents(w, "id: e2\ndata:\n\n")
		case 3: // it has forgotten the event
			w.WriteHeader(http.StatusBadRequest)
		default:
			writeEvents(w, "id: f1\ndata:\n\n")
			<-r.Context().Done()
		}
	})
	p := newPool(t)
	w := startWatch(t, p, target(url))
	var ids []string
	for range 4 {
		select {
		case h := <-gets:
			ids = append(ids, h.Get("Last-Event-Id"))
			if h.Get("Mcp-Session-Id") != "s1" || h.Get("Mcp-Protocol-Version") != "2025-11-25" || h.Get("Accept") != "text/event-stream" || h.Get("Content-Type") != "" {
				t.Errorf("asked with %v", h)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("asked behind %q only", ids)
		}
	}
	w.await(t, "", 2)
	if want := []string{"", "e1", "e2", ""}; !slices.Equal(ids, want) {
		t.Errorf("asked behind %q, want %q", ids, want)
	}
	// What was resumed left no gap.
	if got, want := w.events(), []string{"", "tools/list_changed", ""}; !slices.Equal(got, want) {
		t.Errorf("heard %q, want %q", got, want)
	}
	p.Close()
}

func TestUpstreamIsAnsweredOnTheStream(t *testing.T) {
	answers := make(chan rpc, 4)
	url := handmade(t, "2025-11-25", func(w http.ResponseWriter, r *http.Request, m rpc) {
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusAccepted)
			answers <- m
			return
		}
		writeEvents(w, `data: {"jsonrpc":"2.0","id":"p","method":"ping"}`+"\n\n"+`data: {"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":{}}`+"\n\n")
		<-r.Context().Done()
	})
	p := newPool(t)
	startWatch(t, p, target(url))
	for range 2 {
		select {
		case m := <-answers:
			if string(m.ID) == `"p"` && string(m.Result) != "{}" || string(m.ID) == "7" && !strings.Contains(string(m.Error), "-32601") {
				t.Errorf("answered %+v", m)
			}
		case <-time.After(30 * time.Second):
			t.Fatal("the upstream was not answered")
		}
	}
	p.Close()
}

func TestWatchSurvivesARestart(t *testing.T) {
	for _, era := range upstreamtest.AllEras() {
		t.Run(string(era), func(t *testing.T) {
			t.Parallel()
			opts := upstreamtest.Options{
				Eras: []upstreamtest.Era{era}, Capabilities: everything, Tools: upstreamtest.Standard(1),
				Methods: map[string]upstreamtest.Handler{"resources/subscribe": agree},
			}
			first := upstreamtest.New(opts)
			at, err := first.Listen(context.Background(), "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			p, to := newPool(t), target(at)
			w := startWatch(t, p, to)
			w.await(t, "", 1)
			release, err := p.Subscribe(testContext(t), to, "test://r")
			if err != nil {
				t.Fatal(err)
			}
			defer release()
			first.Close()
			next := upstreamtest.New(opts)
			if err := retry(func() error { _, err := next.Listen(context.Background(), hostOf(at)); return err }); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(next.Close)
			w.await(t, "", 2)
			w.await(t, "resources/updated", 1) // which may have been missed
			if !era.Stateless() {
				if _, err := next.WaitForRequests(testContext(t), "resources/subscribe", 1); err != nil {
					t.Fatal("the resource is not watched any more")
				}
			}
			next.Notify(upstream.ResourceUpdated, []byte(`{"uri":"test://r"}`))
			w.await(t, "resources/updated", 2)
			next.SetTools(upstreamtest.Standard(2)...)
			w.await(t, "tools/list_changed", 1)
		})
	}
}

func TestSessionThatIsBegunAnewIsHeard(t *testing.T) {
	for _, era := range []upstreamtest.Era{upstreamtest.Era20250326, upstreamtest.Era20251125} {
		s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{era}, Tools: upstreamtest.Standard(1)})
		p, to := newPool(t), target(s.Start(t))
		w := startWatch(t, p, to)
		w.await(t, "", 1)
		s.DropSessions()
		mustCall(t, p, to, echo("in a new session"))
		began := time.Now()
		w.await(t, "", 2)
		if d := time.Since(began); d > 10*time.Second {
			t.Errorf("heard again after %s", d)
		}
		s.SetTools()
		w.await(t, "tools/list_changed", 1)
		p.Close()
	}
}

func TestWatchEndsWithItsServer(t *testing.T) {
	for _, era := range upstreamtest.AllEras() {
		for name, end := range map[string]func(p *upstream.Pool, to upstream.Target){
			"dropped": func(p *upstream.Pool, to upstream.Target) { p.Drop(to.ServerID) },
			"closed":  func(p *upstream.Pool, _ upstream.Target) { p.Close() },
			"a newer configuration": func(p *upstream.Pool, to upstream.Target) {
				to.Version++
				_, _ = p.Describe(context.Background(), &to)
			},
		} {
			for _, stream := range []bool{true, false} {
				if !stream && era == upstreamtest.Era20241105 {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/stream %v", era, name, stream), func(t *testing.T) {
					opts := upstreamtest.Options{Eras: []upstreamtest.Era{era}, NoStream: !stream, Tools: upstreamtest.Standard(1)}
					if !stream {
						opts.Capabilities = `{"tools":{}}`
					}
					s := upstreamtest.New(opts)
					p, to := newPool(t), target(s.Start(t))
					w := startWatch(t, p, to)
					if stream {
						w.await(t, "", 1)
					} else if _, err := s.WaitForRequests(testContext(t), "server/discover", 1); err != nil {
						t.Fatal("the watch did not begin")
					}
					end(p, *to)
					w.awaitEnd(t)
					if err := s.WaitForStreams(testContext(t), map[bool]int{true: 1}[name == "a newer configuration" && era == upstreamtest.Era20241105]); err != nil {
						t.Errorf("streams stay open: %+v", s.Stats())
					}
				})
			}
		}
	}
	t.Run("not kept", func(t *testing.T) {
		w := startWatch(t, newPool(t), target("http://127.0.0.1:1/mcp", func(t *upstream.Target) { t.ServerID = "" }))
		w.awaitEnd(t)
	})
	t.Run("closed before", func(t *testing.T) {
		p := newPool(t)
		p.Close()
		startWatch(t, p, target("http://127.0.0.1:1/mcp")).awaitEnd(t)
	})
}

// agree answers with an empty result.
func agree(context.Context, *upstreamtest.Call) upstreamtest.Result { return upstreamtest.JSON("{}") }

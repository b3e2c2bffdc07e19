package pool_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/pool"
	"mcpgateway/services/upstream/upstreamtest"
)

// watch is a running Pool.Watch and its recorded events.
type watch struct {
	end  context.CancelFunc
	over chan struct{}

	mu       sync.Mutex
	received []string
	changed  chan struct{}
}

func startWatch(t testing.TB, p *pool.Pool, to *upstream.Target) *watch {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	w := &watch{end: cancel, over: make(chan struct{}), changed: make(chan struct{})}
	go func() {
		defer close(w.over)
		p.Watch(ctx, to, func(e upstream.Event) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.received = append(w.received, strings.TrimPrefix(e.Method, "notifications/"))
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
	return slices.Clone(w.received)
}

// count returns the number of events of a method; "" is an opened stream.
func (w *watch) count(method string) (n int) {
	for _, m := range w.events() {
		if m == method {
			n++
		}
	}
	return n
}

// await waits for at least n events of a method.
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
			t.Fatalf("Watch returned after events %q", w.events())
		case <-limit.C:
			t.Fatalf("fewer than %[2]d events %[1]q: %[3]q", method, n, w.events())
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

// everything are the capabilities of an upstream that announces every change.
const everything = `{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true}}`

func TestWatchReportsListChanges(t *testing.T) {
	for _, era := range upstreamtest.AllEras() {
		t.Run(string(era), func(t *testing.T) {
			s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{era}, Capabilities: everything, Tools: upstreamtest.Standard(1)})
			p, to := newPool(t), target(s.Start(t))
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
				t.Errorf("events = %q, want %q", got, want)
			}
			mustCall(t, p, to, echo("beside the stream"))
			handshakes, streams := 2, 1 // one session of the watch and one of clients
			if era == upstreamtest.Era20241105 {
				streams = 2
			} else if era.Stateless() {
				handshakes = 0
			}
			if n := len(s.Requests("initialize")); n != handshakes {
				t.Errorf("%d handshakes, want %d", n, handshakes)
			}
			if n := s.Stats().Streams; n != streams {
				t.Errorf("%d streams are open, want %d", n, streams)
			}
			w.end()
			w.awaitEnd(t)
			if era != upstreamtest.Era20241105 { // its stream belongs to the session
				if err := s.WaitForStreams(testContext(t), 0); err != nil {
					t.Errorf("stream is open after the watch: %+v", s.Stats())
				}
			}
			mustCall(t, p, to, echo("behind the watch"))
		})
	}
}

func TestWatchReportsOfficialServers(t *testing.T) {
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
			defer p.Close() // before the server's Close, which waits for streams
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

// TestWatchReportsCallNotifications has upstreams without a separate
// notification stream.
func TestWatchReportsCallNotifications(t *testing.T) {
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
			call.Client.Capabilities = []byte(`{"roots":{}}`) // uses a separate session
			if err := retry(func() error {                    // the watch has started once it receives an event
				if mustCall(t, p, to, call); len(w.events()) == 0 {
					return fmt.Errorf("no event")
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			w.await(t, "tools/list_changed", 1)
			if len(notified) == 0 || notified[0] != upstream.ToolsListChanged {
				t.Errorf("caller was notified of %q", notified)
			}
		})
	}
}

func TestServerRequestsDuringWatch(t *testing.T) {
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
			if string(m.ID) == `"p"` && string(m.Result) != "{}" || string(m.ID) == "7" && !strings.Contains(string(m.Error), "-32603") {
				t.Errorf("response = %+v", m)
			}
		case <-time.After(30 * time.Second):
			t.Fatal("upstream received no response")
		}
	}
	p.Close()
}

func TestWatchEndsWithServer(t *testing.T) {
	for _, era := range upstreamtest.AllEras() {
		for name, end := range map[string]func(p *pool.Pool, to upstream.Target){
			"dropped": func(p *pool.Pool, to upstream.Target) { p.Drop(to.ServerID) },
			"closed":  func(p *pool.Pool, _ upstream.Target) { p.Close() },
			"newer configuration": func(p *pool.Pool, to upstream.Target) {
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
						t.Fatal("watch did not start")
					}
					end(p, *to)
					w.awaitEnd(t)
					if err := s.WaitForStreams(testContext(t), map[bool]int{true: 1}[name == "newer configuration" && era == upstreamtest.Era20241105]); err != nil {
						t.Errorf("streams are open: %+v", s.Stats())
					}
				})
			}
		}
	}
	t.Run("no server ID", func(t *testing.T) {
		w := startWatch(t, newPool(t), target("http://127.0.0.1:1/mcp", func(t *upstream.Target) { t.ServerID = "" }))
		w.awaitEnd(t)
	})
	t.Run("closed pool", func(t *testing.T) {
		p := newPool(t)
		p.Close()
		startWatch(t, p, target("http://127.0.0.1:1/mcp")).awaitEnd(t)
	})
}

// agree returns an empty result.
func agree(context.Context, *upstreamtest.Call) upstreamtest.Result { return upstreamtest.JSON("{}") }

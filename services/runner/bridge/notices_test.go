//go:build linux || darwin

package bridge_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/upstreamtest"
)

const everything = `{"tools":{"listChanged":true},"logging":{},"resources":{"subscribe":true,"listChanged":true}}`

// resources returns a server with resources that records subscriptions.
func resources(era upstreamtest.Era, tools ...upstreamtest.Tool) *upstreamtest.Server {
	empty := func(context.Context, *upstreamtest.Call) upstreamtest.Result { return upstreamtest.JSON("{}") }
	return upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{era}, Capabilities: everything, Tools: tools, Methods: map[string]upstreamtest.Handler{
		"resources/subscribe": empty, "resources/unsubscribe": empty, "logging/setLevel": empty,
	}})
}

// TestSubscriptions subscribes two sessions of one process to resources.
func TestSubscriptions(t *testing.T) {
	t.Parallel()
	s := resources(upstreamtest.Era20250618)
	h := hostOf(t, s)
	url := h.listen(t)
	a, b := connect(t, url, "{}"), connect(t, url, "{}")
	inA, inB := a.stream(), b.stream()
	for _, c := range []*client{a, b} {
		if r := c.post(c.message(1, "resources/subscribe", `{"uri":"x://both"}`)); r.last().Result == nil {
			t.Fatalf("%+v", r)
		}
	}
	a.post(a.message(2, "resources/subscribe", `{"uri":"x://a"}`))
	for _, uri := range []string{"x://a", "x://both"} {
		s.Notify("notifications/resources/updated", []byte(`{"uri":"`+uri+`"}`))
	}
	s.Notify("notifications/tools/list_changed", nil)
	wants := func(what string, in <-chan message, want ...string) {
		t.Helper()
		for _, one := range want {
			if m := next(t, in); !strings.Contains(m.Method+string(m.Params), one) {
				t.Errorf("%s got %s %s, want %s", what, m.Method, m.Params, one)
			}
		}
	}
	wants("a", inA, "x://a", "x://both", "tools/list_changed")
	wants("b", inB, "x://both", "tools/list_changed")

	// The process stays subscribed while one session is.
	b.post(b.message(3, "resources/unsubscribe", `{"uri":"x://both"}`))
	if n := len(s.Requests("resources/unsubscribe")); n != 0 {
		t.Errorf("%d unsubscribed", n)
	}
	a.do(a.request(t.Context(), http.MethodDelete, ""))
	if sent, err := s.WaitForRequests(t.Context(), "resources/unsubscribe", 2); err != nil {
		t.Errorf("%v, %v", sent, err)
	}
	for range inA { // its stream ends
	}
}

// TestSubscribeThroughPool subscribes the gateway to a resource and to changed lists.
func TestSubscribeThroughPool(t *testing.T) {
	t.Parallel()
	for _, era := range []upstreamtest.Era{upstreamtest.Era20241105, upstreamtest.Era20251125, upstreamtest.Era20260728} {
		t.Run(string(era), func(t *testing.T) {
			t.Parallel()
			s := resources(era)
			p, to := newPool(t, hostOf(t, s).listen(t))
			ctx, cancel := context.WithCancel(t.Context())
			events, over := make(chan string, 64), make(chan struct{})
			go func() {
				defer close(over)
				p.Watch(ctx, to, func(e upstream.Event) { events <- e.Method + string(e.Params) })
			}()
			await := func(want string) {
				t.Helper()
				for {
					select {
					case got := <-events:
						if strings.HasPrefix(got, want) {
							return
						}
					case <-t.Context().Done():
						t.Fatalf("no %s", want)
					}
				}
			}
			await("")
			release, err := p.Subscribe(t.Context(), to, "x://r")
			if err != nil {
				t.Fatal(err)
			}
			s.Notify(upstream.ResourceUpdated, []byte(`{"uri":"x://r"}`))
			s.Notify(upstream.ToolsListChanged, nil)
			await(upstream.ResourceUpdated)
			await(upstream.ToolsListChanged)
			release()
			cancel()
			<-over
		})
	}
}

// TestListen opens two subscriptions of revision 2026-07-28 with the same ID.
func TestListen(t *testing.T) {
	t.Parallel()
	s := resources(upstreamtest.Era20260728)
	c := stateless(t, hostOf(t, s).listen(t))
	listen := func(id, uri string) (<-chan message, context.CancelFunc) {
		ctx, cancel := context.WithCancel(t.Context())
		body := strings.Replace(c.message(1, "subscriptions/listen", `{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["`+uri+`"]}}`), `"id":1`, `"id":`+id, 1)
		resp := c.do(c.request(ctx, http.MethodPost, body))
		in := make(chan message, 64)
		go func() {
			defer close(in)
			c.read(resp, func(m message) { in <- m })
		}()
		if m := next(t, in); m.Method != "notifications/subscriptions/acknowledged" {
			t.Errorf("first %+v", m)
		}
		return in, cancel
	}
	x, stopX := listen(`"own"`, "x://x")
	y, stopY := listen(`"own"`, "x://y")
	z, stopZ := listen(`99`, "x://z")
	s.Notify("notifications/resources/updated", []byte(`{"uri":"x://y"}`))
	s.Notify("notifications/tools/list_changed", nil)
	for what, in := range map[string]<-chan message{"x": x, "z": z} {
		if m := next(t, in); m.Method != "notifications/tools/list_changed" {
			t.Errorf("%s got %+v", what, m)
		}
	}
	if m := next(t, y); !strings.Contains(string(m.Params), "x://y") || !strings.Contains(string(m.Params), `subscriptionId":"own"`) {
		t.Errorf("y got %s %s", m.Method, m.Params)
	}
	s.Notify("notifications/tools/list_changed", nil)
	if m := next(t, z); !strings.Contains(string(m.Params), `99`) {
		t.Errorf("z got %s %s", m.Method, m.Params)
	}
	stopX()
	if _, err := s.WaitForRequests(t.Context(), "notifications/cancelled", 1); err != nil {
		t.Error(err)
	}
	stopY()
	stopZ()
}

// logging returns a tool that logs its arguments while all n calls are in progress.
func logging(n int) upstreamtest.Tool {
	var all, logged sync.WaitGroup
	all.Add(n)
	logged.Add(n)
	return tool("log", func(_ context.Context, c *upstreamtest.Call) upstreamtest.Result {
		all.Done()
		all.Wait()
		if err := c.Notify("notifications/message", []byte(`{"level":"info","data":`+string(c.Arguments)+`}`)); err != nil {
			return upstreamtest.Failure(err.Error())
		}
		logged.Done()
		logged.Wait()
		return upstreamtest.Text("done")
	})
}

// logs returns the number of log messages in a response.
func (r *reply) logs() int {
	n := 0
	for _, m := range r.events {
		if m.Method == "notifications/message" {
			n++
		}
	}
	return n
}

// TestLogs sends log messages during one call, during two calls of a session, and
// during calls of two sessions.
func TestLogs(t *testing.T) {
	t.Parallel()
	for _, era := range []upstreamtest.Era{upstreamtest.Era20251125, upstreamtest.Era20260728} {
		t.Run("one call "+string(era), func(t *testing.T) {
			t.Parallel()
			url := hostOf(t, resources(era, logging(1))).listen(t)
			c := stateless(t, url)
			if !era.Stateless() {
				c = connect(t, url, "{}")
			}
			if r := c.post(c.call(1, "log", `{}`)); r.logs() != 1 {
				t.Errorf("%+v", r)
			}
			quiet := strings.Replace(c.call(2, "other", `{}`), `"io.modelcontextprotocol/logLevel":"debug",`, "", 1)
			if r := c.post(quiet); r.logs() != 0 {
				t.Errorf("%+v", r)
			}
		})
	}
	for _, sessions := range []int{1, 2} {
		t.Run(fmt.Sprintf("two calls of %d sessions", sessions), func(t *testing.T) {
			t.Parallel()
			s := resources(upstreamtest.Era20251125, logging(2))
			url := hostOf(t, s).listen(t)
			clients := []*client{connect(t, url, "{}")}
			if sessions == 2 {
				clients = append(clients, connect(t, url, "{}"))
			}
			var streams []<-chan message
			for _, c := range clients {
				streams = append(streams, c.stream())
			}
			var calls sync.WaitGroup
			for i := range 2 {
				calls.Go(func() {
					c := clients[i%sessions]
					if r := c.post(c.call(i, "log", `{}`)); r.logs() != 0 {
						t.Errorf("call %d: %+v", i, r)
					}
				})
			}
			calls.Wait()
			s.Notify("notifications/tools/list_changed", nil)
			for _, in := range streams {
				logs := 0
				for m := next(t, in); m.Method != "notifications/tools/list_changed"; m = next(t, in) {
					logs++
				}
				if want := map[int]int{1: 2}[sessions]; logs != want {
					t.Errorf("%d log messages on the session's stream, want %d", logs, want)
				}
			}
		})
	}
}

// TestLevels sets levels in two sessions of one process: the program gets the lower
// one, and each session its own.
func TestLevels(t *testing.T) {
	t.Parallel()
	s := resources(upstreamtest.Era20251125, logging(1))
	url := hostOf(t, s).listen(t)
	a, b := connect(t, url, "{}"), connect(t, url, "{}")
	a.post(a.message(1, "logging/setLevel", `{"level":"debug"}`))
	b.post(b.message(1, "logging/setLevel", `{"level":"error"}`))
	sent := s.Requests("logging/setLevel")
	if len(sent) != 2 || !bytes.Contains(sent[1].Body, []byte(`"level":"debug"`)) {
		t.Errorf("sent %v", sent)
	}
	if r := b.post(b.call(2, "log", "{}")); r.logs() != 0 {
		t.Errorf("%+v", r)
	}
}

// unread is a response whose reader does not read.
type unread struct {
	header  http.Header
	first   chan struct{} // closed at the first event
	release chan struct{}
	once    sync.Once
	mu      sync.Mutex
	body    bytes.Buffer
}

func (u *unread) Header() http.Header { return u.header }
func (u *unread) WriteHeader(int)     {}
func (u *unread) Flush()              {}
func (u *unread) Write(b []byte) (int, error) {
	u.once.Do(func() { close(u.first) })
	<-u.release
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.body.Write(b)
}

// TestUnreadStream sends notifications to a client that does not read: 64 wait, and
// the response is not lost.
func TestUnreadStream(t *testing.T) {
	t.Parallel()
	for sent, want := range map[int]int{63: 63, 64: 64, 65: 64} {
		t.Run(fmt.Sprint(sent), func(t *testing.T) {
			t.Parallel()
			out := &unread{header: http.Header{}, first: make(chan struct{}), release: make(chan struct{})}
			flushed := make(chan struct{})
			h := newHost(t, lineProgram(func(line string, write func(string)) bool {
				switch {
				case shake(line, write):
				case strings.Contains(line, "tools/call"):
					write(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info"}}`)
					<-out.first // the client is stuck with the first
					for range sent {
						write(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info"}}`)
					}
					write(`{"jsonrpc":"2.0","id":"sync","method":"ping"}`)
					respond(line, write, `{"content":[{"type":"text","text":"done"}]}`)
				case strings.Contains(line, `"id":"sync"`):
					close(flushed)
				}
				return false
			}))
			c := connect(t, h.listen(t), "{}")
			done := make(chan struct{})
			go func() {
				defer close(done)
				h.ServeHTTP(out, c.request(context.Background(), http.MethodPost, c.call(1, "x", "{}")))
			}()
			<-flushed
			close(out.release)
			<-done
			text, err := io.ReadAll(&out.body)
			if n := strings.Count(string(text), "notifications/message"); err != nil || n != want+1 || !strings.Contains(string(text), "done") {
				t.Errorf("%d notifications, want %d", n-1, want)
			}
		})
	}
}

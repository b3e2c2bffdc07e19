package pool_test

import (
	"context"
	"encoding/json"
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

	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/pool"
)

// logger is an upstream with sessions that sends logs on their GET streams. Its
// tool "wait" runs until its channel is closed.
type logger struct {
	mu       sync.Mutex
	sessions int
	alive    map[string]*io.PipeWriter // by session; nil before its GET stream is open
	log      []string                  // "session level" per setLevel
	refuse   bool                      // setLevel fails
	wait     chan struct{}
}

func newLogger() *logger {
	return &logger{alive: map[string]*io.PipeWriter{}, wait: make(chan struct{})}
}

// levels returns the levels set since the previous call.
func (l *logger) levels() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer func() { l.log = nil }()
	return slices.Clone(l.log)
}

// restart drops all sessions.
func (l *logger) restart() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for session, stream := range l.alive {
		if stream != nil {
			_ = stream.Close()
		}
		delete(l.alive, session)
	}
}

// say sends a notification on every GET stream and returns their number.
func (l *logger) say(method, params string) int {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, stream := range l.alive {
		if stream != nil {
			n++
			fmt.Fprintf(stream, "data: {\"jsonrpc\":\"2.0\",\"method\":%q,\"params\":%s}\n\n", method, params)
		}
	}
	synctest.Wait()
	return n
}

func (l *logger) RoundTrip(r *http.Request) (*http.Response, error) {
	session := r.Header.Get("Mcp-Session-Id")
	w := httptest.NewRecorder()
	l.mu.Lock()
	_, alive := l.alive[session]
	l.mu.Unlock()
	switch {
	case session != "" && !alive:
		w.WriteHeader(http.StatusNotFound)
		return w.Result(), nil
	case r.Method == http.MethodGet:
		reader, writer := io.Pipe()
		l.mu.Lock()
		l.alive[session] = writer
		l.mu.Unlock()
		context.AfterFunc(r.Context(), func() {
			l.mu.Lock()
			if l.alive[session] == writer {
				l.alive[session] = nil
			}
			l.mu.Unlock()
			_ = writer.CloseWithError(r.Context().Err())
		})
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: reader, Request: r}, nil
	case r.Method == http.MethodDelete:
		return w.Result(), nil
	}
	l.answer(w, received(r), session)
	return w.Result(), nil
}

func (l *logger) answer(w *httptest.ResponseRecorder, m rpc, session string) {
	result := "{}"
	switch m.Method {
	case "server/discover":
		w.WriteHeader(http.StatusNotFound)
		return
	case "notifications/initialized", "notifications/cancelled":
		w.WriteHeader(http.StatusAccepted)
		return
	case "initialize":
		l.mu.Lock()
		l.sessions++
		session = fmt.Sprint("s", l.sessions)
		l.alive[session] = nil
		l.mu.Unlock()
		w.Header().Set("Mcp-Session-Id", session)
		result = `{"protocolVersion":"2025-11-25","capabilities":{"logging":{},"tools":{}}}`
	case "logging/setLevel":
		var p struct{ Level string }
		_ = json.Unmarshal(m.Params, &p)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.log = append(l.log, session+" "+p.Level)
		if l.refuse {
			writeJSON(w, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"error":{"code":-32603,"message":"no"}}`)
			return
		}
	case "tools/call":
		if strings.Contains(string(m.Params), "wait") {
			<-l.wait
		}
	}
	writeJSON(w, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":`+result+`}`)
}

// logClient is a client that records its messages from shared streams.
type logClient struct {
	name string
	mu   sync.Mutex
	got  []string
}

func (l *logClient) calls(tool, level string) *upstream.Request {
	return &upstream.Request{
		Method: "tools/call", Params: []byte(`{"name":"` + tool + `"}`), LogLevel: level, Client: upstream.Client{SessionID: l.name},
		Notify: func(string, []byte) {},
		Stray: func(method string, params []byte) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.got = append(l.got, strings.TrimPrefix(method, "notifications/")+string(params))
		},
	}
}

// take returns the messages since the previous call.
func (l *logClient) take() []string {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	got := l.got
	l.got = nil
	return got
}

// inLoggerWorld runs a test with a pool that connects to a logger.
func inLoggerWorld(t *testing.T, test func(t *testing.T, l *logger, p *pool.Pool)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := newLogger()
		p := pool.New(&http.Client{Transport: l}, "1")
		defer p.Close()
		test(t, l, p)
	})
}

func TestLevelPerSession(t *testing.T) {
	call := func(t *testing.T, p *pool.Pool, to *upstream.Target, name, level string) {
		t.Helper()
		mustCall(t, p, to, (&logClient{name: name}).calls("now", level))
	}
	t.Run("shared session", func(t *testing.T) {
		inLoggerWorld(t, func(t *testing.T, l *logger, p *pool.Pool) {
			to := target("http://log.example/mcp", within(time.Hour))
			for _, tt := range []struct {
				name, client, level string
				before              func()
				want                []string
			}{
				{name: "no level", client: "ann", want: nil},
				{name: "first", client: "ann", level: "warning", want: []string{"s1 warning"}},
				{name: "same", client: "bob", level: "warning", want: nil},
				{name: "higher", client: "bob", level: "error", want: nil},
				{name: "lower", client: "bob", level: "info", want: []string{"s1 info"}},
				{name: "back to higher", client: "ann", level: "warning", want: nil},
				{name: "after restart", client: "ann", level: "warning", before: l.restart, want: []string{"s2 warning"}},
				{name: "lower after restart", client: "bob", level: "info", want: []string{"s2 info"}},
			} {
				if tt.before != nil {
					tt.before()
				}
				call(t, p, to, tt.client, tt.level)
				if got := l.levels(); !slices.Equal(got, tt.want) {
					t.Errorf("%s: set %q, want %q", tt.name, got, tt.want)
				}
			}
		})
	})
	t.Run("session per client", func(t *testing.T) {
		inLoggerWorld(t, func(t *testing.T, l *logger, p *pool.Pool) {
			to := target("http://log.example/mcp", within(time.Hour), perClient)
			for _, tt := range []struct{ client, level, want string }{
				{"ann", "info", "s1 info"}, {"bob", "error", "s2 error"}, {"ann", "info", ""}, {"ann", "error", "s1 error"}, {"ann", "debug", "s1 debug"}, {"bob", "error", ""},
			} {
				call(t, p, to, tt.client, tt.level)
				if got := strings.Join(l.levels(), " "); got != tt.want {
					t.Errorf("%s with %s: set %q, want %q", tt.client, tt.level, got, tt.want)
				}
			}
		})
	})
	t.Run("failed change", func(t *testing.T) {
		inLoggerWorld(t, func(t *testing.T, l *logger, p *pool.Pool) {
			to := target("http://log.example/mcp", within(time.Hour), perClient)
			call(t, p, to, "ann", "debug")
			l.refuse = true
			call(t, p, to, "ann", "error") // the upstream may have set it
			l.mu.Lock()
			l.refuse = false
			l.mu.Unlock()
			call(t, p, to, "ann", "debug")
			if got := l.levels(); !slices.Equal(got, []string{"s1 debug", "s1 error", "s1 debug"}) {
				t.Errorf("levels = %q, want the first one again after the failure", got)
			}
		})
	})
	t.Run("failed setLevel", func(t *testing.T) {
		inLoggerWorld(t, func(t *testing.T, l *logger, p *pool.Pool) {
			to := target("http://log.example/mcp", within(time.Hour))
			l.refuse = true
			call(t, p, to, "ann", "info")
			l.mu.Lock()
			l.refuse = false
			l.mu.Unlock()
			call(t, p, to, "ann", "info")
			call(t, p, to, "ann", "info")
			if got := l.levels(); !slices.Equal(got, []string{"s1 info", "s1 info"}) {
				t.Errorf("levels = %q, want a second attempt and no third", got)
			}
		})
	})
}

func TestLogsOnGet(t *testing.T) {
	for _, mode := range []struct {
		name string
		edit func(*upstream.Target)
	}{{"shared", func(*upstream.Target) {}}, {"per client", perClient}} {
		t.Run(mode.name, func(t *testing.T) {
			inLoggerWorld(t, func(t *testing.T, l *logger, p *pool.Pool) {
				to := target("http://log.example/mcp", within(time.Hour), mode.edit)
				ann := &logClient{name: "ann"}
				mustCall(t, p, to, ann.calls("now", ""))
				if n := l.say("notifications/message", "{}"); n != 0 {
					t.Errorf("%d GET streams are open for a client without a log level", n)
				}
				for _, restarted := range []bool{false, true} {
					if restarted {
						l.restart()
						l.wait = make(chan struct{})
					}
					done := make(chan error, 1)
					go func() {
						_, err := p.Call(t.Context(), to, ann.calls("wait", "info"))
						done <- err
					}()
					if n := l.say("notifications/message", `{"level":"info"}`); n != 1 {
						t.Errorf("%d GET streams are open, want 1", n)
					}
					l.say("x/custom", `{"a":1}`)
					l.say("notifications/tools/list_changed", `{}`) // for the watch of the server
					l.say("notifications/elicitation/complete", `{"elicitationId":"e"}`)
					if got, want := ann.take(), []string{`message{"level":"info"}`, `x/custom{"a":1}`}; !slices.Equal(got, want) {
						t.Errorf("restarted %v: got %q, want %q", restarted, got, want)
					}
					close(l.wait)
					if err := <-done; err != nil {
						t.Fatal(err)
					}
				}
				// A client's own session has no other clients.
				time.Sleep(10 * time.Second)
				l.say("notifications/message", `{"late":1}`)
				if got, own := ann.take(), mode.name == "per client"; (len(got) == 1) != own {
					t.Errorf("10 s after the call: got %q", got)
				}
				time.Sleep(20*time.Second - 1)
				if n := l.say("notifications/message", "{}"); n != 1 {
					t.Errorf("%d GET streams are open before 30 s, want 1", n)
				}
				time.Sleep(time.Nanosecond)
				if n := l.say("notifications/message", "{}"); n != 0 {
					t.Errorf("%d GET streams are open after 30 s, want 0", n)
				}
			})
		})
	}
}

func TestNobodyElsesLog(t *testing.T) { // language:ignore
	inLoggerWorld(t, func(t *testing.T, l *logger, p *pool.Pool) {
		to := target("http://log.example/mcp", within(time.Hour))
		ann, bob := &logClient{name: "ann"}, &logClient{name: "bob"}
		anonymous := [2]*logClient{{}, {}}
		start := func(r *upstream.Request) (end func()) {
			l.mu.Lock()
			wait := make(chan struct{})
			l.wait = wait
			l.mu.Unlock()
			done := make(chan struct{})
			go func() {
				defer close(done)
				if _, err := p.Call(t.Context(), to, r); err != nil {
					t.Error(err)
				}
			}()
			synctest.Wait()
			return func() {
				close(wait)
				<-done
			}
		}
		dropped := int64(0)
		say := func(name string, owner *logClient) {
			t.Helper()
			l.say("notifications/message", `{"level":"info"}`)
			if owner == nil {
				dropped++
			}
			for _, c := range []*logClient{ann, bob, anonymous[0], anonymous[1]} {
				if got := len(c.take()); got != map[bool]int{true: 1}[c == owner] {
					t.Errorf("%s: %q received %d messages", name, c.name, got)
				}
			}
			if got := p.Unattributed(); got != dropped {
				t.Errorf("%s: Unattributed() = %d, want %d", name, got, dropped)
			}
		}
		endAnn := start(ann.calls("wait", "info"))
		say("one client", ann)
		endSecond := start(ann.calls("wait", ""))
		say("two calls of one client", ann)
		endSecond()
		endBob := start(bob.calls("wait", ""))
		say("two clients", nil)
		endBob()
		say("right behind the other's end", nil)
		time.Sleep(250*time.Millisecond - 1)
		say("before 250 ms", nil)
		time.Sleep(time.Nanosecond)
		say("at 250 ms", nil)
		time.Sleep(time.Nanosecond)
		say("behind 250 ms", ann)
		endAnn()
		say("right behind the only client's end", ann)
		time.Sleep(250 * time.Millisecond)
		say("250 ms behind the only client's end", ann)
		time.Sleep(time.Nanosecond)
		say("when no call is in flight", nil)
		// Clients without a session are always distinct.
		end := [2]func(){start(anonymous[0].calls("wait", "")), nil}
		say("one client without a session", anonymous[0])
		end[1] = start(anonymous[1].calls("wait", ""))
		say("two clients without a session", nil)
		end[0]()
		end[1]()
	})
}

// TestEveryClientGetsLogs calls a tool for three clients, of which only one set
// a level, before and after restarts of the upstream and of the gateway. Each
// receives the log message of its call.
func TestEveryClientGetsLogs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLogger()
		for _, edit := range []func(*upstream.Target){func(*upstream.Target) {}, perClient} {
			to := target("http://log.example/mcp", within(time.Hour), edit)
			for _, gateway := range []string{"first", "restarted"} {
				p := pool.New(&http.Client{Transport: l}, "1")
				for _, upstreamState := range []string{"running", "restarted"} {
					for i, level := range []string{"info", "", ""} {
						c := &logClient{name: fmt.Sprint("client", i)}
						r := c.calls("wait", level)
						r.Logs = true
						l.mu.Lock()
						l.wait = make(chan struct{})
						l.mu.Unlock()
						done := make(chan error, 1)
						go func() {
							_, err := p.Call(t.Context(), to, r)
							done <- err
						}()
						l.say("notifications/message", `{"level":"info"}`)
						if got := c.take(); len(got) != 1 {
							t.Errorf("gateway %s, upstream %s, client %d: received %q", gateway, upstreamState, i, got)
						}
						close(l.wait)
						if err := <-done; err != nil {
							t.Fatal(err)
						}
						time.Sleep(time.Minute) // the stream is closed
					}
					l.restart()
				}
				p.Close()
			}
		}
	})
}

//go:build linux || darwin

package bridge_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"mcpgateway/services/runner/entry"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/upstreamtest"
)

// asking returns a server whose tool ask sends the request in its arguments to the
// client when start is closed, and returns the response when n calls have one.
func asking(n int, entered chan<- string, start <-chan struct{}) *upstreamtest.Server {
	var all sync.WaitGroup
	all.Add(n)
	return upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{upstreamtest.Era20251125}, Tools: []upstreamtest.Tool{
		tool("ask", func(ctx context.Context, c *upstreamtest.Call) upstreamtest.Result {
			entered <- string(c.ID)
			<-start
			defer all.Wait()
			defer all.Done()
			raw, err := c.Request(ctx, strings.Trim(string(c.Arguments), `{"}:x `), []byte(`{"message":"?"}`))
			if err != nil {
				return upstreamtest.Failure(err.Error())
			}
			return upstreamtest.Text(string(raw))
		}),
	}})
}

// replying calls the tool ask and responds to each request of the server with own.
func (c *client) replying(id int, method, own string) *reply {
	resp := c.do(c.request(c.t.Context(), http.MethodPost, c.call(id, "ask", `{"x":"`+method+`"}`)))
	return c.read(resp, func(m message) {
		if m.Method == "" || m.ID == nil {
			return
		}
		if r := c.post(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + own + `}`); r.status != http.StatusAccepted {
			c.t.Errorf("response: HTTP %d", r.status)
		}
	})
}

const severalCalls = "several calls are under way: use sessionMode per-client" // language:ignore

// TestQuestions asks clients in one call, in two calls, and with a process for each
// client.
func TestQuestions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what    string
		clients int
		alone   bool
		want    string // in each response; empty means the client's own
	}{
		{"one call", 1, false, ""},
		{"two calls", 2, false, severalCalls},
		{"per-client", 2, true, ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			entered, start := make(chan string, 2), make(chan struct{})
			url := hostOf(t, asking(c.clients, entered, start), func(e *entry.Entry) { e.PerClient = c.alone }).listen(t)
			var clients sync.WaitGroup
			for i := range c.clients {
				one := connect(t, url, `{"elicitation":{}}`)
				clients.Go(func() {
					own := fmt.Sprintf(`{"action":"accept","content":{"of":"%d"}}`, i)
					want := c.want
					if want == "" {
						want = own
					}
					if r := one.replying(1, "elicitation/create", own); !strings.Contains(textOf(t, r.last()), want) {
						t.Errorf("client %d: %s, want %s", i, textOf(t, r.last()), want)
					}
				})
			}
			for range c.clients {
				<-entered
			}
			close(start)
			clients.Wait()
		})
	}
}

// TestQuestionAfterCancellation sends a question in a cancelled call: no other client
// receives it.
func TestQuestionAfterCancellation(t *testing.T) {
	t.Parallel()
	entered, start := make(chan string, 2), make(chan struct{})
	url := hostOf(t, asking(2, entered, start)).listen(t)
	first, second := connect(t, url, `{"elicitation":{}}`), connect(t, url, `{"elicitation":{}}`)
	done := make(chan *reply, 1)
	go func() { done <- first.replying(1, "elicitation/create", "{}") }()
	<-entered
	first.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	if r := <-done; r.last().Error == nil {
		t.Errorf("cancelled call: %+v", r)
	}
	close(start)
	if r := second.replying(2, "elicitation/create", `{"action":"accept"}`); !strings.Contains(textOf(t, r.last()), severalCalls) {
		t.Errorf("the other client was asked: %+v", r)
	}
}

// TestForeignResponse responds to the question of another session.
func TestForeignResponse(t *testing.T) {
	t.Parallel()
	entered, start := make(chan string, 1), make(chan struct{})
	close(start)
	url := hostOf(t, asking(1, entered, start)).listen(t)
	own, other := connect(t, url, `{"elicitation":{}}`), connect(t, url, `{"elicitation":{}}`)
	resp := own.do(own.request(t.Context(), http.MethodPost, own.call(1, "ask", `{"x":"elicitation/create"}`)))
	r := own.read(resp, func(m message) {
		if m.Method == "" {
			return
		}
		other.post(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"of":"other"}}`)
		own.post(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"of":"own"}}`)
		own.post(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"of":"own again"}}`)
	})
	if got := textOf(t, r.last()); !strings.Contains(got, `"of":"own"`) {
		t.Errorf("got %s", got)
	}
}

// TestRoots checks that the roots of clients reach only programs of one client whose
// entry enables that.
func TestRoots(t *testing.T) {
	t.Parallel()
	const declared = `{"roots":{"listChanged":true},"sampling":{}}`
	for _, c := range []struct {
		what    string
		edits   []func(*entry.Entry)
		relayed bool
	}{
		{"shared", []func(*entry.Entry){withRoots}, false},
		{"per-client", []func(*entry.Entry){perClient}, false},
		{"per-client with roots", []func(*entry.Entry){perClient, withRoots}, true},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			entered, start := make(chan string, 1), make(chan struct{})
			close(start)
			s := asking(1, entered, start)
			one := connect(t, hostOf(t, s, c.edits...).listen(t), declared)
			one.post(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
			r := one.replying(1, "roots/list", `{"roots":[{"uri":"file:///home"}]}`)
			if got := textOf(t, r.last()); strings.Contains(got, "file:///home") != c.relayed || strings.Contains(got, "-32601") == c.relayed {
				t.Errorf("roots/list: %s", got)
			}
			for _, sent := range s.Requests() {
				if !c.relayed && strings.Contains(string(sent.Body), "roots") && !strings.Contains(string(sent.Body), `"x":"roots/list"`) {
					t.Errorf("sent %s", sent.Body)
				}
			}
			if n := len(s.Requests("notifications/roots/list_changed")); (n == 1) != c.relayed {
				t.Errorf("%d changes", n)
			}
		})
	}
	t.Run("2026-07-28", func(t *testing.T) {
		t.Parallel()
		s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{upstreamtest.Era20260728}, Tools: upstreamtest.Standard(1)})
		one := stateless(t, hostOf(t, s).listen(t))
		if r := one.post(one.call(1, "echo", `{"text":"x"}`)); textOf(t, r.last()) != "x" {
			t.Errorf("%+v", r)
		}
		for _, sent := range s.Requests() {
			if strings.Contains(string(sent.Body), "roots") {
				t.Errorf("sent %s", sent.Body)
			}
		}
	})
}

// TestEarlyQuestion requests the roots before any call, as server-filesystem does: the
// first call of the client carries the question.
func TestEarlyQuestion(t *testing.T) {
	t.Parallel()
	answers := make(chan string, 1)
	response, call := "", ""
	h := newHost(t, lineProgram(func(line string, write func(string)) bool {
		switch {
		case shake(line, write), strings.Contains(line, "server/discover"):
		case strings.Contains(line, "notifications/initialized"):
			write(`{"jsonrpc":"2.0","id":"early","method":"roots/list"}`)
			write(`{"jsonrpc":"2.0","id":"p","method":"ping"}`)
		case strings.Contains(line, `"id":"early"`):
			response = line
		case strings.Contains(line, "tools/call"):
			call = line
		}
		if response != "" && call != "" {
			answers <- response
			respond(call, write, `{"content":[{"type":"text","text":"done"}]}`)
			response = ""
		}
		return false
	}), perClient, withRoots)
	c := connect(t, h.listen(t), `{"roots":{}}`)
	if r := c.replying(1, "x", `{"roots":[]}`); textOf(t, r.last()) != "done" {
		t.Errorf("%+v", r)
	}
	if got := <-answers; !strings.Contains(got, `"id":"early","result":{"roots":[]}`) {
		t.Errorf("sent %s", got)
	}
}

// TestQuestionThroughPool sends a question to a client of the gateway.
func TestQuestionThroughPool(t *testing.T) {
	t.Parallel()
	entered, start := make(chan string, 1), make(chan struct{})
	close(start)
	p, to := newPool(t, hostOf(t, asking(1, entered, start)).listen(t))
	resp, err := p.Call(t.Context(), to, &upstream.Request{
		Method: "tools/call", Params: []byte(`{"name":"ask","arguments":{"x":"elicitation/create"}}`),
		Client: upstream.Client{Capabilities: []byte(`{"elicitation":{}}`), SessionID: "s"},
		Serve: func(_ context.Context, method string, params []byte) ([]byte, []byte) {
			return []byte(`{"action":"accept","asked":"` + method + `"}`), nil
		},
	})
	if err != nil || !strings.Contains(string(resp.Result), `elicitation/create`) {
		t.Errorf("%+v, %v", resp, err)
	}
}

//go:build linux || darwin

package bridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	wiring "mcpgateway/services/runners/wire"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/upstreamtest"
)

// gathered returns a tool whose calls respond when n of them are in progress.
func gathered(n int) upstreamtest.Tool {
	var mu sync.Mutex
	all, waiting := make(chan struct{}), 0
	return tool("gather", func(ctx context.Context, c *upstreamtest.Call) upstreamtest.Result {
		mu.Lock()
		if waiting++; waiting == n {
			close(all)
		}
		mu.Unlock()
		select {
		case <-all:
		case <-ctx.Done():
		}
		if err := c.Progress(1, -1, string(c.Arguments)); err != nil {
			return upstreamtest.Failure(err.Error())
		}
		return upstreamtest.Text(string(c.Arguments))
	})
}

// TestOwnResponses calls with 64 clients that use the same IDs and progress tokens.
func TestOwnResponses(t *testing.T) {
	t.Parallel()
	const n = wiring.MaxCalls
	for _, era := range []upstreamtest.Era{upstreamtest.Era20251125, upstreamtest.Era20260728} {
		t.Run(string(era), func(t *testing.T) {
			t.Parallel()
			s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{era}, Tools: []upstreamtest.Tool{gathered(n)}})
			h := hostOf(t, s)
			url := h.listen(t)
			var clients sync.WaitGroup
			for i := range n {
				c := stateless(t, url)
				if !era.Stateless() {
					c = connect(t, url, `{"elicitation":{}}`)
				}
				clients.Go(func() {
					own := fmt.Sprintf(`{"of":%d}`, i)
					r := c.post(c.call(7, "gather", own))
					if len(r.events) != 2 || string(r.last().ID) != "7" || textOf(t, r.last()) != own {
						t.Errorf("client %d: %+v", i, r)
						return
					}
					var progress struct {
						ProgressToken json.RawMessage
						Message       string
					}
					if err := json.Unmarshal(r.events[0].Params, &progress); err != nil || progress.Message != own || string(progress.ProgressToken) != "7" {
						t.Errorf("client %d: progress %s", i, r.events[0].Params)
					}
				})
			}
			clients.Wait()
			if h.starts() != 1 {
				t.Errorf("%d processes", h.starts())
			}
		})
	}
}

// TestCancelled cancels calls in the way of each revision.
func TestCancelled(t *testing.T) {
	t.Parallel()
	for _, era := range []upstreamtest.Era{upstreamtest.Era20250326, upstreamtest.Era20260728} {
		t.Run(string(era), func(t *testing.T) {
			t.Parallel()
			entered, ended := make(chan string, 2), make(chan string, 2)
			s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{era}, Tools: []upstreamtest.Tool{
				tool("wait", func(ctx context.Context, c *upstreamtest.Call) upstreamtest.Result {
					entered <- string(c.ID)
					<-ctx.Done()
					ended <- string(c.ID)
					return upstreamtest.Text("late")
				}),
			}})
			url := hostOf(t, s).listen(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			c := stateless(t, url)
			if !era.Stateless() {
				c = connect(t, url, "{}")
			}
			returned := make(chan error, 1)
			go func() {
				resp, err := http.DefaultTransport.RoundTrip(c.request(ctx, http.MethodPost, c.call(77, "wait", "{}")))
				if err == nil {
					_ = resp.Body.Close()
				}
				returned <- err
			}()
			id := <-entered
			if era.Stateless() {
				cancel()
			} else if r := c.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}`); r.status != http.StatusAccepted {
				t.Errorf("HTTP %d", r.status)
			}
			<-returned
			if got := <-ended; got != id {
				t.Errorf("cancelled %s, want %s", got, id)
			}
			sent, err := s.WaitForRequests(t.Context(), "notifications/cancelled", 1)
			if err != nil || !strings.Contains(string(sent[0].Body), `"requestId":`+id) {
				t.Errorf("sent %s, %v", sent[0].Body, err)
			}
		})
	}
}

// TestEndDuringCall ends the program during a call.
func TestEndDuringCall(t *testing.T) {
	t.Parallel()
	for _, tell := range []bool{false, true} {
		t.Run(map[bool]string{false: "JSON", true: "events"}[tell], func(t *testing.T) {
			t.Parallel()
			h := newHost(t, lineProgram(func(line string, write func(string)) bool {
				if shake(line, write) || !strings.Contains(line, "tools/call") {
					return strings.Contains(line, "discover")
				}
				if tell {
					write(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info"}}`)
				}
				return true
			}))
			c := connect(t, h.listen(t), "{}")
			r := c.post(c.call(1, "x", "{}"))
			switch {
			case r.last().Error == nil || r.last().Error.Message != "the program ended (exit code 3)" || string(r.last().ID) != "1":
				t.Errorf("response %+v", r)
			case tell && r.last().Method != wiring.EventFailure:
				t.Errorf("last event %+v", r.last())
			case !tell && (r.status != http.StatusNotFound || r.header.Get(wiring.HeaderFailure) != wiring.FailureEnded):
				t.Errorf("HTTP %d, %v", r.status, r.header)
			}
			if r := c.post(c.call(2, "x", "{}")); r.status != http.StatusNotFound || r.last().Error.Code != -32001 {
				t.Errorf("later call: HTTP %d, %+v", r.status, r.last())
			}
		})
	}
}

// TestRestartThroughPool ends the program between calls of the gateway.
func TestRestartThroughPool(t *testing.T) {
	t.Parallel()
	for _, era := range []upstreamtest.Era{upstreamtest.Era20251125, upstreamtest.Era20260728} {
		t.Run(string(era), func(t *testing.T) {
			t.Parallel()
			h := hostOf(t, upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{era}, Tools: upstreamtest.Standard(1)}))
			p, to := newPool(t, h.listen(t))
			for range 3 {
				resp, err := p.Call(t.Context(), to, &upstream.Request{Method: "tools/call", Params: []byte(`{"name":"echo","arguments":{"text":"hi"}}`)})
				if err != nil || resp.Error != nil {
					t.Fatalf("%+v, %v", resp, err)
				}
				h.awaitStop()
			}
		})
	}
}

// TestBodies sends requests at and beyond the limit.
func TestBodies(t *testing.T) {
	t.Parallel()
	h := newHost(t, lineProgram(func(line string, write func(string)) bool {
		if !shake(line, write) && strings.Contains(line, "ping") {
			respond(line, write, "{}")
		}
		return strings.Contains(line, "discover")
	}))
	c := connect(t, h.listen(t), "{}")
	frame := c.message(5, "ping", `{"x":""}`)
	for size, want := range map[int]int{16<<20 - 1: 200, 16 << 20: 200, 16<<20 + 1: 413} {
		body := strings.Replace(frame, `"x":""`, `"x":"`+strings.Repeat("x", size-len(frame))+`"`, 1)
		if r := c.post(body); r.status != want {
			t.Errorf("%d bytes: HTTP %d, want %d", size, r.status, want)
		}
	}
	for _, bad := range []struct {
		body   string
		status int
	}{{"{", 400}, {"[]", 400}, {`{"jsonrpc":"1.0","id":1,"method":"x"}`, 400}} {
		if r := c.post(bad.body); r.status != bad.status || r.last().Error == nil {
			t.Errorf("%s: HTTP %d, %+v", bad.body, r.status, r.last())
		}
	}
	text := c.request(t.Context(), http.MethodPost, frame)
	text.Header.Set("Content-Type", "text/plain")
	if r := c.read(c.do(text), nil); r.status != http.StatusUnsupportedMediaType {
		t.Errorf("text: HTTP %d", r.status)
	}
}

// TestSessions checks session IDs and their end.
func TestSessions(t *testing.T) {
	t.Parallel()
	h := hostOf(t, upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{upstreamtest.Era20251125}, Tools: upstreamtest.Standard(1)}), perClient)
	url := h.listen(t)
	a, b := connect(t, url, "{}"), connect(t, url, "{}")
	if a.session == b.session || h.running() != 2 {
		t.Errorf("sessions %s, %s; %d processes", a.session, b.session, h.running())
	}
	if r := a.read(a.do(a.request(t.Context(), http.MethodDelete, "")), nil); r.status != http.StatusNoContent {
		t.Errorf("DELETE: HTTP %d", r.status)
	}
	if r := a.post(a.call(1, "echo", `{"text":"x"}`)); r.status != http.StatusNotFound {
		t.Errorf("after its end: HTTP %d", r.status)
	}
	if r := b.post(b.call(1, "echo", `{"text":"x"}`)); textOf(t, r.last()) != "x" {
		t.Errorf("the other: %+v", r)
	}
	none := &client{t: t, url: url}
	if r := none.post(none.call(1, "echo", "{}")); r.status != http.StatusBadRequest {
		t.Errorf("without session: HTTP %d", r.status)
	}
	if r := none.read(none.do(none.request(t.Context(), http.MethodGet, "")), nil); r.status != http.StatusBadRequest {
		t.Errorf("GET without session: HTTP %d", r.status)
	}
	if r := none.read(none.do(none.request(t.Context(), http.MethodOptions, "")), nil); r.status != http.StatusMethodNotAllowed {
		t.Errorf("OPTIONS: HTTP %d", r.status)
	}
	bad := none.post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"x\",\"y\":\"","capabilities":{}}}`)
	if bad.last().Error == nil || bad.last().Error.Code != -32602 {
		t.Errorf("invalid version: %+v", bad.last())
	}
}

// TestMostSessions fills a process with sessions: the one that has been idle for the
// longest time makes room.
func TestMostSessions(t *testing.T) {
	t.Parallel()
	h := hostOf(t, upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{upstreamtest.Era20251125}, Tools: upstreamtest.Standard(1), Record: -1}))
	url := h.listen(t)
	all := make([]*client, wiring.MaxSessions+1)
	works := func(i int) bool {
		return all[i].post(all[i].call(1, "echo", `{"text":"x"}`)).status == http.StatusOK
	}
	for i := range all[:wiring.MaxSessions] {
		all[i] = connect(t, url, "{}")
	}
	if !works(0) || !works(wiring.MaxSessions-1) { // the second one is now the idlest
		t.Error("a session was lost")
	}
	all[wiring.MaxSessions] = connect(t, url, "{}")
	if !works(0) || works(1) || !works(2) || !works(wiring.MaxSessions) {
		t.Error("not the idlest session was replaced")
	}
	if h.starts() != 1 {
		t.Errorf("%d processes", h.starts())
	}
}

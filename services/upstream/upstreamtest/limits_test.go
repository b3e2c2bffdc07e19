package upstreamtest_test

import (
	"context"
	"fmt"
	"net"
	"net/http/httptest"
	"strings"
	"testing"

	"mcpgateway/services/upstream/upstreamtest"
)

func TestSessionLimit(t *testing.T) {
	const limit = 20_000
	s := upstreamtest.New(upstreamtest.Options{Record: -1})
	t.Cleanup(s.Close)
	open := func() int {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, newPost(initialize))
		return w.Code
	}
	for n := 1; n <= limit; n++ {
		if got := open(); got != 200 {
			t.Fatalf("session %d was rejected with %d", n, got)
		}
	}
	if got := open(); got != 503 {
		t.Errorf("session %d: status %d", limit+1, got)
	}
	if n := s.Stats().Sessions; n != limit {
		t.Errorf("%d sessions", n)
	}
}

func TestHTTPSSERequestLimit(t *testing.T) {
	const limit = 64
	s, url := serve(t, upstreamtest.Options{})
	e := pendingRequest{method: "GET", url: url}.open(t)
	post := strings.TrimSuffix(url, "/mcp") + e.must().data
	s.SetFault(upstreamtest.Fault{On: "ping", Kind: upstreamtest.Hang})
	for n := 1; n <= limit+1; n++ {
		want := 202
		if n > limit {
			want = 429
		}
		check(t, pendingRequest{url: post, body: fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, n)}, want, "", "")
	}
	check(t, pendingRequest{url: post, body: `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`}, 202, "", "")
}

func TestHeldConnectionLimit(t *testing.T) {
	const limit = 256
	s, url := serve(t, upstreamtest.Options{})
	s.SetFault(upstreamtest.Fault{On: upstreamtest.OnAccept, Kind: upstreamtest.Hang})
	addr := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/mcp")
	var first net.Conn
	closed := make(chan error, 1)
	for n := 1; n <= limit+1; n++ {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if n == 1 {
			first = c
			go func() {
				_, err := first.Read(make([]byte, 1))
				closed <- err
			}()
		}
		if n == limit {
			select {
			case err := <-closed:
				t.Fatalf("first connection ended early: %v", err)
			default:
			}
		}
	}
	select {
	case err := <-closed:
		if err == nil {
			t.Error("oldest connection received a response")
		}
	case <-within(t).Done():
		t.Error("oldest connection is still held")
	}
}

func TestUnreadStreamIsEnded(t *testing.T) {
	s, url := serve(t, upstreamtest.Options{})
	e := pendingRequest{method: "GET", url: url, headers: []string{session(t, url)}}.open(t)
	if err := s.WaitForStreams(within(t), 1); err != nil {
		t.Fatal(err)
	}
	params := []byte(`{"level":"info","data":"` + strings.Repeat("x", 64<<10) + `"}`)
	sent := 0
	for s.Notify("notifications/message", params) == 1 {
		if sent++; sent > 20_000 {
			t.Fatal("stream accepts everything")
		}
	}
	if sent < 256 {
		t.Errorf("ended after %d messages", sent)
	}
	got := 0
	for _, ok := e.next(); ok; _, ok = e.next() {
		got++
	}
	if got != sent {
		t.Errorf("%d of %d messages arrived before the end", got, sent)
	}
}

func TestResumableStreamLimit(t *testing.T) {
	const logs, events = 64, 1000
	accepted := make(chan int, 1)
	_, url := serve(t, upstreamtest.Options{Resumable: true, Answer: upstreamtest.AnswerSSE, Tools: []upstreamtest.Tool{{
		Definition: `{"name":"talk","inputSchema":{"type":"object"}}`,
		Call: func(_ context.Context, c *upstreamtest.Call) upstreamtest.Result {
			n := 0
			for c.Notify("notifications/message", []byte(`{"level":"info","data":1}`)) == nil {
				n++
			}
			accepted <- n
			return upstreamtest.Text("done")
		},
	}}})
	sid := session(t, url)
	talk := pendingRequest{url: url, body: call("talk", "{}"), headers: []string{sid}}
	e := talk.open(t)
	if n := <-accepted; n != events {
		t.Errorf("stream accepted %d events, want %d", n, events)
	}
	n := 0
	for _, ok := e.next(); ok; _, ok = e.next() {
		n++
	}
	if n != 1+events+1 { // the priming event, the notifications, the result
		t.Errorf("%d events arrived", n)
	}

	resume := func(status int) {
		t.Helper()
		check(t, pendingRequest{method: "GET", url: url, headers: []string{sid, "Last-Event-ID: 1_1000"}}, status, "", "")
	}
	for range logs - 1 {
		check(t, pendingRequest{url: url, body: ping, headers: []string{sid}}, 200, `"result":{}`, "")
	}
	resume(200)
	check(t, pendingRequest{url: url, body: ping, headers: []string{sid}}, 200, `"result":{}`, "")
	resume(400)
}

func TestRecordedBodyLimit(t *testing.T) {
	const limit = 1 << 20
	s, url := serve(t, upstreamtest.Options{})
	sid := session(t, url)
	for _, n := range []int{limit - 1, limit, limit + 1} {
		s.ForgetRequests()
		check(t, pendingRequest{url: url, body: ping + strings.Repeat(" ", n-len(ping)), headers: []string{sid}}, 200, "", "")
		if got := len(s.Requests("ping")[0].Body); got != min(n, limit) {
			t.Errorf("stored %d of %d bytes", got, n)
		}
	}
}

package mcp_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"mcpgateway/services/fault"
	"mcpgateway/services/upstream/upstreamtest"
)

// elicits sends one request to the client and returns its outcome as the result
// of the call.
func elicits(c *call) (string, error) {
	if c.Ask == nil {
		return `"no Ask"`, nil
	}
	result, rpcError, err := c.Ask(c, "elicitation/create", []byte(`{"message":"name?"}`))
	return fmt.Sprintf(`{"result":%q,"error":%q,"err":%q}`, result, rpcError, fmt.Sprint(err)), nil
}

func TestRequestToClientOnCallStream(t *testing.T) {
	s := serve(t, openProject, elicits)
	session := s.session(t)
	h := legacyHeader("Mcp-Session-Id", session)
	for _, c := range []struct{ name, response, want string }{
		{"a result", `{"jsonrpc":"2.0","id":ID,"result":{"action": "accept"}}`, `{"result":"{\"action\": \"accept\"}","error":"","err":"<nil>"}`},
		{"an error", `{"jsonrpc":"2.0","id":ID,"error":{"code":-1,"message":"no"}}`, `{"result":"","error":"{\"code\":-1,\"message\":\"no\"}","err":"<nil>"}`},
		{"in a batch", `[{"jsonrpc":"2.0","id":"else","result":{}},{"jsonrpc":"2.0","id":ID,"result":{"b":1}}]`, `{"result":"{\"b\":1}","error":"","err":"<nil>"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			stream := s.stream(t, request{body: toolCall, header: h})
			question := stream.next()
			id := idOf(t, question)
			if want := `{"jsonrpc":"2.0","id":` + id + `,"method":"elicitation/create","params":{"message":"name?"}}`; question != want {
				t.Fatalf("got %s, want %s", question, want)
			}
			for _, r := range []string{
				`{"jsonrpc":"2.0","id":"unknown","result":{}}`,
				strings.ReplaceAll(c.response, "ID", id),
				`{"jsonrpc":"2.0","id":` + id + `,"result":{"too":"late"}}`,
			} {
				if status, _, body := s.get(t, request{body: r, header: h}); status != 202 || body != "" {
					t.Errorf("posted response: got %d: %s", status, body)
				}
			}
			stream.want(`{"jsonrpc":"2.0","id":7,"result":` + c.want + `}`)
			stream.want("")
		})
	}
	t.Run("responses of other clients", func(t *testing.T) {
		stream := s.stream(t, request{body: toolCall, header: h})
		id := idOf(t, stream.next())
		for _, sender := range []map[string]string{legacyHeader(), legacyHeader("Mcp-Session-Id", s.session(t))} {
			s.get(t, request{body: `{"jsonrpc":"2.0","id":` + id + `,"result":{"from":"another"}}`, header: sender})
		}
		s.get(t, request{body: `{"jsonrpc":"2.0","id":` + id + `,"result":{"from":"us"}}`, header: h})
		if got := stream.next(); !strings.Contains(got, `{\"from\":\"us\"}`) {
			t.Errorf("got %s", got)
		}
	})
	for name, r := range map[string]request{
		"without a session": {body: toolCall, header: legacyHeader()},
		"without streams":   {body: toolCall, header: legacyHeader("Mcp-Session-Id", session, "Accept", "application/json")},
		"in a batch":        {body: "[" + toolCall + "]", header: legacyHeader("Mcp-Session-Id", session, "MCP-Protocol-Version", "2025-03-26")},
		"stateless":         {body: modernCall, header: modernHeader("tools/call")},
	} {
		t.Run(name+", no request", func(t *testing.T) {
			if _, _, body := s.get(t, r); !strings.Contains(body, "no Ask") {
				t.Errorf("got %s", body)
			}
		})
	}
}

func TestRequestToClientEnds(t *testing.T) {
	t.Run("context", func(t *testing.T) {
		s := serve(t, openProject, func(c *call) (string, error) {
			ctx, cancel := context.WithCancel(c)
			go cancel()
			_, _, err := c.Ask(ctx, "roots/list", nil)
			return fmt.Sprintf("%q", fmt.Sprint(err)), nil
		})
		stream := s.stream(t, request{body: toolCall, header: legacyHeader("Mcp-Session-Id", s.session(t))})
		if got := stream.next(); !strings.HasSuffix(got, `"method":"roots/list"}`) {
			t.Errorf("got %s, want roots/list", got)
		}
		stream.want(`{"jsonrpc":"2.0","id":7,"result":"context canceled"}`)
	})
	t.Run("stream", func(t *testing.T) {
		asked := make(chan error, 1)
		s := serve(t, openProject, func(c *call) (string, error) {
			var writing sync.WaitGroup
			var enough atomic.Bool
			writing.Go(func() {
				// The gateway notices only while writing that nothing is read.
				big := []byte(`"` + strings.Repeat("x", 512<<10) + `"`)
				for range 100 {
					if enough.Load() {
						return
					}
					c.Notify("notifications/message", big)
				}
			})
			_, _, err := c.Ask(c, "roots/list", nil)
			enough.Store(true)
			writing.Wait()
			asked <- err
			return okResult, nil
		})
		conn := s.dial(t)
		request{body: toolCall, header: legacyHeader("Mcp-Session-Id", s.session(t), "MCP-Protocol-Version", "2025-06-18")}.write(t, conn)
		if err := <-asked; !fault.Is(err, fault.CodeUnavailable) {
			t.Errorf("Ask: got %v, want UNAVAILABLE", err)
		}
		_ = conn.Close()
	})
}

func TestMaxRequestsToClient(t *testing.T) {
	const most = 64
	for _, n := range []int{most - 1, most, most + 1} {
		s := serve(t, openProject, func(c *call) (string, error) {
			refused := make(chan bool, n)
			ctx, cancel := context.WithCancel(c)
			defer cancel()
			for range n {
				go func() {
					_, _, err := c.Ask(ctx, "roots/list", nil)
					refused <- fault.Is(err, fault.CodeRateLimited)
				}()
			}
			count := 0
			if n > most && <-refused {
				count++
			}
			c.Notify("notifications/counted", nil)
			<-c.Done()
			return fmt.Sprint(count), nil
		})
		session := s.session(t)
		h := legacyHeader("Mcp-Session-Id", session)
		stream := s.stream(t, request{body: toolCall, header: h})
		asked, counted := 0, 0
		for range min(n, most) + 1 {
			got := stream.next()
			asked += strings.Count(got, "roots/list")
			counted += strings.Count(got, "notifications/counted")
		}
		if asked != min(n, most) || counted != 1 {
			t.Fatalf("got %d requests, want %d", asked, min(n, most))
		}
		s.get(t, request{body: `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`, header: h})
		stream.want(fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"result":%d}`, max(0, n-most)))
	}
}

func TestCancelRequest(t *testing.T) {
	for _, c := range []struct {
		name, accept string
		first        func(*call)
	}{
		{"JSON", "application/json", nil},
		{"before the answer", bothKinds, nil},
		{"on a stream", bothKinds, func(c *call) { c.progress(1) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			began, cancelled, release := newGate(), newGate(), newGate()
			s := serve(t, openProject, plays(began, cancelled, release, c.first))
			defer release.open()
			session := s.session(t)
			h := legacyHeader("Mcp-Session-Id", session, "Accept", c.accept)
			type answered struct {
				status          int
				body, requestID string
			}
			answers := make(chan answered, 1)
			go func() {
				status, header, body := s.get(t, request{body: toolCall, header: h})
				answers <- answered{status, body, header.Get("X-Request-Id")}
			}()
			began.wait(t, "the call began")
			cancel := func(id string, h map[string]string) {
				body := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`
				if status, _, body := s.get(t, request{body: body, header: h}); status != 202 {
					t.Errorf("cancelled: got %d: %s", status, body)
				}
			}
			cancel(`"7"`, h)
			cancel(`8`, h)
			cancel(`7`, legacyHeader())
			cancel(`7`, legacyHeader("Mcp-Session-Id", s.session(t)))
			select {
			case <-cancelled.c:
				t.Fatal("another notification cancelled the call")
			default:
			}
			cancel(`7`, h)
			cancelled.wait(t, "the call was cancelled")
			got := <-answers
			if c.first != nil && strings.Contains(got.body, `"id":7`) {
				t.Errorf("response to a cancelled request: %s", got.body)
			}
			if c.first != nil {
				return
			}
			const want = `{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"The request was cancelled.","data":{"code":"CANCELLED","restart":false,`
			if got.status != 200 || !strings.HasPrefix(got.body, want) {
				t.Errorf("cancelled request: got %d: %s", got.status, got.body)
			}
			if level, code := s.line(t, got.requestID); level != "INFO" || code != "CANCELLED" {
				t.Errorf("a cancelled request is logged as %s %s", level, code)
			}
		})
	}
}

// TestCancelUpstreamCall cancels calls of an upstream server that doesn't
// respond, with each response format.
func TestCancelUpstreamCall(t *testing.T) {
	began := make(chan struct{}, 1)
	up := upstreamtest.New(upstreamtest.Options{Name: "up"})
	hosted := httptest.NewServer(up)
	t.Cleanup(hosted.Close)
	up.SetTools(upstreamtest.Tool{Definition: `{"name":"wait","inputSchema":{"type":"object"}}`, Call: func(ctx context.Context, _ *upstreamtest.Call) upstreamtest.Result {
		began <- struct{}{}
		<-ctx.Done()
		return upstreamtest.Result{}
	}})
	s := serve(t, `{"projects":{"p":{"authMode":"none","mcpServers":{"up":{"url":"`+hosted.URL+`/mcp"}}}}}`, nil)
	s.Sync(t, "p", "up")
	for _, accept := range []string{"application/json", bothKinds} {
		h := legacyHeader("Mcp-Session-Id", s.session(t), "Accept", accept)
		answers := make(chan [2]string, 1)
		go func() {
			_, header, body := s.get(t, request{body: `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"up__wait"}}`, header: h})
			answers <- [2]string{body, header.Get("X-Request-Id")}
		}()
		<-began
		if status, _, body := s.get(t, request{body: `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`, header: h}); status != 202 {
			t.Errorf("cancelled: got %d: %s", status, body)
		}
		got := <-answers
		if !strings.Contains(got[0], `"message":"The request was cancelled.","data":{"code":"CANCELLED"`) {
			t.Errorf("%s: cancelled call: got %s", accept, got[0])
		}
		if level, code := s.line(t, got[1]); level != "INFO" || code != "CANCELLED" {
			t.Errorf("%s: a cancelled call is logged as %s %s", accept, level, code)
		}
	}
}

package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"

	"mcpgateway/routes/mcp"
	"mcpgateway/services/fault"
	"mcpgateway/services/gateway"
)

const (
	okResult = `{"content":[]}`
	okAnswer = `{"jsonrpc":"2.0","id":7,"result":{"content":[]}}`
)

func progressMessage(n int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":%d,"total":10000}}`, n)
}

func TestResponseFormat(t *testing.T) {
	quiet := func(*call) (string, error) { return okResult, nil }
	loud := func(c *call) (string, error) {
		if c.Notify != nil {
			c.progress(1)
			c.progress(2)
		}
		return okResult, nil
	}
	failing := func(c *call) (string, error) {
		c.progress(1)
		return "", fault.Upstream(fault.CodeUpstreamTimeout, "too slow")
	}
	panicking := func(c *call) (string, error) {
		c.progress(1)
		panic("at the disco")
	}
	progressed := []string{progressMessage(1), progressMessage(2), okAnswer}
	for _, c := range []struct {
		name   string
		play   func(*call) (string, error)
		header map[string]string
		modern bool
		stream []string // expected events, "~" for a substring; nil for JSON
	}{
		{"no Accept", loud, header("Accept", ""), false, nil},
		{"anything", loud, header("Accept", "*/*"), false, nil},
		{"only JSON", loud, header("Accept", "application/json"), false, nil},
		{"stream with q=0", loud, header("Accept", "application/json, text/event-stream;q=0"), false, nil},
		{"both, no progress", quiet, legacyHeader(), false, nil},
		{"both and progress", loud, legacyHeader(), false, progressed},
		{"other case and a weight", loud, header("Accept", "application/json;q=0.5,Text/Event-Stream; q=1.0"), false, progressed},
		{"only a stream", quiet, header("Accept", "text/event-stream"), false, []string{okAnswer}},
		{"error after progress", failing, legacyHeader(), false, []string{progressMessage(1), `~"code":"UPSTREAM_TIMEOUT"`}},
		{"panic after progress", panicking, legacyHeader(), false, []string{progressMessage(1), `~"code":"INTERNAL"`}},
		{"modern, no progress", quiet, modernHeader("tools/call"), true, nil},
		{"modern and progress", loud, modernHeader("tools/call"), true, progressed},
		{"modern and only JSON", loud, modernHeader("tools/call", "Accept", "application/json"), true, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, openProject, c.play)
			r := request{body: toolCall, header: c.header}
			if c.modern {
				r.body = modernCall
			}
			if c.stream == nil {
				status, h, body := s.get(t, r)
				if status != 200 || h.Get("Content-Type") != "application/json" || body != okAnswer {
					t.Errorf("status %d, %s: %s", status, h.Get("Content-Type"), body)
				}
				return
			}
			stream := s.stream(t, r)
			for _, want := range c.stream {
				if part, ok := strings.CutPrefix(want, "~"); ok {
					if got := stream.next(); !strings.Contains(got, part) || !strings.Contains(got, `"id":7`) {
						t.Errorf("next event = %q, want %q in it", got, part)
					}
					continue
				}
				stream.want(want)
			}
			stream.want("")
			routesEventually(t, s, `"tool":"scripted__tool"`)
		})
	}
}

// routesEventually waits for a part of the log, which is written after the end
// of a streamed request.
func routesEventually(t *testing.T, s *server, part string) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !strings.Contains(s.Log.String(), part) {
		if time.Now().After(deadline) {
			t.Fatalf("the log lacks %s: %s", part, s.Log.String())
		}
		<-tick.C
	}
}

func TestSlowResponseBecomesStream(t *testing.T) {
	release := newGate()
	s := serve(t, openProject, func(*call) (string, error) {
		<-release.c
		return okResult, nil
	}, func(o *mcp.Options) { o.Hold, o.KeepAlive = 5*time.Millisecond, 5*time.Millisecond })
	defer release.open()
	stream := s.stream(t, request{body: toolCall, header: legacyHeader()})
	for range 3 {
		if got := stream.block(); !strings.HasPrefix(got, ":") {
			t.Fatalf("got %q, want a comment", got)
		}
	}
	release.open()
	stream.want(okAnswer)
	stream.want("")
}

func TestInMemoryResponsesAreJSON(t *testing.T) {
	s := serve(t, openProject, nil, func(o *mcp.Options) { o.Hold = time.Nanosecond })
	for _, method := range []string{"ping", "tools/list", "initialize"} {
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"protocolVersion":"2025-11-25"}}`, method)
		if _, h, _ := s.get(t, request{body: body, header: legacyHeader()}); h.Get("Content-Type") != "application/json" {
			t.Errorf("%s: got %s, want application/json", method, h.Get("Content-Type"))
		}
	}
}

func TestProgressOrder(t *testing.T) {
	s := serve(t, openProject, func(c *call) (string, error) {
		for i := range 10_000 {
			c.progress(i + 1)
		}
		return okResult, nil
	})
	stream := s.stream(t, request{body: toolCall, header: legacyHeader()})
	last, count := 0, 0
	for {
		message := stream.next()
		if message == okAnswer {
			break
		}
		var m struct{ Params struct{ Progress int } }
		if err := json.Unmarshal([]byte(message), &m); err != nil {
			t.Fatal(err)
		}
		if m.Params.Progress <= last {
			t.Fatalf("got progress %d after %d", m.Params.Progress, last)
		}
		last = m.Params.Progress
		count++
	}
	t.Logf("%d of 10000 events were sent, the others were replaced by newer ones", count)
	if last != 10_000 {
		t.Errorf("last progress = %d, want 10000", last)
	}
}

func TestClientThatNeverReads(t *testing.T) {
	big := `{"level":"info","data":"` + strings.Repeat("x", 64<<10) + `"}`
	for _, c := range []struct {
		name, method string
		ends         bool // the stream ends before the call
	}{
		{"dropped progress", "notifications/progress", false},
		{"ended stream", "notifications/message", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			played := make(chan int, 1)
			s := serve(t, openProject, func(call *call) (string, error) {
				const most = 2000 // 128 MiB
				for i := range most {
					if call.Err() != nil {
						played <- i
						return okResult, nil
					}
					call.Notify(c.method, []byte(big))
				}
				if c.ends {
					<-call.Done()
				}
				played <- most
				return okResult, nil
			})
			conn := s.dial(t)
			if err := conn.SetReadBuffer(4 << 10); err != nil {
				t.Fatal(err)
			}
			request{body: modernCall, header: modernHeader("tools/call")}.write(t, conn)
			select {
			case n := <-played:
				t.Logf("%d notifications were sent", n)
			case <-time.After(time.Minute):
				t.Fatal("the call is blocked by a client that doesn't read")
			}
			if err := conn.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// plays returns a script that signals its start and its cancellation.
func plays(began, cancelled, release *gate, first func(*call)) func(*call) (string, error) {
	return func(c *call) (string, error) {
		if first != nil {
			first(c)
		}
		began.open()
		select {
		case <-c.Done():
			cancelled.open()
			return "", c.Err()
		case <-release.c:
			return okResult, nil
		}
	}
}

func TestDisconnectCancelsStatelessCall(t *testing.T) {
	upgrade := func(c *call) {
		if c.Notify != nil {
			c.progress(1)
		}
	}
	for _, c := range []struct {
		name, accept string
		first        func(*call)
	}{
		{"before the response", bothKinds, nil},
		{"on a stream", bothKinds, upgrade},
		{"JSON only", "application/json", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			began, cancelled, release := newGate(), newGate(), newGate()
			s := serve(t, openProject, plays(began, cancelled, release, c.first))
			defer release.open()
			conn := s.dial(t)
			request{body: modernCall, header: modernHeader("tools/call", "Accept", c.accept)}.write(t, conn)
			began.wait(t, "the call began")
			if err := conn.Close(); err != nil {
				t.Fatal(err)
			}
			cancelled.wait(t, "the call was cancelled")
		})
	}
	t.Run("half-closed connection", func(t *testing.T) {
		began, cancelled, release := newGate(), newGate(), newGate()
		s := serve(t, openProject, plays(began, cancelled, release, nil))
		defer release.open()
		conn := s.dial(t)
		request{body: modernCall, header: modernHeader("tools/call")}.write(t, conn)
		began.wait(t, "the call began")
		if err := conn.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		cancelled.wait(t, "the call was cancelled")
	})
	t.Run("pipelined request", func(t *testing.T) {
		began, cancelled, release := newGate(), newGate(), newGate()
		s := serve(t, openProject, plays(began, cancelled, release, nil))
		defer release.open()
		conn := s.dial(t)
		r := request{body: modernCall, header: modernHeader("tools/call")}
		r.write(t, conn)
		began.wait(t, "the call began")
		r.write(t, conn)
		release.open()
		answers := bufio.NewReader(conn)
		for range 2 {
			resp, err := http.ReadResponse(answers, nil)
			if err != nil {
				t.Fatal(err)
			}
			if b, err := io.ReadAll(resp.Body); err != nil || string(b) != okAnswer {
				t.Errorf("got %s, %v", b, err)
			}
			_ = resp.Body.Close()
		}
	})
}

func TestDisconnectKeepsHandshakeCall(t *testing.T) {
	for _, c := range []struct {
		name  string
		first func(*call)
	}{
		{"before the response", nil},
		{"on a stream", func(c *call) { c.progress(1) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			began, cancelled, release, done := newGate(), newGate(), newGate(), newGate()
			waiting := plays(began, cancelled, release, c.first)
			modernBegan, modernCancelled := newGate(), newGate()
			s := serve(t, openProject, func(c *call) (string, error) {
				if c.Stateless() {
					return plays(modernBegan, modernCancelled, release, nil)(c)
				}
				defer done.open()
				return waiting(c)
			})
			defer release.open()
			conn, witness := s.dial(t), s.dial(t)
			request{body: toolCall, header: legacyHeader()}.write(t, conn)
			request{body: modernCall, header: modernHeader("tools/call")}.write(t, witness)
			began.wait(t, "the call began")
			modernBegan.wait(t, "the other call began")
			_ = conn.Close()
			_ = witness.Close()
			modernCancelled.wait(t, "the server noticed the client that disconnected last")
			release.open()
			done.wait(t, "the call ended")
			select {
			case <-cancelled.c:
				t.Error("the call was cancelled")
			default:
			}
		})
	}
	t.Run("half-closed connection", func(t *testing.T) {
		began, cancelled, release := newGate(), newGate(), newGate()
		s := serve(t, openProject, plays(began, cancelled, release, func(c *call) { c.progress(1) }))
		defer release.open()
		conn := s.dial(t)
		request{body: toolCall, header: legacyHeader()}.write(t, conn)
		began.wait(t, "the call began")
		if err := conn.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		stream := streamOf(t, resp)
		stream.want(progressMessage(1))
		release.open()
		stream.want(okAnswer)
		stream.want("")
	})
}

// TestCallStreamClosesConnection checks that the stream of a call is complete,
// and that the next request uses another connection.
func TestCallStreamClosesConnection(t *testing.T) {
	s := serve(t, openProject, func(c *call) (string, error) {
		c.progress(1)
		return okResult, nil
	})
	for i, r := range []request{
		{body: toolCall, header: legacyHeader()}, {body: modernCall, header: modernHeader("tools/call")}, {body: toolCall, header: legacyHeader()},
	} {
		var reused bool
		r.conn = httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) { reused = info.Reused }})
		stream := s.stream(t, r)
		stream.want(progressMessage(1))
		stream.want(okAnswer)
		stream.want("")
		if reused && i > 0 {
			t.Errorf("request %d reused the connection of a stream", i)
		}
	}
}

// TestHTTP10Response checks that an HTTP/1.0 client, which supports no chunks
// and thus no streams, receives only the response.
func TestHTTP10Response(t *testing.T) {
	s := serve(t, openProject, func(c *call) (string, error) {
		if c.Notify != nil {
			c.progress(1)
		}
		return okResult, nil
	})
	conn := s.dial(t)
	_, err := fmt.Fprintf(conn, "POST /v1/mcp/p/request HTTP/1.0\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAccept: %s\r\nContent-Length: %d\r\n\r\n%s", bothKinds, len(toolCall), toolCall)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.Header.Get("Content-Type") != "application/json" || string(body) != okAnswer || resp.TransferEncoding != nil {
		t.Errorf("%s %v: %s (%v)", resp.Header.Get("Content-Type"), resp.TransferEncoding, body, err)
	}
}

func TestMessagesAfterResponse(t *testing.T) {
	for _, accept := range []string{bothKinds, "text/event-stream"} {
		kept := make(chan *call, 1)
		s := serve(t, openProject, func(c *call) (string, error) {
			kept <- c
			return okResult, nil
		})
		resp := s.do(t, request{body: toolCall, header: legacyHeader("Accept", accept, "Mcp-Session-Id", s.session(t))})
		b, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || !strings.Contains(string(b), okAnswer) {
			t.Fatalf("%s, %v", b, err)
		}
		c := <-kept
		c.progress(1)
		c.Notify("notifications/message", []byte(`{}`))
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		if _, _, err := c.Ask(ctx, "roots/list", nil); !fault.Is(err, fault.CodeUnavailable) {
			t.Errorf("Ask after the response: got %v, want UNAVAILABLE", err)
		}
		cancel()
	}
}

func TestUpstreamErrorStatus(t *testing.T) {
	for _, c := range []struct {
		code           string
		legacy, modern int
	}{{"-32601", 200, 404}, {"-32020", 200, 400}, {"-32021", 200, 400}, {"-32022", 200, 400}, {"-32602", 200, 200}, {"-1", 200, 200}} {
		raw := `{"code": ` + c.code + ` ,"message":"no"}`
		s := serve(t, openProject, func(*call) (string, error) { return "", &gateway.RPCError{Raw: []byte(raw)} })
		for r, want := range map[*request]int{
			{body: toolCall, header: legacyHeader()}:               c.legacy,
			{body: modernCall, header: modernHeader("tools/call")}: c.modern,
		} {
			if status, _, body := s.get(t, *r); status != want || body != `{"jsonrpc":"2.0","id":7,"error":`+raw+`}` {
				t.Errorf("%s %v: status %d, want %d: %s", c.code, r.header, status, want, body)
			}
		}
	}
}

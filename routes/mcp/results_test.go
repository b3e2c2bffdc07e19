package mcp_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"mcpgateway/routes/mcp"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/membudget"
	"mcpgateway/services/upstream/upstreamtest"
)

// serveLarge starts a server with a budget for results. Its project p has the
// tool up__big.
func serveLarge(t *testing.T, budget *membudget.Budget, o upstreamtest.Options, timeout time.Duration) *server {
	t.Helper()
	o.Tools = append(upstreamtest.Standard(0), upstreamtest.Big(), upstreamtest.Echo())
	up := upstreamtest.New(o)
	s := serve(t, fmt.Sprintf(`{"projects":{"p":{"authMode":"none","mcpServers":{"up":{"url":%q,"timeout":%d}}}}}`, up.Start(t), timeout.Milliseconds()), nil,
		func(o *mcp.Options) { o.Results = budget })
	s.Sync(t, "p", "up")
	return s
}

func bigCall(id, size int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"up__big","arguments":{"bytes":%d}}}`, id, size)
}

func batchOf(calls, size int) string {
	all := make([]string, calls)
	for i := range all {
		all[i] = bigCall(i, size)
	}
	return "[" + strings.Join(all, ",") + "]"
}

// postUnread sends a POST on a new connection with a small receive buffer. It
// returns the connection without reading the response.
func (s *server) postUnread(t *testing.T, path, body, accept string) net.Conn {
	t.Helper()
	address := strings.TrimPrefix(strings.Split(s.base, "/v1/")[0], "http://")
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.(*net.TCPConn).SetReadBuffer(256 << 10); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(conn, "POST /v1/mcp/p/%s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: %s\r\nContent-Length: %d\r\n\r\n%s", path, address, accept, len(body), body); err != nil {
		t.Fatal(err)
	}
	return conn
}

// answerOf reads the response on a connection.
func answerOf(t *testing.T, conn net.Conn) string {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(5 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestBatchResultsAreLimited(t *testing.T) {
	tests := []struct {
		name         string
		sendResponse upstreamtest.ResponseMode
		eras         []upstreamtest.Era
		calls, bytes int
		results      int
	}{
		{"JSON of 10 MiB", upstreamtest.AnswerJSON, nil, 10, 10<<20 - 1024, 1},
		{"events of 10 MiB", upstreamtest.AnswerSSE, nil, 10, 10<<20 - 1024, 1},
		{"HTTP+SSE of 9 MiB", upstreamtest.AnswerAuto, []upstreamtest.Era{upstreamtest.Era20241105}, 4, 9 << 20, 1},
		{"JSON of 1 MiB", upstreamtest.AnswerJSON, nil, 20, 1 << 20, 15},
		{"events of 1 MiB", upstreamtest.AnswerSSE, nil, 20, 1 << 20, 15},
		{"JSON of 100 KiB", upstreamtest.AnswerJSON, nil, 50, 100 << 10, 50},
		{"events of 100 KiB", upstreamtest.AnswerSSE, nil, 50, 100 << 10, 50},
		{"JSON of 1 KiB", upstreamtest.AnswerJSON, nil, 50, 1 << 10, 50},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			budget := membudget.New(64 << 20)
			s := serveLarge(t, budget, upstreamtest.Options{Answer: tt.sendResponse, Eras: tt.eras}, 5*time.Minute)
			body := answerOf(t, s.postUnread(t, "request", batchOf(tt.calls, tt.bytes), "application/json"))
			results, refused := strings.Count(body, `"result":`), strings.Count(body, `"code":"RESULT_TOO_LARGE"`)
			if results != tt.results || refused != tt.calls-tt.results || strings.Count(body, `"code":-32603`) != refused {
				t.Errorf("%d results and %d rejected, want %d and %d: %.300s", results, refused, tt.results, tt.calls-tt.results, body)
			}
			if len(body) > 16<<20+tt.calls*400 || !strings.HasPrefix(body, `[{"jsonrpc":"2.0","id":0,`) || !strings.HasSuffix(body, "}]") {
				t.Errorf("%d bytes, %.60s … %s", len(body), body, body[len(body)-20:])
			}
			routestest.Eventually(t, "the memory is released", func() bool { return budget.Held() == 0 })
		})
	}
}

// TestResultsHoldMemoryUntilSent uses clients that delay reading.
func TestResultsHoldMemoryUntilSent(t *testing.T) {
	const size = 9 << 20 // more than the socket buffers
	tests := []struct{ name, path, body, accept string }{
		{"JSON", "request", bigCall(1, size), "application/json"},
		{"stream", "request", bigCall(1, size), "text/event-stream"},
		{"batch", "request", batchOf(2, size), "application/json"},
		{"bridge", "sse", bigCall(1, size), "text/event-stream"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			budget := membudget.New(64 << 20)
			s := serveLarge(t, budget, upstreamtest.Options{Answer: upstreamtest.AnswerJSON}, time.Minute)
			for _, end := range []string{"read", "closed"} {
				conn := s.postUnread(t, tt.path, tt.body, tt.accept)
				first := make([]byte, 1)
				if _, err := io.ReadFull(conn, first); err != nil {
					t.Fatal(err)
				}
				routestest.Eventually(t, "the memory is held", func() bool { return budget.Held() >= size })
				if end == "closed" {
					_ = conn.Close()
				} else if body := answerOf(t, prefixed{conn, io.MultiReader(bytes.NewReader(first), conn)}); len(body) < size {
					t.Errorf("the client read %d bytes: %.300s", len(body), body)
				}
				routestest.Eventually(t, end+": the memory is released", func() bool { return budget.Held() == 0 })
			}
		})
	}
}

// prefixed is a connection whose first byte was already read.
type prefixed struct {
	net.Conn
	rest io.Reader
}

func (p prefixed) Read(b []byte) (int, error) { return p.rest.Read(b) }

func TestLargeResultsWaitForMemory(t *testing.T) {
	const size = 9 << 20
	budget := membudget.New(12 << 20)
	s := serveLarge(t, budget, upstreamtest.Options{Answer: upstreamtest.AnswerJSON}, 6*time.Second)
	holder := s.postUnread(t, "request", bigCall(1, size), "application/json")
	if _, err := io.ReadFull(holder, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	large := make([]net.Conn, 6) // more than the number of failures that opens a breaker
	for i := range large {
		large[i] = s.postUnread(t, "request", bigCall(2, size), "application/json")
	}
	for _, conn := range large {
		if body := answerOf(t, conn); !strings.Contains(body, `"code":"UNAVAILABLE"`) {
			t.Fatalf("large call without memory: got %.300s", body)
		}
	}
	if body := answerOf(t, s.postUnread(t, "request", bigCall(3, 1000), "application/json")); !strings.Contains(body, `"result"`) {
		t.Errorf("small call without memory: got %.300s", body)
	}
	waiting := s.postUnread(t, "request", bigCall(4, size), "application/json")
	_ = holder.Close()
	if body := answerOf(t, waiting); !strings.Contains(body, `"result"`) {
		t.Errorf("large call after a release: got %.300s", body)
	}
}

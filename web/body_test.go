package web_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"mcpgateway/web"
	"mcpgateway/web/webtest"
)

// lengthApp responds to requests with the length of the body, and counts the
// calls.
func lengthApp(t *testing.T, calls *atomic.Int32, edits ...func(*web.Options)) string {
	t.Helper()
	app, _ := webtest.NewApp(t, edits...)
	app.All("/*", func(c *fiber.Ctx) error {
		calls.Add(1)
		return c.SendString(fmt.Sprint(len(c.Body())))
	})
	return webtest.Serve(t, app)
}

func limitOf(n int) func(*web.Options) {
	return func(o *web.Options) {
		o.BodyLimit = func([]byte, *fasthttp.RequestHeader) int { return n }
	}
}

// sendRaw sends raw bytes on a new connection. It returns the first response and
// whether the connection was closed after it.
func sendRaw(t *testing.T, addr, raw string) (status int, header http.Header, body string, closed bool) {
	t.Helper()
	conn := webtest.DialTCP(t, addr)
	defer conn.Close()
	if _, err := io.WriteString(conn, raw); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("%.200q: %v", raw, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(b), resp.Close
}

func announced(method string, n int, body string) string {
	return fmt.Sprintf("%s / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n%s", method, n, body)
}

func inChunks(method, body string) string {
	b := method + " / HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"
	for len(body) > 0 {
		n := min(len(body), 1000)
		b, body = b+fmt.Sprintf("%x\r\n%s\r\n", n, body[:n]), body[n:]
	}
	return b + "0\r\n\r\n"
}

func TestBodyLimits(t *testing.T) {
	const limit = 8 << 10
	var calls atomic.Int32
	addr := lengthApp(t, &calls, limitOf(limit))
	text := func(n int) string { return strings.Repeat("x", n) }
	tests := []struct {
		name, raw string
		status    int
		body      string
	}{
		{"below the limit", announced("POST", limit-1, text(limit-1)), 200, fmt.Sprint(limit - 1)},
		{"at the limit", announced("POST", limit, text(limit)), 200, fmt.Sprint(limit)},
		{"over the limit", announced("POST", limit+1, text(limit+1)), 413, "The request body is larger than 8192 bytes."},
		{"over the limit, announced only", announced("POST", limit+1, ""), 413, "PAYLOAD_TOO_LARGE"},
		{"chunks below the limit", inChunks("POST", text(limit-1)), 200, fmt.Sprint(limit - 1)},
		{"chunks at the limit", inChunks("POST", text(limit)), 200, fmt.Sprint(limit)},
		{"chunks over the limit", inChunks("POST", text(limit+1)), 413, "PAYLOAD_TOO_LARGE"},
		{"one announced chunk over the limit", "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n100000\r\n" + text(limit+1), 413, "PAYLOAD_TOO_LARGE"},
		{"expected over the limit", "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nExpect: 100-continue\r\nContent-Length: 8193\r\n\r\n", 413, "PAYLOAD_TOO_LARGE"},
		{"absolute target", strings.Replace(announced("POST", limit+1, ""), "POST /", "POST http://127.0.0.1/", 1), 413, "PAYLOAD_TOO_LARGE"},
		{"GET without a body", "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 200, "0"},
		{"GET with an empty body", announced("GET", 0, ""), 200, "0"},
		{"GET with a body", announced("GET", 1, ""), 413, "This request must not have a body."},
		{"GET with a chunk", inChunks("GET", "x"), 413, "PAYLOAD_TOO_LARGE"},
		{"POST with an empty body", announced("POST", 0, ""), 200, "0"},
		{"POST without a body", "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 200, "0"},
		{"POST without chunks", inChunks("POST", ""), 200, "0"},
		{"broken chunk", "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400, "INVALID_PARAMETER"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			calls.Store(0)
			status, header, body, closed := sendRaw(t, addr, tt.raw)
			if status != tt.status || !strings.Contains(body, tt.body) {
				t.Fatalf("status %d, body %s; want %d, body with %q", status, body, tt.status, tt.body)
			}
			if refused := status != 200; closed != refused || refused != (calls.Load() == 0) {
				t.Errorf("closed %v, handler called %d times", closed, calls.Load())
			}
			if header.Get("X-Request-Id") == "" || header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("headers %v", header)
			}
		})
	}
}

// TestRejectedBodyIsNotARequest embeds a request in a rejected body.
func TestRejectedBodyIsNotARequest(t *testing.T) {
	var calls atomic.Int32
	inner := webtest.Posting("/inner", "")
	addr := lengthApp(t, &calls, limitOf(10))
	for _, raw := range []string{announced("POST", len(inner), inner), inChunks("POST", strings.Repeat("x", 11)) + inner, announced("GET", len(inner), inner)} {
		conn := webtest.DialTCP(t, addr)
		if _, err := io.WriteString(conn, raw); err != nil {
			t.Fatal(err)
		}
		if b, _ := io.ReadAll(conn); strings.Count(string(b), "HTTP/1.1 ") != 1 {
			t.Errorf("response to %q = %q", raw, b)
		}
	}
	if calls.Load() != 0 {
		t.Errorf("%d requests reached the handler", calls.Load())
	}
}

// TestConnectionServesAfterBodies sends bodies of all kinds on one connection,
// some of them pipelined.
func TestConnectionServesAfterBodies(t *testing.T) {
	var calls atomic.Int32
	addr := lengthApp(t, &calls)
	conn := webtest.DialTCP(t, addr)
	sizes := []int{0, 1, 100, 4096, 4097, 20_000, 0, web.MaxBody, 5}
	go func() {
		for _, n := range sizes {
			text := strings.Repeat("x", n)
			_, _ = io.WriteString(conn, announced("POST", n, text)+inChunks("POST", text))
		}
	}()
	reader := bufio.NewReader(conn)
	for _, n := range sizes {
		for range 2 {
			resp, err := http.ReadResponse(reader, nil)
			if err != nil {
				t.Fatalf("after a body of %d bytes: %v", n, err)
			}
			if b, _ := io.ReadAll(resp.Body); string(b) != fmt.Sprint(n) {
				t.Fatalf("body of %d bytes received as %s bytes", n, b)
			}
		}
	}
}

func TestBodyBudget(t *testing.T) {
	const budget, free = 64 << 10, 4 << 10 // the first 4 KiB of a body don't count
	var calls atomic.Int32
	addr := lengthApp(t, &calls, func(o *web.Options) { o.BodyMemory = budget })
	for n, want := range map[int]int{budget + free - 1: 200, budget + free: 200, budget + free + 1: 503} {
		for range 2 { // the first response releases the whole reservation
			status, header, body, closed := sendRaw(t, addr, announced("POST", n, strings.Repeat("x", n)))
			if status != want || closed != (want == 503) || (header.Get("Retry-After") != "") != (want == 503) {
				t.Errorf("%d bytes: %d, Retry-After %q, closed %v, %s", n, status, header.Get("Retry-After"), closed, body)
			}
		}
	}
	slow := sendHalf(t, addr, budget)
	small := strings.Repeat("x", free)
	for status := 200; status != 503; { // half of the body reserves half of the budget
		if status, _, _, _ = sendRaw(t, addr, announced("POST", budget, strings.Repeat("x", budget))); slow.rejected() {
			slow = sendHalf(t, addr, budget) // the other body was earlier
		}
	}
	if status, _, _, _ := sendRaw(t, addr, announced("POST", free, small)); status != 200 {
		t.Errorf("small body: status %d", status)
	}
	if status := slow.finish(t); status != 200 {
		t.Errorf("slow body: status %d", status)
	}
	if status, _, _, _ := sendRaw(t, addr, announced("POST", budget, strings.Repeat("x", budget))); status != 200 {
		t.Errorf("after the slow body: status %d", status)
	}
}

// slowBody is a request whose body is sent in two halves.
type slowBody struct {
	conn   net.Conn
	half   string
	status chan int // of the response, 0 if there is none
}

// sendHalf sends the first half of a body of n bytes.
func sendHalf(t *testing.T, addr string, n int) slowBody {
	t.Helper()
	s := slowBody{webtest.DialTCP(t, addr), strings.Repeat("x", n/2), make(chan int, 1)}
	if _, err := io.WriteString(s.conn, announced("POST", n, s.half)); err != nil {
		t.Fatal(err)
	}
	go func() {
		resp, err := http.ReadResponse(bufio.NewReader(s.conn), nil)
		if err != nil {
			s.status <- 0
			return
		}
		s.status <- resp.StatusCode
		_ = resp.Body.Close()
	}()
	return s
}

// rejected reports whether there is a response to the first half.
func (s slowBody) rejected() bool {
	select {
	case <-s.status:
		return true
	default:
		return false
	}
}

// finish sends the second half and returns the status of the response.
func (s slowBody) finish(t *testing.T) int {
	t.Helper()
	if _, err := io.WriteString(s.conn, s.half); err != nil {
		t.Fatal(err)
	}
	return <-s.status
}

// TestAnnouncedBodyUsesNoMemory announces many long bodies and sends one byte
// of each.
func TestAnnouncedBodyUsesNoMemory(t *testing.T) {
	const (
		connections = 200
		each        = 64 << 10 // of server and client together; a body is 1,000 KiB
	)
	var calls atomic.Int32
	read := make(chan bool, connections)
	addr := lengthApp(t, &calls, func(o *web.Options) {
		o.BodyLimit = func([]byte, *fasthttp.RequestHeader) int { read <- true; return web.MaxBody }
	})
	before := heap()
	conns := make([]net.Conn, connections)
	for i := range conns {
		conns[i] = webtest.DialTCP(t, addr)
		if _, err := io.WriteString(conns[i], announced("POST", 1_024_000, "x")); err != nil {
			t.Fatal(err)
		}
	}
	for range conns {
		<-read
	}
	if grown := int64(heap() - before); grown > connections*each {
		t.Errorf("%d bytes for each announced body, want at most %d", grown/connections, each)
	}
	if calls.Load() != 0 {
		t.Errorf("%d requests reached the handler", calls.Load())
	}
	for _, conn := range conns {
		_ = conn.Close()
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

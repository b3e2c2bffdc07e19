package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"go.uber.org/goleak"

	"mcpgateway/models/modelstest"
	"mcpgateway/routes/mcp"
	"mcpgateway/routes/mcp/resume"
	"mcpgateway/routes/mcp/session"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/background/leaktest"
	"mcpgateway/services/gateway"
	"mcpgateway/services/toolset"
	"mcpgateway/web"
	"mcpgateway/web/conn"
	"mcpgateway/web/ratelimit"
)

// call is the context, client and params of a scripted tools/call.
type call struct {
	context.Context
	*gateway.Client
	params string
}

// progress sends notifications/progress.
func (c *call) progress(n int) {
	c.Notify("notifications/progress", fmt.Appendf(nil, `{"progressToken":"t","progress":%d,"total":10000}`, n))
}

// script handles tools/call instead of the gateway, which handles all other
// methods.
type script struct {
	*gateway.Gateway
	play func(*call) (string, error)
}

func (s *script) Handle(ctx context.Context, project *toolset.Snapshot, client *gateway.Client, method string, params []byte, trace *gateway.RequestInfo) ([]byte, error) {
	if method != "tools/call" || s.play == nil {
		return s.Gateway.Handle(ctx, project, client, method, params, trace)
	}
	if trace != nil {
		trace.Tool = "scripted__tool"
	}
	result, err := s.play(&call{ctx, client, string(params)})
	return []byte(result), err
}

// server is an application with a network listener.
type server struct {
	*routestest.App
	base   string
	app    *fiber.App
	open   func() int // number of open streams
	client *http.Client
	ended  chan struct{} // closed when the listener has stopped
}

type setting func(*mcp.Options)

// openProject declares project p without access control.
const openProject = `{"projects":{"p":{"authMode":"none"}}}`

// serve starts a server whose tools/call is handled by play, or by the gateway
// if play is nil. It fails the test if goroutines remain at the end.
func serve(t *testing.T, declaration string, play func(*call) (string, error), settings ...setting) *server {
	t.Helper()
	leaveNothing(t)
	return serveOn(t, modelstest.SQLite(t), declaration, play, settings...)
}

// leakChecked contains the tests that leaveNothing checks.
var leakChecked sync.Map

// leaveNothing fails the test if goroutines started after this call remain at
// its end. Further calls in the same test do nothing, because the cleanup of the
// first call runs last.
func leaveNothing(t *testing.T) {
	t.Helper()
	if _, already := leakChecked.LoadOrStore(t, true); already {
		return
	}
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		leakChecked.Delete(t)
		if !t.Failed() {
			leaktest.Verify(t, before)
		}
	})
}

// serveOn is like serve with the database at dsn. Several servers may share it.
func serveOn(t *testing.T, dsn, declaration string, play func(*call) (string, error), settings ...setting) *server {
	t.Helper()
	s := &server{App: routestest.New(t, dsn), ended: make(chan struct{})}
	if declaration != "" {
		s.Apply(t, declaration)
	}
	services := s.Services
	o := mcp.Options{
		Views: services.Views, Auth: services.ProjectAuth, Gateway: &script{services.Gateway, play},
		Sessions: session.NewSessions(services.Config.Keys, services.EndedSessions, time.Now, slog.New(slog.DiscardHandler)),
		Levels:   services.LogLevels,
		Names:    web.NewNames(services.Config.PublicURL, nil, []string{"https://app.example.com"}, true),
		Failures: ratelimit.NewFailureLimit(time.Now), WrongKeys: ratelimit.NewAddressLimit(1000, 1000, time.Now),
		Limits: services.CallLimits, Subscriptions: services.Subscriptions, MaxStreams: 1000,
		Resume: resume.New(services.Config.Keys, services.Finished, services.Background),
	}
	for _, set := range settings {
		set(&o)
	}
	endpoint := mcp.NewEndpoint(o)
	s.open = endpoint.OpenStreams
	s.app = web.New(web.Options{Names: o.Names, Log: slog.New(slog.NewJSONHandler(s.Log, nil))})
	s.app.All("/v1/mcp/:projectSlug/request", endpoint.Request)
	s.app.All("/v1/mcp/:projectSlug/sse", endpoint.SSE)
	s.app.All("/v1/mcp/:projectSlug/toolsets/:toolset/request", endpoint.Request)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.base = "http://" + listener.Addr().String() + "/v1/mcp/p/"
	go func() {
		defer close(s.ended)
		if err := s.app.Listener(conn.Listener(listener)); err != nil {
			t.Errorf("listening: %v", err)
		}
	}()
	s.client = &http.Client{Transport: &http.Transport{}}
	t.Cleanup(func() {
		s.client.CloseIdleConnections()
		s.shutdown(t)
	})
	// Shutdown has no effect until the server handles requests.
	s.get(t, request{path: "nothing"})
	return s
}

// shutdown stops the listener and its streams.
func (s *server) shutdown(t *testing.T) {
	t.Helper()
	if err := s.app.ShutdownWithTimeout(30 * time.Second); err != nil {
		t.Errorf("shutdown: %v", err)
	}
	select {
	case <-s.ended:
	case <-time.After(30 * time.Second):
		t.Error("the listener did not stop within 30 s")
	}
}

// request is an HTTP request.
type request struct {
	method string // default: POST with a body, else GET
	path   string // request or sse
	body   string
	header map[string]string
	conn   context.Context
}

const (
	bothKinds  = "application/json, text/event-stream"
	toolCall   = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a__b","arguments":{},"_meta":{"progressToken":"t"}}}`
	modernCall = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a__b","arguments":{},"_meta":{"progressToken":"t","io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	handshake  = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"raw","version":"1"}}}`
)

// legacyHeader returns the headers of a handshake client without a session.
func legacyHeader(more ...string) map[string]string {
	return header(append([]string{"Accept", bothKinds}, more...)...)
}

func modernHeader(method string, more ...string) map[string]string {
	return header(append([]string{"Accept", bothKinds, "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", method, "Mcp-Name", "a__b"}, more...)...)
}

func header(pairs ...string) map[string]string {
	h := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		h[pairs[i]] = pairs[i+1]
	}
	return h
}

// do sends a request and returns the response with its body open.
func (s *server) do(t *testing.T, r request) *http.Response {
	t.Helper()
	resp, err := s.try(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

func (s *server) try(r request) (*http.Response, error) {
	if r.method == "" {
		r.method = http.MethodGet
		if r.body != "" {
			r.method = http.MethodPost
		}
	}
	if r.path == "" {
		r.path = "request"
	}
	if r.conn == nil {
		r.conn = context.Background()
	}
	req, err := http.NewRequestWithContext(r.conn, r.method, s.base+r.path, strings.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	if r.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	return s.client.Do(req)
}

// get sends a request and returns the complete response.
func (s *server) get(t *testing.T, r request) (status int, h http.Header, body string) {
	t.Helper()
	resp := s.do(t, r)
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(b)
}

// session opens a session and returns its id.
func (s *server) session(t *testing.T, more ...string) string {
	t.Helper()
	status, h, body := s.get(t, request{body: handshake, header: legacyHeader(more...)})
	if status != 200 || h.Get("Mcp-Session-Id") == "" {
		t.Fatalf("initialize: got %d without a session: %s", status, body)
	}
	return h.Get("Mcp-Session-Id")
}

// events reads the messages of a stream.
type events struct {
	t    *testing.T
	body io.ReadCloser
	r    *bufio.Reader
	id   string // of the latest event; empty if the stream can't be resumed
}

// stream sends a request whose response must be a stream.
func (s *server) stream(t *testing.T, r request) *events {
	t.Helper()
	resp := s.do(t, r) //nolint:bodyclose // the test's cleanup closes it
	return streamOf(t, resp)
}

func streamOf(t *testing.T, resp *http.Response) *events {
	t.Helper()
	for name, want := range map[string]string{"Content-Type": "text/event-stream", "Cache-Control": "no-cache", "X-Accel-Buffering": "no"} {
		if got := resp.Header.Get(name); resp.StatusCode != 200 || got != want {
			b, _ := io.ReadAll(resp.Body)
			t.Fatalf("got status %d, %s %q, want 200, %q: %s", resp.StatusCode, name, got, want, b)
		}
	}
	return &events{t: t, body: resp.Body, r: bufio.NewReader(resp.Body)}
}

// block returns the lines of the next event or comment, or "" at the end.
func (e *events) block() string {
	e.t.Helper()
	var b strings.Builder
	for {
		line, err := e.r.ReadString('\n')
		switch {
		case err == io.EOF && b.Len() == 0 && line == "":
			return ""
		case err != nil:
			e.t.Fatalf("stream ended after %q: %v", b.String()+line, err)
		case line == "\n":
			return b.String()
		}
		b.WriteString(line)
	}
}

// next returns the data of the next message, or "" at the end. It skips
// comments and events without data.
func (e *events) next() string {
	e.t.Helper()
	for {
		block := e.block()
		if block == "" {
			return ""
		}
		if id, rest, ok := strings.Cut(block, "\n"); ok && strings.HasPrefix(id, "id: ") {
			e.id, block = id[len("id: "):], strings.TrimPrefix(rest, "retry: 2000\n")
		}
		if strings.HasPrefix(block, ":") || block == "data: \n" {
			continue
		}
		data, ok := strings.CutPrefix(block, "event: message\ndata: ")
		if !ok {
			e.t.Fatalf("got %q, want a message event", block)
		}
		return strings.TrimSuffix(data, "\n")
	}
}

func (e *events) want(message string) {
	e.t.Helper()
	if got := e.next(); got != message {
		e.t.Fatalf("next event = %q, want %q", got, message)
	}
}

func (e *events) close() { _ = e.body.Close() }

// gate is a signal that is sent once. wait has a timeout.
type gate struct {
	c    chan struct{}
	once sync.Once
}

func newGate() *gate { return &gate{c: make(chan struct{})} }

func (g *gate) open() { g.once.Do(func() { close(g.c) }) }

func (g *gate) wait(t *testing.T, what string) {
	t.Helper()
	select {
	case <-g.c:
	case <-time.After(30 * time.Second):
		t.Fatalf("timed out: %s", what)
	}
}

// idOf returns the raw id of a JSON-RPC message.
func idOf(t *testing.T, message string) string {
	t.Helper()
	var m struct{ ID json.RawMessage }
	if err := json.Unmarshal([]byte(message), &m); err != nil || m.ID == nil {
		t.Fatalf("no id in %q", message)
	}
	return string(m.ID)
}

// dial opens a TCP connection to the server.
func (s *server) dial(t *testing.T) *net.TCPConn {
	t.Helper()
	u, err := url.Parse(s.base)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn.(*net.TCPConn)
}

// write writes a request to a TCP connection.
func (r request) write(t *testing.T, conn net.Conn) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "POST /v1/mcp/p/request HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n", len(r.body))
	for name, value := range r.header {
		fmt.Fprintf(&b, "%s: %s\r\n", name, value)
	}
	b.WriteString("\r\n" + r.body)
	if _, err := io.WriteString(conn, b.String()); err != nil {
		t.Fatal(err)
	}
}

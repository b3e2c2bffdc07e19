package upstreamtest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// lines is a raw client over standard input and output.
type lines struct {
	t   *testing.T
	in  *io.PipeWriter
	out *bufio.Reader
	end chan error
}

func serveLines(t *testing.T, s *Server) *lines {
	t.Helper()
	fromClient, in := io.Pipe()
	out, toClient := io.Pipe()
	l := &lines{t: t, in: in, out: bufio.NewReader(out), end: make(chan error, 1)}
	go func() {
		l.end <- s.ServeStdio(t.Context(), fromClient, toClient)
		toClient.Close()
	}()
	t.Cleanup(func() {
		in.Close()
		out.Close()
		s.Close()
	})
	return l
}

func (l *lines) send(line string) {
	l.t.Helper()
	if _, err := io.WriteString(l.in, line+"\n"); err != nil {
		l.t.Fatal(err)
	}
}

// expect reads one line, which must contain all of the parts.
func (l *lines) expect(parts ...string) string {
	l.t.Helper()
	line, err := l.out.ReadString('\n')
	if err != nil {
		l.t.Fatalf("no line with %q: %v", parts, err)
	}
	for _, part := range parts {
		if !strings.Contains(line, part) {
			l.t.Fatalf("line %s, want %s", line, part)
		}
	}
	return line
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

func TestStdioHandshakes(t *testing.T) {
	for _, tc := range []struct {
		eras          []Era
		offered, want string
	}{
		{AllEras(), "2024-11-05", `"protocolVersion":"2024-11-05"`},
		{AllEras(), "2025-03-26", `"protocolVersion":"2025-03-26"`},
		{AllEras(), "2025-06-18", `"protocolVersion":"2025-06-18"`},
		{AllEras(), "2025-11-25", `"protocolVersion":"2025-11-25"`},
		{AllEras(), "2026-07-28", `"protocolVersion":"2025-11-25"`},
		{[]Era{Era20241105}, "2025-11-25", `"protocolVersion":"2024-11-05"`},
		{[]Era{Era20241105, Era20250326}, "2024-11-05", `"protocolVersion":"2024-11-05"`},
		{[]Era{Era20260728}, "2025-11-25", `"code":-32022`},
	} {
		l := serveLines(t, New(Options{Eras: tc.eras, Tools: Standard(1)}))
		l.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + tc.offered + `","capabilities":{}}}`)
		l.expect(`"id":1`, tc.want)
	}
}

// TestStdioClient drives the session eras with the official client.
func TestStdioClient(t *testing.T) {
	s := New(Options{Eras: []Era{Era20250618}, Tools: append(Standard(6), Tool{
		Definition: `{"name":"ask","inputSchema":{"type":"object"}}`,
		Call: func(ctx context.Context, c *Call) Result {
			raw, err := c.Request(ctx, "roots/list", nil)
			if err != nil {
				return Failure(err.Error())
			}
			return Text(string(raw))
		},
	})})
	fromClient, in := io.Pipe()
	out, toClient := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- s.ServeStdio(t.Context(), fromClient, toClient) }()
	changed, steps := make(chan struct{}, 1), make(chan string, 3)
	client := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, &mcp.ClientOptions{
		ToolListChangedHandler:      func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} },
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { steps <- r.Params.Message },
	})
	client.AddRoots(&mcp.Root{URI: "file:///a"})
	cs, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: out, Writer: in}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := cs.InitializeResult().ProtocolVersion; got != "2025-06-18" {
		t.Errorf("protocol %s", got)
	}
	call := func(name string, arguments map[string]any) string {
		t.Helper()
		p := &mcp.CallToolParams{Name: name, Arguments: arguments}
		p.SetProgressToken("it")
		r, err := cs.CallTool(t.Context(), p)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return r.Content[0].(*mcp.TextContent).Text
	}
	if got := call("echo", map[string]any{"text": "a\nb"}); got != "a\nb" {
		t.Errorf("echo: %q", got)
	}
	if got := call("progress", map[string]any{"n": 3}); got != "sent 3" {
		t.Errorf("progress: %q", got)
	}
	for _, want := range []string{"step 1 of 3", "step 2 of 3", "step 3 of 3"} {
		if got := <-steps; got != want {
			t.Errorf("progress %q, want %q", got, want)
		}
	}
	if got := call("ask", map[string]any{}); !strings.Contains(got, "file:///a") {
		t.Errorf("ask: %q", got)
	}
	if got := s.Stats(); got.Sessions != 1 || got.Streams != 1 {
		t.Errorf("stats %+v, want one session and one stream", got)
	}
	s.SetTools(Standard(2)...)
	<-changed
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_ = s.Wait(t.Context(), func() bool { return s.Calls() == 4 })
		cancel()
	}()
	if _, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: "sleep", Arguments: map[string]any{"ms": 60_000}}); err == nil {
		t.Error("the cancelled call succeeded")
	}
	if err := s.Wait(t.Context(), func() bool { return s.Stats().Cancelled == 1 }); err != nil {
		t.Error(err)
	}
	cs.Close()
	if err := <-ended; err != nil {
		t.Errorf("ServeStdio = %v", err)
	}
	s.Close()
}

func TestStdioStateless(t *testing.T) {
	s := New(Options{Eras: []Era{Era20260728}, Tools: append(Standard(6), Tool{
		Definition: `{"name":"job","inputSchema":{"type":"object"}}`,
		Task:       func(context.Context, *Task) Result { return Text("done") },
	})})
	l := serveLines(t, s)
	request := func(id, method, params string) {
		l.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":{` + params + modernMeta + `}}`)
	}
	request("1", "server/discover", "")
	l.expect(`"id":1`, `"supportedVersions":["2026-07-28"]`)
	l.send(`{"jsonrpc":"2.0","id":"a","method":"tools/list"}`)
	l.expect(`"id":"a"`, `"code":-32602`)
	l.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01"}}}`)
	l.expect(`"id":2`, `"code":-32022`, `"supported":["2026-07-28"]`)
	request("3", "subscriptions/listen", `"notifications":{"toolsListChanged":true},`)
	l.expect(`notifications/subscriptions/acknowledged`, `"toolsListChanged":true`)
	s.SetTools(append(Standard(6), s.now.Load().tools.list[6])...)
	l.expect(`notifications/tools/list_changed`, `"io.modelcontextprotocol/subscriptionId":3`)
	s.CloseStreams()
	l.expect(`"id":3`, `"resultType":"complete"`)
	request("4", "tools/call", `"name":"sleep","arguments":{"ms":60000},`)
	if err := s.Wait(t.Context(), func() bool { return s.Calls() == 1 }); err != nil {
		t.Fatal(err)
	}
	l.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4}}`)
	if err := s.Wait(t.Context(), func() bool { return s.Stats().Cancelled == 1 }); err != nil {
		t.Fatal(err)
	}
	l.send(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"job","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}}`)
	l.expect(`"id":5`, `"resultType":"task"`, `"taskId":"task-1"`)
	l.in.Close()
	if err := <-l.end; err != nil {
		t.Errorf("ServeStdio = %v", err)
	}
}

func TestStdioBeforeTheHandshake(t *testing.T) {
	l := serveLines(t, New(Options{Eras: []Era{Era20250326}, Tools: Hostile()}))
	l.send(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + modernMeta + `}}`)
	l.expect(`"id":1`, `"code":-32601`)
	l.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	l.expect(`"id":2`, `"code":-32600`)
	l.send(`[{"jsonrpc":"2.0","id":3,"method":"ping"}]`)
	l.expect(`"id":null`, `"code":-32600`)
	l.send(`no JSON`)
	l.expect(`"code":-32700`)
	l.send(`{"jsonrpc":"2.0","id":4,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}`)
	l.expect(`"id":4`, `"protocolVersion":"2025-03-26"`)
	l.send(`[{"jsonrpc":"2.0","id":5,"method":"ping"},{"jsonrpc":"2.0","id":6,"method":"ping"}]`)
	l.expect(`[{"jsonrpc":"2.0","id":5`, `"id":6,"result":{}}]`)
	l.send(`{"jsonrpc":"2.0","id":7,"method":"tools/list"}`)
	if line := l.expect(`"id":7`, "odd_layout"); !json.Valid([]byte(line)) { // its definition contains line breaks
		t.Errorf("invalid line %q", line)
	}
}

func TestStdioFaults(t *testing.T) {
	ping := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"},` + modernMeta + `}}`
	for _, tc := range []struct {
		kind FaultKind
		want string // of the line; empty for the end
	}{
		{Disconnect, ""},
		{Reset, ""},
		{Status, `"message":"HTTP 500"`},
		{WrongID, `"id":2`},
		{JSONRPCError, `"injected error"`},
		{InvalidJSON, `"type":"te`},
		{DropHalf, ``},
	} {
		s := New(Options{Tools: Standard(1)})
		s.SetFault(Fault{On: OnCall, Kind: tc.kind})
		l := serveLines(t, s)
		l.send(ping)
		if tc.want != "" {
			l.expect(tc.want)
			continue
		}
		rest, _ := io.ReadAll(l.out)
		if err := <-l.end; !errors.Is(err, ErrCut) || json.Valid(rest) {
			t.Errorf("fault %d: ServeStdio = %v after %q", tc.kind, err, rest)
		}
	}
}

func TestStdioEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	in, client := io.Pipe()
	s := New(Options{Tools: Standard(1)})
	ended := make(chan error, 1)
	go func() { ended <- s.ServeStdio(ctx, in, io.Discard) }()
	cancel()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("ServeStdio = %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Error("ServeStdio did not return")
	}
	client.Close()
	s.Close()
	if err := s.ServeStdio(t.Context(), strings.NewReader(""), io.Discard); err == nil {
		t.Error("a closed server serves")
	}
}

func TestStdioLine(t *testing.T) {
	for _, era := range AllEras() {
		l := serveLines(t, New(Options{Eras: []Era{era}, Tools: []Tool{{
			Definition: `{"name":"line","inputSchema":{"type":"object"}}`,
			Call:       func(_ context.Context, c *Call) Result { return c.Line(1234) },
		}}}))
		if !era.Stateless() {
			l.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + string(era) + `"}}`)
			l.expect(`"id":1`)
		}
		for _, id := range []string{"2", `"a longer id"`} {
			l.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"line",` + modernMeta + `}}`)
			if got := len(l.expect(`"id":`+id)) - 1; got != 1234 {
				t.Errorf("%s: line of %d bytes", era, got)
			}
		}
	}
}

package mcp_test

import (
	"context"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"mcpgateway/models"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/upstream/upstreamtest"
)

// narrowed is a server with the toolsets all and less of project p, and a key
// that is bound to all at first. less has the tool up__other only.
type narrowed struct {
	*server
	keyID, all, less string
	bearer           string
	calls            atomic.Int64 // requests with input that the upstream handled
}

// newNarrowed starts a server with an upstream of the era.
func newNarrowed(t *testing.T, era upstreamtest.Era, release *gate) *narrowed {
	t.Helper()
	w := &narrowed{server: serve(t, `{"projects":{"p":{"authMode":"api_key"}}}`, nil)}
	up := upstreamtest.New(w.upstream(era, release))
	w.Apply(t, `{"projects":{"p":{"mcpServers":{"up":{"url":"`+up.Start(t)+`"}}}}}`)
	w.Sync(t, "p", "up")
	w.all = w.Toolset(t, "p", models.Toolset{Slug: "all", Include: models.StringList{"*"}, OffersOf: models.StringList{"*"}})
	w.less = w.Toolset(t, "p", models.Toolset{Slug: "less", Include: models.StringList{"up__other"}})
	w.keyID, w.bearer = w.key(t)
	return w
}

// upstream returns the options of an upstream of the era. Its tool ask, prompt
// and resource require input. Its tool slow waits for release.
func (w *narrowed) upstream(era upstreamtest.Era, release *gate) upstreamtest.Options {
	counted := func(handle upstreamtest.Handler) upstreamtest.Handler {
		return func(ctx context.Context, c *upstreamtest.Call) upstreamtest.Result {
			defer w.calls.Add(1)
			return handle(ctx, c)
		}
	}
	asks := counted(func(_ context.Context, c *upstreamtest.Call) upstreamtest.Result {
		if strings.Contains(string(c.Params), `"inputResponses"`) {
			return upstreamtest.JSON(`{"content":[],"messages":[],"contents":[]}`)
		}
		return upstreamtest.JSON(`{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{"message":"name?","requestedSchema":{"type":"object","properties":{}}}}}}`)
	})
	list := func(result string) upstreamtest.Handler {
		return func(context.Context, *upstreamtest.Call) upstreamtest.Result { return upstreamtest.JSON(result) }
	}
	tools := askingTools()
	ask := &tools[len(tools)-1]
	if ask.Call = counted(ask.Call); era.Stateless() {
		ask.Call = asks
	}
	slow := func(ctx context.Context, _ *upstreamtest.Call) upstreamtest.Result {
		w.calls.Add(1)
		select {
		case <-release.c:
			return upstreamtest.Text("released")
		case <-ctx.Done():
			return upstreamtest.Failure("cancelled")
		}
	}
	return upstreamtest.Options{
		Name: "up", Eras: []upstreamtest.Era{era}, Capabilities: `{"tools":{},"prompts":{},"resources":{}}`,
		Tools: append(tools, upstreamtest.Tool{Definition: `{"name":"other","inputSchema":{"type":"object"}}`}, upstreamtest.Tool{Definition: `{"name":"slow","inputSchema":{"type":"object"}}`, Call: slow}),
		Methods: map[string]upstreamtest.Handler{
			"prompts/list": list(`{"prompts":[{"name":"brief"}]}`), "resources/list": list(`{"resources":[{"uri":"up://doc","name":"doc"}]}`),
			"resources/templates/list": list(`{"resourceTemplates":[]}`), "prompts/get": asks, "resources/read": asks,
		},
	}
}

// key returns another key that is bound to all, and its header.
func (w *narrowed) key(t *testing.T) (id, bearer string) {
	t.Helper()
	id, text := w.Key(t, "p", 0)
	w.Bind(t, "p", id, w.all)
	return id, "Bearer " + text
}

func without(body string) string { return variable.ReplaceAllString(body, "$1") }

// TestParkedCallOfAnotherView continues a call that waits for input as another
// caller, at another endpoint, and after the caller lost the tool.
func TestParkedCallOfAnotherView(t *testing.T) {
	w := newNarrowed(t, upstreamtest.Era20251125, newGate())
	post := func(path, bearer, name, more string) string {
		t.Helper()
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + name + `","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}` + more + `}}`
		_, _, got := w.get(t, request{path: path, body: body, header: modernHeader("tools/call", "Accept", "application/json", "Mcp-Name", name, "Authorization", bearer)})
		return got
	}
	first := post("request", w.bearer, "up__ask", "")
	state := regexp.MustCompile(`"requestState":"[^"]+"`).FindString(first)
	if state == "" || !strings.Contains(first, `"input_required"`) {
		t.Fatal(first)
	}
	retry := `,` + state + `,"inputResponses":{"input":{"action":"accept","content":{"name":"Ada"}}}`
	_, other := w.key(t)
	for who, got := range map[string]string{
		"another key":          post("request", other, "up__ask", retry),
		"at the toolset":       post("toolsets/all/request", w.bearer, "up__ask", retry),
		"another tool":         post("request", w.bearer, "up__other", retry),
		"another key, another": post("toolsets/all/request", other, "up__other", retry),
	} {
		if !strings.Contains(got, `"code":-32602`) || !strings.Contains(got, "belongs to another call") {
			t.Errorf("%s: %s", who, got)
		}
	}
	w.Bind(t, "p", w.keyID, w.less)
	lost, never := post("request", w.bearer, "up__ask", retry), post("request", w.bearer, "up__never", retry)
	if strings.ReplaceAll(without(lost), "ask", "never") != without(never) || w.calls.Load() != 0 {
		t.Errorf("after the loss: %s, want %s; the call was continued %d times", lost, never, w.calls.Load())
	}
	w.Bind(t, "p", w.keyID, w.all)
	if got := post("request", w.bearer, "up__ask", retry); !strings.Contains(got, "hello Ada") {
		t.Errorf("with the tool again: %s", got)
	}
}

// TestInputAfterLoss takes a tool, a prompt and a resource from a caller while
// its server waits for input of the caller. The request isn't sent again.
func TestInputAfterLoss(t *testing.T) {
	w := newNarrowed(t, upstreamtest.Era20260728, newGate())
	h := legacyHeader("Authorization", w.bearer, "Mcp-Session-Id", w.session(t, "Authorization", w.bearer))
	for method, params := range map[string][2]string{
		"tools/call":     {`{"name":"up__ask","arguments":{}}`, `{"name":"up__never","arguments":{}}`},
		"prompts/get":    {`{"name":"up__brief"}`, `{"name":"up__never"}`},
		"resources/read": {`{"uri":"up://doc"}`, `{"uri":"up://never"}`},
	} {
		for _, lost := range []bool{false, true} {
			w.Bind(t, "p", w.keyID, w.all)
			w.calls.Store(0)
			stream := w.stream(t, request{body: `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params[0] + `}`, header: h})
			question := stream.next()
			if !strings.Contains(question, `"elicitation/create"`) {
				t.Fatalf("%s: %s", method, question)
			}
			if lost {
				w.Bind(t, "p", w.keyID, w.less)
			}
			w.get(t, request{body: `{"jsonrpc":"2.0","id":` + idOf(t, question) + `,"result":{"action":"accept","content":{}}}`, header: h})
			got := stream.next()
			if !lost {
				if !strings.Contains(got, `"result"`) || w.calls.Load() != 2 {
					t.Errorf("%s: %s after %d requests", method, got, w.calls.Load())
				}
				continue
			}
			_, _, never := w.get(t, request{body: `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params[1] + `}`, header: h})
			name := strings.NewReplacer("ask", "never", "brief", "never", "up://doc", "up://never")
			if name.Replace(without(got)) != without(never) || w.calls.Load() != 1 {
				t.Errorf("%s after the loss: %s, want %s; %d requests", method, got, never, w.calls.Load())
			}
		}
	}
}

// TestCallOfAnotherCaller cancels a call, and uses its session, with another key
// that holds the same tools, and at another endpoint.
func TestCallOfAnotherCaller(t *testing.T) {
	release := newGate()
	w := newNarrowed(t, upstreamtest.Era20251125, release)
	defer release.open()
	_, other := w.key(t)
	own, others := w.session(t, "Authorization", w.bearer), w.session(t, "Authorization", other)
	result := make(chan string, 1)
	go func() {
		_, _, body := w.get(t, request{
			body:   `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"up__slow","arguments":{}}}`,
			header: header("Accept", "application/json", "Authorization", w.bearer, "Mcp-Session-Id", own),
		})
		result <- body
	}()
	routestest.Eventually(t, "the call began", func() bool { return w.calls.Load() == 1 })
	const cancelled = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`
	for _, c := range []struct {
		name, path, bearer, session string
		status                      int
	}{
		{"another key in the session", "request", other, own, 404},
		{"another key", "request", other, others, 202},
		{"at the toolset", "toolsets/all/request", w.bearer, own, 404},
		{"without a session", "request", w.bearer, "", 202},
	} {
		status, _, body := w.get(t, request{path: c.path, body: cancelled, header: legacyHeader("Authorization", c.bearer, "Mcp-Session-Id", c.session)})
		if status != c.status {
			t.Errorf("%s: %d %s", c.name, status, body)
		}
	}
	stream := w.stream(t, request{path: "sse", header: header("Accept", "text/event-stream", "Authorization", w.bearer)})
	path := strings.TrimSuffix(strings.TrimPrefix(stream.block(), "event: endpoint\ndata: /v1/mcp/p/"), "\n")
	if status, _, body := w.get(t, request{path: path, body: listTools, header: header("Authorization", other)}); status != 404 {
		t.Errorf("another key at the stream's URL: %d %s", status, body)
	}
	release.open()
	if got := <-result; !strings.Contains(got, "released") {
		t.Errorf("the call: %s", got)
	}
}

// TestHTTPSSEOfAView posts requests to a stream of the HTTP+SSE transport before
// and after its caller lost tools.
func TestHTTPSSEOfAView(t *testing.T) {
	w := newNarrowed(t, upstreamtest.Era20251125, newGate())
	stream := w.stream(t, request{path: "sse", header: header("Accept", "text/event-stream", "Authorization", w.bearer)})
	path := strings.TrimSuffix(strings.TrimPrefix(stream.block(), "event: endpoint\ndata: /v1/mcp/p/"), "\n")
	ask := func(body string) string {
		t.Helper()
		if status, _, answer := w.get(t, request{path: path, body: body, header: header("Authorization", w.bearer)}); status != 202 {
			t.Fatalf("%d %s", status, answer)
		}
		for {
			if got := stream.next(); strings.Contains(got, `"id":`) || got == "" {
				return got // not a notification
			}
		}
	}
	call := func(name string) string {
		return without(ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + name + `","arguments":{}}}`))
	}
	if got := toolNames(t, ask(listTools)); !strings.Contains(got, "up__ask") {
		t.Errorf("tools: %s", got)
	}
	w.Bind(t, "p", w.keyID, w.less)
	if got := toolNames(t, ask(listTools)); got != "up__other" {
		t.Errorf("tools after the loss: %s", got)
	}
	if lost, never := call("up__ask"), call("up__never"); strings.ReplaceAll(lost, "ask", "never") != never || !strings.Contains(lost, "TOOL_NOT_FOUND") || w.calls.Load() != 0 {
		t.Errorf("call after the loss: %s, want %s", lost, never)
	}
	if got := call("up__other"); !strings.Contains(got, `"result"`) {
		t.Errorf("call of another tool: %s", got)
	}
}

package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpgateway/services/upstream/upstreamtest"
)

// openSSESession opens a stream of the HTTP+SSE transport. It returns the path for
// messages, relative to the project.
func (s *server) openPosted(t *testing.T) (*events, string) {
	t.Helper()
	stream := s.stream(t, request{path: "sse", header: header("Accept", "text/event-stream")})
	block := stream.block()
	path, ok := strings.CutPrefix(block, "event: endpoint\ndata: /v1/mcp/p/")
	if !ok || !strings.HasPrefix(path, "sse?sessionId=") {
		t.Fatalf("first event = %q, want endpoint", block)
	}
	return stream, strings.TrimSuffix(path, "\n")
}

func (s *server) post(t *testing.T, path, body string, status int) {
	t.Helper()
	if got, _, answer := s.get(t, request{path: path, body: body}); got != status {
		t.Fatalf("POST %s: got %d, want %d: %s", path, got, status, answer)
	}
}

func TestHTTPSSEResponses(t *testing.T) {
	s := serve(t, openProject, func(c *call) (string, error) {
		c.progress(1)
		answer, err := elicits(c)
		return fmt.Sprintf(`{"capabilities":%q,"version":%q,"answer":%s}`, c.Capabilities, c.Version, answer), err
	})
	change := withTool(t, s)
	stream, path := s.openPosted(t)
	s.post(t, path, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{"roots":{}},"clientInfo":{"name":"old","version":"1"}}}`, 202)
	if got := stream.next(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2024-11-05"`) {
		t.Fatalf("initialize: got %s", got)
	}
	s.post(t, path, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, 202)
	s.post(t, path, toolCall, 202)
	stream.want(progressMessage(1))
	question := stream.next()
	s.post(t, path, `{"jsonrpc":"2.0","id":`+idOf(t, question)+`,"result":{"a":1}}`, 202)
	stream.want(`{"jsonrpc":"2.0","id":7,"result":{"capabilities":"{\"roots\":{}}","version":"2024-11-05","answer":{"result":"{\"a\":1}","error":"","err":"<nil>"}}}`)
	s.post(t, path, `{"jsonrpc":"2.0","id":"u","method":"server/unknown"}`, 202)
	if got := stream.next(); !strings.Contains(got, `"id":"u"`) || !strings.Contains(got, "-32601") {
		t.Errorf("unknown method: got %s", got)
	}
	change()
	stream.want(toolsChanged)

	s.post(t, path, `{broken`, 400)
	other, otherPath := s.openPosted(t)
	if otherPath == path {
		t.Error("two streams have the same path")
	}
	s.post(t, otherPath, `{"jsonrpc":"2.0","id":2,"method":"ping"}`, 202)
	other.want(`{"jsonrpc":"2.0","id":2,"result":{}}`)
	s.post(t, path, `[{"jsonrpc":"2.0","id":3,"method":"ping"},{"jsonrpc":"2.0"}]`, 202)
	got := []string{stream.next(), stream.next()}
	if all := strings.Join(got, "\n"); !strings.Contains(all, `"id":3,"result":{}`) || !strings.Contains(all, "-32600") {
		t.Errorf("batch: got %q", got)
	}
}

func TestHTTPSSESessionEndsWithStream(t *testing.T) {
	began, cancelled, release := newGate(), newGate(), newGate()
	s := serve(t, openProject, plays(began, cancelled, release, nil))
	defer release.open()
	stream, path := s.openPosted(t)
	s.post(t, path, toolCall, 202)
	began.wait(t, "the call began")
	stream.close()
	cancelled.wait(t, "the call was cancelled")
	s.post(t, path, toolCall, 404)
}

func TestHTTPSSECancelRequest(t *testing.T) {
	began, cancelled, release := newGate(), newGate(), newGate()
	s := serve(t, openProject, plays(began, cancelled, release, nil))
	defer release.open()
	stream, path := s.openPosted(t)
	s.post(t, path, toolCall, 202)
	began.wait(t, "the call began")
	s.post(t, path, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`, 202)
	cancelled.wait(t, "the call was cancelled")
	s.post(t, path, `{"jsonrpc":"2.0","id":8,"method":"ping"}`, 202)
	stream.want(`{"jsonrpc":"2.0","id":8,"result":{}}`)
}

func TestHTTPSSEMaxRequests(t *testing.T) {
	const most = 16
	release := newGate()
	s := serve(t, openProject, func(*call) (string, error) {
		<-release.c
		return okResult, nil
	})
	defer release.open()
	stream, path := s.openPosted(t)
	for range most - 1 {
		s.post(t, path, toolCall, 202)
	}
	s.post(t, path, "["+toolCall+","+toolCall+"]", 429)
	s.post(t, path, toolCall, 202)
	s.post(t, path, toolCall, 429)
	release.open()
	for range most {
		stream.want(okAnswer)
	}
	s.post(t, path, toolCall, 202)
	stream.want(okAnswer)
}

func TestHTTPSSELargeResults(t *testing.T) {
	big := `"` + strings.Repeat("x", 3<<20) + `"`
	s := serve(t, openProject, func(*call) (string, error) { return big, nil })
	stream, path := s.openPosted(t)
	for range 5 {
		s.post(t, path, toolCall, 202)
	}
	for range 5 {
		if got := stream.next(); len(got) < 3<<20 || !strings.HasSuffix(got, `x"}`) {
			t.Fatalf("got %.100s…", got)
		}
	}
}

// askingTools returns the standard tools and ask, which elicits a name.
func askingTools() []upstreamtest.Tool {
	return append(upstreamtest.Standard(2), upstreamtest.Tool{
		Definition: `{"name":"ask","inputSchema":{"type":"object"}}`,
		Call: func(ctx context.Context, c *upstreamtest.Call) upstreamtest.Result {
			_ = c.Progress(1, 2, "asking")
			raw, err := c.Request(ctx, "elicitation/create", []byte(`{"message":"Your name?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}`))
			if err != nil {
				return upstreamtest.Failure(err.Error())
			}
			var answer struct {
				Result struct{ Content struct{ Name string } }
			}
			if err := json.Unmarshal(raw, &answer); err != nil {
				return upstreamtest.Failure(err.Error())
			}
			return upstreamtest.Text("hello " + answer.Result.Content.Name)
		},
	})
}

func TestGoSDKElicitation(t *testing.T) {
	s := serve(t, openProject, nil)
	up := upstreamtest.New(upstreamtest.Options{Name: "up", Tools: askingTools(), Eras: []upstreamtest.Era{"2025-11-25"}})
	s.Apply(t, `{"projects":{"p":{"mcpServers":{"up":{"url":"`+up.Start(t)+`"}}}}}`)
	s.Sync(t, "p", "up")
	for name, transport := range map[string]sdk.Transport{
		"Streamable HTTP": &sdk.StreamableClientTransport{Endpoint: s.base + "request", HTTPClient: s.client},
		"HTTP+SSE":        &sdk.SSEClientTransport{Endpoint: s.base + "sse", HTTPClient: s.client},
	} {
		t.Run(name, func(t *testing.T) {
			progress := make(chan string, 10)
			session := s.connect(t, transport, "2025-11-25", &sdk.ClientOptions{
				ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
					return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada"}}, nil
				},
				ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { progress <- r.Params.Message },
			})
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			params := &sdk.CallToolParams{Name: "up__ask", Arguments: map[string]any{}}
			params.SetProgressToken("mine")
			result, err := session.CallTool(ctx, params)
			if err != nil {
				t.Fatal(err)
			}
			if text, ok := result.Content[0].(*sdk.TextContent); !ok || text.Text != "hello Ada" {
				t.Errorf("got %+v", result.Content)
			}
			select {
			case got := <-progress:
				if got != "asking" {
					t.Errorf("progress message = %q, want asking", got)
				}
			case <-ctx.Done():
				t.Error("no progress received")
			}
			if err := session.Close(); err != nil {
				t.Errorf("closing: %v", err)
			}
		})
	}
}

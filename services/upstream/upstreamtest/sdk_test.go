package upstreamtest_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpgateway/services/upstream/upstreamtest"
)

// connect opens a session of the official client and closes it with the test.
func connect(t *testing.T, tr mcp.Transport, version string, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o).Connect(within(t), tr, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cs.Close() })
	return cs
}

// bearer adds a token to every request.
type bearer struct {
	token string
	next  http.RoundTripper
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.next.RoundTrip(r)
}

func transport(t *testing.T, url string, era upstreamtest.Era, token string) mcp.Transport {
	t.Helper()
	c := client(t)
	if token != "" {
		c.Transport = bearer{token, c.Transport}
	}
	if era == upstreamtest.Era20241105 {
		return &mcp.SSEClientTransport{Endpoint: url, HTTPClient: c}
	}
	return &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: c, MaxRetries: -1}
}

func TestOfficialClientInEveryEra(t *testing.T) {
	for _, era := range upstreamtest.AllEras() {
		for _, server := range []struct {
			name string
			opts upstreamtest.Options
		}{
			{"alone", upstreamtest.Options{Eras: []upstreamtest.Era{era}}},
			{"among all", upstreamtest.Options{}},
			{"events", upstreamtest.Options{Answer: upstreamtest.AnswerSSE}},
			{"JSON", upstreamtest.Options{Answer: upstreamtest.AnswerJSON}},
			{"resumable", upstreamtest.Options{Answer: upstreamtest.AnswerSSE, Resumable: true}},
			{"sessionless", upstreamtest.Options{Sessionless: true}},
			{"token", upstreamtest.Options{Token: "s3cret"}},
		} {
			t.Run(string(era)+" "+server.name, func(t *testing.T) {
				server.opts.Tools, server.opts.PageSize = upstreamtest.Standard(25), 10
				server.opts.Instructions = "Be kind."
				s, url := serve(t, server.opts)
				cs := connect(t, transport(t, url, era, server.opts.Token), string(era), nil)
				if got := cs.InitializeResult(); got.ProtocolVersion != string(era) || got.Instructions != "Be kind." || got.ServerInfo.Name != "upstreamtest" {
					t.Errorf("handshake = %+v", got)
				}
				var names []string
				for tool, err := range cs.Tools(within(t), nil) {
					if err != nil {
						t.Fatal(err)
					}
					names = append(names, tool.Name)
				}
				if len(names) != 25 || names[0] != "echo" {
					t.Fatalf("%d tools: %v", len(names), names)
				}
				res, err := cs.CallTool(within(t), &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"text": "héllo"}})
				if err != nil {
					t.Fatal(err)
				}
				if got := res.Content[0].(*mcp.TextContent).Text; got != "héllo" {
					t.Errorf("echo = %q", got)
				}
				if res, err := cs.CallTool(within(t), &mcp.CallToolParams{Name: "fail"}); err != nil || !res.IsError {
					t.Errorf("fail = %+v, %v", res, err)
				}
				if _, err := cs.CallTool(within(t), &mcp.CallToolParams{Name: "nothing"}); err == nil {
					t.Error("call of an unknown tool succeeded")
				}
				if n := s.Calls(); n != 3 {
					t.Errorf("counted %d calls, want 3", n)
				}
			})
		}
	}
}

func TestOfficialClientNotifications(t *testing.T) {
	for _, era := range upstreamtest.AllEras() {
		t.Run(string(era), func(t *testing.T) {
			s, url := serve(t, upstreamtest.Options{Eras: []upstreamtest.Era{era}, Tools: upstreamtest.Standard(6)})
			changed := make(chan struct{}, 1)
			var progress atomic.Int64
			notified := make(chan struct{}, 3)
			cs := connect(t, transport(t, url, era, ""), string(era), &mcp.ClientOptions{
				ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} },
				ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
					progress.Store(int64(r.Params.Progress))
					notified <- struct{}{}
				},
			})
			if err := s.WaitForStreams(within(t), 1); err != nil {
				t.Fatal(err)
			}
			p := &mcp.CallToolParams{Name: "progress", Arguments: map[string]any{"n": 3}}
			p.SetProgressToken("p")
			if _, err := cs.CallTool(within(t), p); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				select {
				case <-notified:
				case <-within(t).Done():
					t.Fatal("progress is missing")
				}
			}
			if progress.Load() != 3 {
				t.Errorf("last progress %d, want 3", progress.Load())
			}
			if n := s.SetTools(upstreamtest.Standard(7)...); n != 1 {
				t.Errorf("notified %d streams, want 1", n)
			}
			select {
			case <-changed:
			case <-within(t).Done():
				t.Fatal("changed list was not announced")
			}
			if res, err := cs.ListTools(within(t), nil); err != nil || len(res.Tools) != 7 {
				t.Errorf("listed %v, %v", res, err)
			}
		})
	}
}

func TestRequestsToOfficialClient(t *testing.T) {
	for i, era := range append(upstreamtest.AllEras()[:4], upstreamtest.Era20251125) {
		t.Run(string(era), func(t *testing.T) {
			_, url := serve(t, upstreamtest.Options{Eras: []upstreamtest.Era{era}, Resumable: i == 4, Tools: []upstreamtest.Tool{{
				Definition: `{"name":"ask","inputSchema":{"type":"object"}}`,
				Call: func(ctx context.Context, c *upstreamtest.Call) upstreamtest.Result {
					raw, err := c.Request(ctx, "roots/list", nil)
					if err != nil {
						return upstreamtest.Failure(err.Error())
					}
					return upstreamtest.Text(string(raw))
				},
			}}})
			c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
			c.AddRoots(&mcp.Root{URI: "file:///r"})
			cs, err := c.Connect(within(t), transport(t, url, era, ""), &mcp.ClientSessionOptions{ProtocolVersion: string(era)})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { cs.Close() })
			res, err := cs.CallTool(within(t), &mcp.CallToolParams{Name: "ask"})
			if err != nil || res.IsError {
				t.Fatalf("%+v, %v", res, err)
			}
			if got := member(t, res.Content[0].(*mcp.TextContent).Text, "result", "roots"); got != `[{"uri":"file:///r"}]` {
				t.Errorf("response of client = %s", got)
			}
		})
	}
}

func TestCancelReachesTool(t *testing.T) {
	for _, era := range upstreamtest.AllEras() {
		t.Run(string(era), func(t *testing.T) {
			entered := make(chan struct{})
			s, url := serve(t, upstreamtest.Options{Eras: []upstreamtest.Era{era}, Tools: []upstreamtest.Tool{{
				Definition: `{"name":"hold","inputSchema":{"type":"object"}}`,
				Call: func(ctx context.Context, _ *upstreamtest.Call) upstreamtest.Result {
					close(entered)
					<-ctx.Done()
					return upstreamtest.Text("late")
				},
			}}})
			cs := connect(t, transport(t, url, era, ""), string(era), nil)
			ctx, cancel := context.WithCancel(within(t))
			go func() {
				<-entered
				cancel()
			}()
			if _, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: "hold"}); err == nil {
				t.Error("cancelled call succeeded")
			}
			if err := s.Wait(within(t), func() bool { return s.Stats().Cancelled == 1 }); err != nil {
				t.Errorf("tool was not cancelled: %+v", s.Stats())
			}
		})
	}
}

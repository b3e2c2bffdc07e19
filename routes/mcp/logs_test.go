package mcp_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"mcpgateway/models/modelstest"
	"mcpgateway/services/upstream/upstreamtest"
)

// loggingUpstream starts a server whose tool work logs on the GET streams of its
// sessions and then waits for release. levels receives the params of
// logging/setLevel.
func loggingUpstream(t *testing.T, era upstreamtest.Era, release <-chan struct{}) (url string, levels <-chan string) {
	t.Helper()
	set := make(chan string, 16)
	var up *upstreamtest.Server
	up = upstreamtest.New(upstreamtest.Options{
		Eras: []upstreamtest.Era{era}, Capabilities: `{"tools":{},"logging":{}}`,
		Methods: map[string]upstreamtest.Handler{"logging/setLevel": func(_ context.Context, c *upstreamtest.Call) upstreamtest.Result {
			set <- string(c.Params)
			return upstreamtest.JSON("{}")
		}},
		Tools: []upstreamtest.Tool{{Definition: `{"name":"work","inputSchema":{"type":"object"}}`, Call: func(ctx context.Context, _ *upstreamtest.Call) upstreamtest.Result {
			up.Notify("notifications/message", []byte(`{"level":"debug","data":"too detailed"}`))
			up.Notify("notifications/message", []byte(`{"level":"warning","data":"of the call"}`))
			up.Notify("notifications/x", []byte(`{"custom":1}`))
			select {
			case <-release:
			case <-ctx.Done():
			}
			return upstreamtest.Text("done")
		}}},
	})
	return up.Start(t), set
}

const (
	logOfCall    = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"warning","data":"of the call"}}`
	customOfCall = `{"jsonrpc":"2.0","method":"notifications/x","params":{"custom":1}}`
	workCall     = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"up__work"}}`
)

// TestLogForwarding calls a tool that logs on the stream of its session. The
// messages must arrive on the client's GET stream, or without one on the stream
// of its call, also after a restart of the gateway.
func TestLogForwarding(t *testing.T) {
	for _, era := range []upstreamtest.Era{upstreamtest.Era20241105, upstreamtest.Era20250326, upstreamtest.Era20251125} {
		for _, mode := range []string{"shared", "per-client"} {
			t.Run(string(era)+" "+mode, func(t *testing.T) {
				release := make(chan struct{}, 8)
				url, levels := loggingUpstream(t, era, release)
				declaration := fmt.Sprintf(`{"projects":{"p":{"authMode":"none","mcpServers":{"up":{"url":%q,"sessionMode":%q}}}}}`, url, mode)
				dsn := modelstest.SQLite(t)
				leaveNothing(t)
				s := serveOn(t, dsn, declaration, nil)
				s.Sync(t, "p", "up")
				session := s.session(t)
				s.get(t, request{body: `{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"info"}}`, header: legacyHeader("Mcp-Session-Id", session)})

				get := s.stream(t, request{header: streamHeader(session)})
				call := legacyHeader("Mcp-Session-Id", session, "Accept", bothKinds)
				answer := make(chan string, 1)
				go func() {
					_, _, body := s.get(t, request{body: workCall, header: call})
					answer <- body
				}()
				get.want(logOfCall)
				get.want(customOfCall)
				release <- struct{}{}
				if body := <-answer; strings.Contains(body, "of the call") || !strings.Contains(body, "done") {
					t.Errorf("response: %s", body)
				}
				get.close()

				// Another process also has the session's level.
				s = serveOn(t, dsn, "", nil)
				stream := s.stream(t, request{body: workCall, header: call})
				stream.want(logOfCall)
				stream.want(customOfCall)
				release <- struct{}{}
				if last := stream.next(); !strings.Contains(last, "done") {
					t.Errorf("the call ended with %s", last)
				}
				for range 2 {
					if got := <-levels; got != `{"level":"info"}` {
						t.Errorf("logging/setLevel params = %s", got)
					}
				}
			})
		}
	}
}

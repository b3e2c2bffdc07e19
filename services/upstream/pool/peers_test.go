package pool_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpgateway/models"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/upstreamtest"
)

func TestCallInEveryEra(t *testing.T) {
	for _, era := range upstreamtest.AllEras() {
		for _, mode := range []struct {
			name   string
			answer upstreamtest.ResponseMode
		}{{"json", upstreamtest.AnswerJSON}, {"events", upstreamtest.AnswerSSE}} {
			t.Run(string(era)+"/"+mode.name, func(t *testing.T) {
				s := upstreamtest.New(upstreamtest.Options{
					Name: "peer", Instructions: "be kind", Eras: []upstreamtest.Era{era}, Answer: mode.answer,
					Tools: upstreamtest.Standard(25), PageSize: 10, Token: "sesame",
				})
				to := target(s.Start(t))
				to.Headers = bearer("sesame")
				p := newPool(t)
				tools, about, warnings, err := p.ListTools(testContext(t), to)
				if err != nil {
					t.Fatal(err)
				}
				if len(tools) != 25 || len(warnings) != 0 {
					t.Errorf("%d tools, warnings %q", len(tools), warnings)
				}
				for i, tool := range upstreamtest.Standard(25) {
					if string(tools[i]) != tool.Definition {
						t.Errorf("tool %d = %s, want %s", i, tools[i], tool.Definition)
					}
				}
				wantOver := models.TransportStreamableHTTP
				if era == upstreamtest.Era20241105 {
					wantOver = models.TransportSSE
				}
				if about.ProtocolVersion != string(era) || about.Transport != wantOver || about.Instructions != "be kind" ||
					!bytes.Contains(about.ServerInfo, []byte(`"peer"`)) || !bytes.Contains(about.Capabilities, []byte(`"tools"`)) {
					t.Errorf("Describe() = %+v", about)
				}
				for range 3 {
					resp := mustCall(t, p, to, echo("hi \u00e9"))
					if got := textOf(t, resp.Result); got != "hi \u00e9" || resp.Version != string(era) || resp.Stateless != era.Stateless() {
						t.Errorf("got %s, %+v", got, resp)
					}
				}
				if n := len(s.Requests("initialize")); n > 2 {
					t.Errorf("%d handshakes, want one for the gateway and one for clients", n)
				}
				resp, err := p.Call(testContext(t), to, &upstream.Request{Method: "no/such"})
				if err != nil || resp.Result != nil || !bytes.Contains(resp.Error, []byte("-32601")) {
					t.Errorf("unknown method: %+v, %v", resp, err)
				}
			})
		}
	}
}

func bearer(token string) func(context.Context) (http.Header, error) {
	return func(context.Context) (http.Header, error) {
		return http.Header{"Authorization": {"Bearer " + token}}, nil
	}
}

func TestResultsAndDefinitionsAreUnchanged(t *testing.T) {
	for _, era := range []upstreamtest.Era{upstreamtest.Era20241105, upstreamtest.Era20251125} {
		t.Run(string(era), func(t *testing.T) {
			s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{era}, Tools: upstreamtest.Hostile()})
			to, p := target(s.Start(t)), newPool(t)
			tools, _, warnings, err := p.ListTools(testContext(t), to)
			if err != nil {
				t.Fatal(err)
			}
			if len(tools) != len(upstreamtest.Hostile()) {
				t.Fatalf("got %d of %d tools, warnings %q", len(tools), len(upstreamtest.Hostile()), warnings)
			}
			for i, tool := range upstreamtest.Hostile() {
				if got, want := bytes.TrimSpace(tools[i]), bytes.TrimSpace([]byte(tool.Definition)); !bytes.Equal(sseLines(got), sseLines(want)) {
					t.Errorf("got %s, want %s", got, want)
				}
			}
			for name, want := range upstreamtest.HostileResults() {
				resp := mustCall(t, p, to, &upstream.Request{Method: "tools/call", Params: fmt.Appendf(nil, `{"name":%q}`, name)})
				if !bytes.Equal(sseLines(resp.Result), sseLines([]byte(want))) {
					t.Errorf("%s: got %s, want %s", name, resp.Result, want)
				}
			}
		})
	}
}

// sseLines normalizes line ends, because an event stream does not preserve CR.
func sseLines(b []byte) []byte {
	return bytes.ReplaceAll(bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n"))
}

// sdkServer returns a server of the official SDK whose tools use the features
// that a client must support.
func sdkServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "1"}, &mcp.ServerOptions{Instructions: "from the SDK"})
	type in struct {
		Text string `json:"text"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "echo"}, func(ctx context.Context, req *mcp.CallToolRequest, a in) (*mcp.CallToolResult, any, error) {
		if token := req.Params.GetProgressToken(); token != nil {
			for i := range 3 {
				err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(i + 1), Message: "step"})
				if err != nil {
					return nil, nil, err
				}
			}
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: a.Text}}}, nil, nil
	})
	return s
}

func TestOfficialServers(t *testing.T) {
	for _, tc := range []struct {
		name    string
		handler func(func(*http.Request) *mcp.Server) http.Handler
		version string
		over    models.Transport
	}{
		{"streamable with sessions", func(get func(*http.Request) *mcp.Server) http.Handler {
			return mcp.NewStreamableHTTPHandler(get, nil)
		}, "2025-11-25", models.TransportStreamableHTTP},
		{"streamable with sessions and JSON", func(get func(*http.Request) *mcp.Server) http.Handler {
			return mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{JSONResponse: true})
		}, "2025-11-25", models.TransportStreamableHTTP},
		{"stateless", func(get func(*http.Request) *mcp.Server) http.Handler {
			return mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Stateless: true})
		}, "2026-07-28", models.TransportStreamableHTTP},
		{"HTTP+SSE", func(get func(*http.Request) *mcp.Server) http.Handler {
			return mcp.NewSSEHandler(get, nil)
		}, "2025-11-25", models.TransportSSE},
	} {
		t.Run(tc.name, func(t *testing.T) {
			sdk := sdkServer()
			srv := httptest.NewServer(tc.handler(func(*http.Request) *mcp.Server { return sdk }))
			defer srv.Close()
			p := newPool(t)
			defer p.Close() // before the server's Close, which waits for streams
			to := target(srv.URL)
			tools, about, warnings, err := p.ListTools(testContext(t), to)
			if err != nil {
				t.Fatal(err)
			}
			if len(tools) != 1 || len(warnings) != 0 || about.ProtocolVersion != tc.version || about.Transport != tc.over || about.Instructions != "from the SDK" {
				t.Errorf("got %d tools, %+v, warnings %q", len(tools), about, warnings)
			}
			var steps []string
			r, want := echo("through"), 0
			if tc.name != "streamable with sessions and JSON" { // JSON responses cannot contain notifications
				r.Params, want = []byte(`{"name":"echo","arguments":{"text":"through"},"_meta":{"progressToken":"tok"}}`), 3
			}
			r.Notify = func(method string, params []byte) { steps = append(steps, method+string(params)) }
			resp := mustCall(t, p, to, r)
			if got := textOf(t, resp.Result); got != "through" || resp.Version != tc.version {
				t.Errorf("got %q in %s", got, resp.Version)
			}
			if len(steps) != want {
				t.Errorf("got notifications %q, want %d", steps, want)
			}
		})
	}
}

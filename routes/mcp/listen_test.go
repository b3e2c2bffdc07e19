package mcp_test

import (
	"context"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	listenMeta    = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	listenRequest = `{"jsonrpc":"2.0","id":"sub-1","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + listenMeta + `}}`
)

func TestListenAcknowledgesAndNotifies(t *testing.T) {
	s := serve(t, openProject, nil)
	change := withTool(t, s)
	stream := s.stream(t, request{body: listenRequest, header: modernHeader("subscriptions/listen")})
	stream.want(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":"sub-1"}}}`)
	other := s.stream(t, request{body: strings.Replace(strings.Replace(listenRequest, `"sub-1"`, "99", 1), "tools", "prompts", 1), header: modernHeader("subscriptions/listen")})
	other.want(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"promptsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":99}}}`)
	change()
	stream.want(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"sub-1"}}}`)

	s.shutdown(t) // fails the test if a stream blocks it
	stream.want(`{"jsonrpc":"2.0","id":"sub-1","result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":"sub-1"}}}`)
	stream.want("")
	other.want(`{"jsonrpc":"2.0","id":99,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":99}}}`)
}

func TestListenRequests(t *testing.T) {
	s := serve(t, openProject, nil)
	for _, c := range []struct{ wanted, agreed string }{
		{`{}`, `{}`},
		{`{"toolsListChanged":false,"other":1}`, `{}`},
		{`{"resourceSubscriptions":["file:///a"]}`, `{"resourceSubscriptions":[]}`},
	} {
		body := strings.Replace(listenRequest, `{"toolsListChanged":true}`, c.wanted, 1)
		stream := s.stream(t, request{body: body, header: modernHeader("subscriptions/listen")})
		stream.want(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":` + c.agreed + `,"_meta":{"io.modelcontextprotocol/subscriptionId":"sub-1"}}}`)
		stream.want(`{"jsonrpc":"2.0","id":"sub-1","result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":"sub-1"}}}`)
		stream.want("")
	}
	for _, c := range []struct {
		name, wanted, accept, code string
		status                     int
	}{
		{"null", `null`, bothKinds, "-32602", 200},
		{"a list", `[]`, bothKinds, "-32602", 200},
		{"wrong type", `{"toolsListChanged":1}`, bothKinds, "-32602", 200},
		{"JSON only", `{"toolsListChanged":true}`, "application/json", "-32600", 400},
	} {
		body := strings.Replace(listenRequest, `{"toolsListChanged":true}`, c.wanted, 1)
		status, _, answer := s.get(t, request{body: body, header: modernHeader("subscriptions/listen", "Accept", c.accept)})
		if status != c.status || !strings.Contains(answer, `"code":`+c.code) || !strings.Contains(answer, `"id":"sub-1"`) {
			t.Errorf("%s: %d %s", c.name, status, answer)
		}
	}
	legacy := `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true}}}`
	if status, _, answer := s.get(t, request{body: legacy, header: legacyHeader()}); status != 200 || !strings.Contains(answer, "-32601") {
		t.Errorf("handshake client: got %d: %s", status, answer)
	}
}

// connect connects a client of the official Go SDK. An empty version is the
// SDK's latest.
func (s *server) connect(t *testing.T, transport sdk.Transport, version string, options *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "go", Version: "1"}, options)
	// An HTTP+SSE connection ends with this context.
	session, err := client.Connect(t.Context(), transport, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	return session
}

func TestGoSDKReceivesListChanged(t *testing.T) {
	for _, version := range []string{"", "2025-11-25"} {
		t.Run("version "+version, func(t *testing.T) {
			s := serve(t, openProject, nil)
			change := withTool(t, s)
			received := make(chan struct{}, 10)
			session := s.connect(t, &sdk.StreamableClientTransport{Endpoint: s.base + "request", HTTPClient: s.client}, version, &sdk.ClientOptions{
				ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { received <- struct{}{} },
			})
			// The client opens its stream in the background, so the list is
			// changed until a notification arrives.
			deadline := time.Now().Add(30 * time.Second)
			for done := false; !done; {
				change()
				select {
				case <-received:
					done = true
				case <-time.After(100 * time.Millisecond):
					if time.Now().After(deadline) {
						t.Fatal("no notification received")
					}
				}
			}
			if err := session.Close(); err != nil {
				t.Errorf("closing: %v", err)
			}
		})
	}
}

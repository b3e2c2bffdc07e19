//go:build linux || darwin

package bridge_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"mcpgateway/services/upstream/upstreamtest"
	"mcpgateway/services/upstream/wire"
)

// client is a client over HTTP. version and session are headers.
type client struct {
	t       testing.TB
	url     string
	version string
	session string
}

// listen serves the bridge and returns its URL.
func (h *host) listen(t testing.TB) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(func() {
		h.stopAll()
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

// request returns an HTTP request of the client.
func (c *client) request(ctx context.Context, method, body string) *http.Request {
	r, err := http.NewRequestWithContext(ctx, method, c.url, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Accept", wire.AcceptAnswers)
	if body != "" {
		r.Header.Set("Content-Type", wire.TypeJSON)
	}
	if c.version != "" {
		r.Header.Set(wire.HeaderVersion, c.version)
	}
	if c.session != "" {
		r.Header.Set(wire.HeaderSession, c.session)
	}
	return r
}

// do sends a request and returns the response with its open body.
func (c *client) do(r *http.Request) *http.Response {
	c.t.Helper()
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// reply is a response with what came before it.
type reply struct {
	status int
	header http.Header
	events []message // the last one is the response
}

// message is a JSON-RPC message.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

func (r *reply) last() message {
	if len(r.events) == 0 {
		return message{}
	}
	return r.events[len(r.events)-1]
}

// post sends a message and reads the whole response.
func (c *client) post(body string) *reply {
	c.t.Helper()
	return c.read(c.do(c.request(c.t.Context(), http.MethodPost, body)), nil)
}

// read reads a response. each is called for each event.
func (c *client) read(resp *http.Response, each func(message)) *reply {
	c.t.Helper()
	r := &reply{status: resp.StatusCode, header: resp.Header}
	defer resp.Body.Close()
	if resp.Header.Get("Content-Type") != wire.TypeEvents {
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			c.t.Error(err)
		}
		if len(body) > 0 {
			r.events = append(r.events, decode(c.t, body))
		}
		return r
	}
	events := wire.NewEventReader(resp.Body, 32<<20)
	for {
		e, err := events.Next()
		if err != nil {
			return r
		}
		m := decode(c.t, e.Data)
		if e.Name != "message" {
			m.Method = e.Name
		}
		r.events = append(r.events, m)
		if each != nil {
			each(m)
		}
	}
}

func decode(t testing.TB, raw []byte) message {
	t.Helper()
	var m message
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Errorf("%s: %v", raw, err)
	}
	return m
}

// connect starts a session with a raw capabilities object.
func connect(t testing.TB, url, capabilities string) *client {
	t.Helper()
	c := &client{t: t, url: url}
	r := c.post(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":` + capabilities + `,"clientInfo":{"name":"c","version":"1"}}}`)
	c.session, c.version = r.header.Get(wire.HeaderSession), "2025-11-25"
	if r.status != http.StatusOK || c.session == "" || r.last().Result == nil {
		t.Fatalf("initialize: HTTP %d, %+v", r.status, r.last())
	}
	if r := c.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`); r.status != http.StatusAccepted {
		t.Fatalf("initialized: HTTP %d", r.status)
	}
	return c
}

// stateless returns a client of revision 2026-07-28.
func stateless(t testing.TB, url string) *client {
	return &client{t: t, url: url, version: wire.Revision20260728}
}

// message returns a request with an ID. In revision 2026-07-28 it has the metadata.
func (c *client) message(id int, method, params string) string {
	if c.version >= wire.Revision20260728 {
		meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{},"elicitation":{}},"io.modelcontextprotocol/logLevel":"debug","progressToken":` + strconv.Itoa(id) + `}`
		if params = strings.TrimSuffix(params, "}"); params != "{" {
			params += ","
		}
		params += meta + "}"
	}
	return `{"jsonrpc":"2.0","id":` + strconv.Itoa(id) + `,"method":"` + method + `","params":` + params + `}`
}

// call returns a message that calls a tool.
func (c *client) call(id int, tool, arguments string) string {
	token := ""
	if c.version < wire.Revision20260728 {
		token = `,"_meta":{"progressToken":` + strconv.Itoa(id) + `}`
	}
	return c.message(id, "tools/call", `{"name":"`+tool+`","arguments":`+arguments+token+`}`)
}

// stream reads the GET stream of a session. It is open when stream returns.
func (c *client) stream() <-chan message {
	c.t.Helper()
	resp := c.do(c.request(c.t.Context(), http.MethodGet, ""))
	if resp.StatusCode != http.StatusOK {
		c.t.Fatalf("GET: HTTP %d", resp.StatusCode)
	}
	messages := make(chan message, 256)
	go func() {
		defer close(messages)
		c.read(resp, func(m message) { messages <- m })
	}()
	return messages
}

// next returns the next message of a stream.
func next(t testing.TB, messages <-chan message) message {
	t.Helper()
	select {
	case m := <-messages:
		return m
	case <-t.Context().Done():
	case <-time.After(20 * time.Second):
	}
	t.Fatal("no message")
	return message{}
}

func textOf(t testing.TB, m message) string {
	t.Helper()
	var r struct {
		Content []struct{ Text string }
	}
	if err := json.Unmarshal(m.Result, &r); err != nil || len(r.Content) == 0 {
		t.Fatalf("response %+v", m)
	}
	return r.Content[0].Text
}

// tool returns a tool that calls f.
func tool(name string, f upstreamtest.Handler) upstreamtest.Tool {
	return upstreamtest.Tool{Definition: `{"name":"` + name + `","inputSchema":{"type":"object"}}`, Call: f}
}

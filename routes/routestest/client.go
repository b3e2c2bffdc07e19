package routestest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// Stateless is the protocol revision of clients without sessions.
const Stateless = "2026-07-28"

// Message is a JSON-RPC message.
type Message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`

	Status int    `json:"-"` // of HTTP
	Body   string `json:"-"` // of a response that has no message
}

// Client is an MCP client of an endpoint. It is safe for concurrent use after
// Open.
type Client struct {
	Endpoint     string // URL
	Token        string
	Version      string // protocol revision
	Capabilities string // raw JSON object; none if empty
	Header       map[string]string
	// Respond returns the raw result for a request of the server. A client without
	// it sends none.
	Respond func(m Message) string
	// Notified receives notifications that belong to a request.
	Notified func(m Message)

	http    http.Client
	session string
	id      atomic.Int64
}

// Open opens a session. A stateless client has none.
func (c *Client) Open(t testing.TB) *Client {
	t.Helper()
	c.http.Transport = &http.Transport{MaxIdleConnsPerHost: 32}
	t.Cleanup(c.http.CloseIdleConnections)
	if c.Capabilities == "" {
		c.Capabilities = `{}`
	}
	if c.Version >= Stateless {
		return c
	}
	m, err := c.Send(t.Context(), "initialize", `{"protocolVersion":"`+c.Version+`","capabilities":`+c.Capabilities+`,"clientInfo":{"name":"c","version":"1"}}`)
	if err != nil || m.Result == nil || c.session == "" {
		t.Fatalf("initialize: %d %s%s%s, %v", m.Status, m.Result, m.Error, m.Body, err)
	}
	return c
}

// Send sends a request with raw params and returns the response. While it waits, it
// responds to the server's requests.
func (c *Client) Send(ctx context.Context, method, params string) (Message, error) {
	response, id, err := c.request(ctx, method, params)
	if err != nil {
		return Message{}, err
	}
	defer response.Body.Close()
	if method == "initialize" {
		c.session = response.Header.Get("Mcp-Session-Id")
	}
	if !strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		raw, err := io.ReadAll(response.Body)
		m := Message{Status: response.StatusCode, Body: string(raw)}
		_ = json.Unmarshal(raw, &m) // other bodies are in Body
		return m, err
	}
	for lines := bufio.NewReader(response.Body); ; {
		m, err := next(lines)
		switch {
		case err != nil:
			return Message{}, fmt.Errorf("%s: stream: %w", method, err)
		case m.Method == "" && string(m.ID) == id:
			m.Status = response.StatusCode
			return m, nil
		case m.ID == nil && c.Notified != nil:
			c.Notified(m)
		case m.ID != nil && c.Respond != nil:
			if err := c.post(ctx, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":`+c.Respond(m)+`}`); err != nil {
				return Message{}, err
			}
		}
	}
}

// Call calls a tool with raw arguments.
func (c *Client) Call(ctx context.Context, tool, arguments string) (Message, error) {
	return c.Send(ctx, "tools/call", `{"name":"`+tool+`","arguments":`+arguments+`,"_meta":{"progressToken":"p"}}`)
}

// Cancel sends notifications/cancelled for a request of this client.
func (c *Client) Cancel(ctx context.Context, id string) error {
	return c.post(ctx, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`+id+`}}`)
}

// request sends a request and returns its id.
func (c *Client) request(ctx context.Context, method, params string) (response *http.Response, id string, err error) {
	id = fmt.Sprint(c.id.Add(1))
	var named struct{ Name, URI, TaskID string }
	if err := json.Unmarshal([]byte(params), &named); err != nil {
		return nil, id, err
	}
	if c.Version >= Stateless {
		params = c.withMeta(params)
	}
	r, err := c.newRequest(ctx, http.MethodPost, `{"jsonrpc":"2.0","id":`+id+`,"method":"`+method+`","params":`+params+`}`)
	if err != nil {
		return nil, id, err
	}
	if c.Version >= Stateless {
		r.Header.Set("Mcp-Method", method)
		if name := named.Name + named.URI + named.TaskID; name != "" {
			r.Header.Set("Mcp-Name", name)
		}
	}
	response, err = c.http.Do(r)
	return response, id, err
}

// withMeta adds what stateless requests must have to raw params.
func (c *Client) withMeta(params string) string {
	var all map[string]json.RawMessage
	if json.Unmarshal([]byte(params), &all) != nil || all == nil {
		return params
	}
	meta := map[string]json.RawMessage{}
	_ = json.Unmarshal(all["_meta"], &meta) // absent in most
	meta["io.modelcontextprotocol/protocolVersion"] = json.RawMessage(`"` + c.Version + `"`)
	meta["io.modelcontextprotocol/clientInfo"] = json.RawMessage(`{"name":"c","version":"1"}`)
	meta["io.modelcontextprotocol/clientCapabilities"] = json.RawMessage(c.Capabilities)
	all["_meta"], _ = json.Marshal(meta) // raw JSON only
	raw, _ := json.Marshal(all)
	return string(raw)
}

// post sends a message that has no response.
func (c *Client) post(ctx context.Context, body string) error {
	r, err := c.newRequest(ctx, http.MethodPost, body)
	if err != nil {
		return err
	}
	response, err := c.http.Do(r)
	if err == nil {
		_, _ = io.Copy(io.Discard, response.Body) // nothing is expected
		_ = response.Body.Close()
	}
	return err
}

func (c *Client) newRequest(ctx context.Context, method, body string) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.Endpoint, bytes.NewReader([]byte(body)))
	if err != nil {
		return nil, err
	}
	r.Host = "127.0.0.1:8080"
	for name, value := range map[string]string{
		"Authorization": "Bearer " + c.Token, "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": c.Version, "Mcp-Session-Id": c.session,
	} {
		if value != "" && value != "Bearer " {
			r.Header.Set(name, value)
		}
	}
	for name, value := range c.Header {
		r.Header.Set(name, value)
	}
	return r, nil
}

// Listen opens a stream until the test ends and returns its messages: the GET
// stream of a session, or subscriptions/listen with the raw wish.
func (c *Client) Listen(t testing.TB, wish string) <-chan Message {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var response *http.Response
	var err error
	if c.Version >= Stateless {
		response, _, err = c.request(ctx, "subscriptions/listen", `{"notifications":`+wish+`}`) //nolint:bodyclose // closed with the stream
	} else {
		var r *http.Request
		if r, err = c.newRequest(ctx, http.MethodGet, ""); err == nil {
			r.Header.Set("Accept", "text/event-stream")
			response, err = c.http.Do(r) //nolint:bodyclose // closed with the stream
		}
	}
	if err != nil || response.StatusCode != http.StatusOK {
		cancel()
		t.Fatalf("stream: %+v, %v", response, err)
	}
	messages, ended := make(chan Message, 1000), make(chan struct{})
	go func() {
		defer close(ended)
		for lines := bufio.NewReader(response.Body); ; {
			m, err := next(lines)
			if err != nil {
				return
			}
			messages <- m
		}
	}()
	t.Cleanup(func() {
		cancel()
		_ = response.Body.Close()
		<-ended
	})
	return messages
}

// next returns the next message of an event stream.
func next(lines *bufio.Reader) (m Message, err error) {
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return m, err
		}
		// The first event of a stream that can be resumed has no data.
		if data, ok := strings.CutPrefix(line, "data: "); ok && strings.TrimSpace(data) != "" {
			return m, json.Unmarshal([]byte(data), &m)
		}
	}
}

//go:build conformance

package matrix

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// maxAnswerBytes is the maximum size of a response.
const maxAnswerBytes = 16 << 20

// Reserved names in `_meta` (MCP 2026-07-28, "General fields").
const (
	metaProtocolVersion    = "io.modelcontextprotocol/protocolVersion"
	metaClientInfo         = "io.modelcontextprotocol/clientInfo"
	metaClientCapabilities = "io.modelcontextprotocol/clientCapabilities"
)

// object is a JSON object to send.
type object = map[string]any

// caller is a client of one generation. It implements the revision literally; an
// SDK could hide faults of the gateway.
type caller struct {
	era      string
	endpoint string
	bridge   string
	http     *http.Client

	session string
	opened  json.RawMessage // result of initialize or server/discover
	id      int
}

// request is one request of a client.
type request struct {
	method  string
	params  object
	started func(id int)                                             // called just before the request is sent
	notify  func(method string, params json.RawMessage)              // called for each notification
	serve   func(method string, params json.RawMessage) (result any) // called for each server request
}

// message is one JSON-RPC message.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *rpcError       `json:"error"`
}

// rpcError is a JSON-RPC error object.
type rpcError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

// Error returns the code and the message.
func (e *rpcError) Error() string { return strconv.Itoa(e.Code) + " " + e.Message }

// stateless reports whether the client uses neither a handshake nor a session.
func (c *caller) stateless() bool { return c.era >= revision20260728 && c.era != plain }

// handshakes reports whether the client starts with initialize.
func (c *caller) handshakes() bool { return c.era != plain && !c.stateless() }

// capabilities returns the capabilities that the client declares.
func (c *caller) capabilities() object {
	switch {
	case c.era == plain || c.era < revision20250618:
		return object{}
	case c.era == revision20250618:
		return object{"elicitation": object{}}
	case c.stateless():
		return object{"elicitation": object{"form": object{}}, "extensions": object{tasksExtension: object{}}}
	}
	return object{"elicitation": object{"form": object{}}}
}

func clientInfo() object { return object{"name": "matrix", "version": "1.0.0"} }

// open starts as the revision prescribes and checks the negotiated version.
func (c *caller) open(ctx context.Context) error {
	switch {
	case c.stateless():
		result, err := c.do(ctx, request{method: "server/discover"})
		if err != nil {
			return fmt.Errorf("server/discover: %w", err)
		}
		var found struct{ SupportedVersions []string }
		if err := json.Unmarshal(result, &found); err != nil || !slices.Contains(found.SupportedVersions, c.era) {
			return fmt.Errorf("server/discover: unexpected result %s", result)
		}
		c.opened = result
	case c.handshakes():
		result, err := c.do(ctx, request{method: "initialize", params: object{
			"protocolVersion": c.era, "capabilities": c.capabilities(), "clientInfo": clientInfo(),
		}})
		if err != nil {
			return fmt.Errorf("initialize: %w", err)
		}
		var agreed struct{ ProtocolVersion string }
		if err := json.Unmarshal(result, &agreed); err != nil || agreed.ProtocolVersion != c.era {
			return fmt.Errorf("initialize with %s: unexpected result %s", c.era, result)
		}
		c.opened = result
		return c.postNotification(ctx, object{"jsonrpc": "2.0", "method": "notifications/initialized"})
	}
	return nil
}

// do sends a request and returns its result. A JSON-RPC error is returned as an
// *rpcError.
func (c *caller) do(ctx context.Context, r request) (json.RawMessage, error) {
	c.id++
	id := c.id
	params := r.params
	if c.stateless() {
		params = maps.Clone(params)
		if params == nil {
			params = object{}
		}
		meta := object{}
		if given, ok := params["_meta"].(object); ok {
			meta = maps.Clone(given)
		}
		meta[metaProtocolVersion], meta[metaClientInfo], meta[metaClientCapabilities] = c.era, clientInfo(), c.capabilities()
		params["_meta"] = meta
	}
	body := object{"jsonrpc": "2.0", "id": id, "method": r.method}
	if params != nil {
		body["params"] = params
	}
	if r.started != nil {
		r.started(id)
	}
	response, err := c.post(ctx, c.endpoint, body, c.header(r.method, params))
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if r.method == "initialize" {
		c.session = response.Header.Get("Mcp-Session-Id")
	}
	return c.read(ctx, response, id, &r)
}

// postNotification posts a notification or a response.
func (c *caller) postNotification(ctx context.Context, body object) error {
	response, err := c.post(ctx, c.endpoint, body, c.header("", nil))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes))
	if err == nil && response.StatusCode != http.StatusAccepted {
		err = fmt.Errorf("notification or response: HTTP %d: %s", response.StatusCode, content)
	}
	return err
}

// header returns the header of a POST request that the revision prescribes.
func (c *caller) header(method string, params object) http.Header {
	h := http.Header{"Content-Type": {"application/json"}}
	if c.era == plain {
		return h
	}
	h.Set("Accept", "application/json, text/event-stream")
	if c.session != "" {
		h.Set("Mcp-Session-Id", c.session)
	}
	if c.era >= revision20250618 && method != "initialize" {
		h.Set("Mcp-Protocol-Version", c.era)
	}
	if c.stateless() {
		h.Set("Mcp-Method", method)
		for _, key := range []string{"name", "uri", "taskId"} {
			if value, ok := params[key].(string); ok {
				h.Set("Mcp-Name", value)
			}
		}
	}
	return h
}

func (c *caller) post(ctx context.Context, url string, body object, header http.Header) (*http.Response, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	out, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	out.Header = header
	return c.http.Do(out)
}

// read reads a response, as JSON or as events, up to the message with id.
func (c *caller) read(ctx context.Context, response *http.Response, id int, r *request) (json.RawMessage, error) {
	kind, _, _ := strings.Cut(response.Header.Get("Content-Type"), ";")
	switch {
	case kind == "application/json":
		raw, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes))
		if err != nil {
			return nil, err
		}
		var m message
		if err := json.Unmarshal(raw, &m); err != nil || m.Result == nil && m.Error == nil {
			return nil, fmt.Errorf("status %d: %s", response.StatusCode, raw)
		}
		return m.outcome(id)
	case kind != "text/event-stream" || response.StatusCode != http.StatusOK:
		raw, _ := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes))
		return nil, fmt.Errorf("status %d, content type %q: %s", response.StatusCode, kind, raw)
	case c.era == plain:
		return nil, errors.New("plain client received an event stream")
	}
	for data, err := range events(response.Body) {
		if err != nil {
			return nil, err
		}
		var m message
		if err := json.Unmarshal(data, &m); err != nil {
			return nil, fmt.Errorf("invalid event %s: %w", data, err)
		}
		if m.Method == "" {
			return m.outcome(id)
		}
		if err := c.handleMessage(ctx, &m, r); err != nil {
			return nil, err
		}
	}
	return nil, errors.New("stream ended before the response")
}

// outcome returns the result of a response, which must have this id.
func (m *message) outcome(id int) (json.RawMessage, error) {
	switch {
	case string(m.ID) != strconv.Itoa(id):
		return nil, fmt.Errorf("response id %s, want %d", m.ID, id)
	case m.Error != nil:
		return nil, m.Error
	}
	return m.Result, nil
}

// handleMessage handles a message received before the response.
func (c *caller) handleMessage(ctx context.Context, m *message, r *request) error {
	switch {
	case m.ID == nil:
		if r.notify != nil {
			r.notify(m.Method, m.Params)
		}
		return nil
	case c.stateless():
		return fmt.Errorf("received request %s, which the revision forbids", m.Method)
	case r.serve == nil:
		return fmt.Errorf("received request %s without its capability", m.Method)
	}
	return c.postNotification(ctx, object{"jsonrpc": "2.0", "id": m.ID, "result": r.serve(m.Method, m.Params)})
}

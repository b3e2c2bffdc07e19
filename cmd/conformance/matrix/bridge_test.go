//go:build conformance

package matrix

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// bridgeEvent is an event of the streaming bridge (specification, "SSE
// bridge").
type bridgeEvent struct {
	Type    string          `json:"type"`
	Message string          `json:"message"`
	Result  json.RawMessage `json:"result"`
	Error   *rpcError       `json:"error"`
}

// stream calls a tool by the streaming bridge, the plain client's way to
// progress, and returns the result and how many progress events came before.
func (c *caller) stream(ctx context.Context, name string, arguments object) (result json.RawMessage, progress int, err error) {
	c.id++
	body := object{"jsonrpc": "2.0", "id": c.id, "method": "tools/call", "params": object{"name": name, "arguments": arguments}}
	response, err := c.post(ctx, c.bridge, body, c.header("", nil))
	if err != nil {
		return nil, 0, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		raw, _ := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes))
		return nil, 0, fmt.Errorf("the bridge answered %d: %s", response.StatusCode, raw)
	}
	for data, err := range events(response.Body) {
		if err != nil {
			return nil, progress, err
		}
		if string(data) == "[DONE]" {
			if result == nil {
				return nil, progress, errors.New("the bridge was done without a result")
			}
			return result, progress, nil
		}
		var e bridgeEvent
		if err := json.Unmarshal(data, &e); err != nil {
			return nil, progress, fmt.Errorf("an event holds %s: %w", data, err)
		}
		switch e.Type {
		case "progress":
			if e.Message == "" {
				return nil, progress, errors.New("a progress event has no message")
			}
			progress++
		case "result":
			result = e.Result
		case "error":
			return nil, progress, e.Error
		default:
			return nil, progress, fmt.Errorf("an event has the type %q", e.Type)
		}
	}
	return nil, progress, errors.New("the bridge ended without [DONE]")
}

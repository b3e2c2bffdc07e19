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

// bridgeEvent is an event of the SSE bridge (specification, "SSE bridge").
type bridgeEvent struct {
	Type    string          `json:"type"`
	Message string          `json:"message"`
	Result  json.RawMessage `json:"result"`
	Error   *rpcError       `json:"error"`
}

// stream calls a tool through the SSE bridge, which gives plain clients progress. It
// returns the result and the number of progress events before it.
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
		return nil, 0, fmt.Errorf("SSE bridge: HTTP %d: %s", response.StatusCode, raw)
	}
	for data, err := range events(response.Body) {
		if err != nil {
			return nil, progress, err
		}
		if string(data) == "[DONE]" {
			if result == nil {
				return nil, progress, errors.New("[DONE] without a result")
			}
			return result, progress, nil
		}
		var e bridgeEvent
		if err := json.Unmarshal(data, &e); err != nil {
			return nil, progress, fmt.Errorf("invalid event %s: %w", data, err)
		}
		switch e.Type {
		case "progress":
			if e.Message == "" {
				return nil, progress, errors.New("progress event without message")
			}
			progress++
		case "result":
			result = e.Result
		case "error":
			return nil, progress, e.Error
		default:
			return nil, progress, fmt.Errorf("unknown event type %q", e.Type)
		}
	}
	return nil, progress, errors.New("stream ended without [DONE]")
}

package mcp_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"mcpgateway/routes/routestest"
	"mcpgateway/services/upstream/upstreamtest"
)

// line waits for the log line of the request and returns its level and code.
func (s *server) line(t *testing.T, requestID string) (level, code string) {
	t.Helper()
	routestest.Eventually(t, "the request is in the log", func() bool {
		for text := range strings.SplitSeq(s.Log.String(), "\n") {
			var line struct {
				Message   string `json:"msg"`
				Level     string `json:"level"`
				Code      string `json:"code"`
				RequestID string `json:"request_id"`
			}
			if json.Unmarshal([]byte(text), &line) == nil && line.Message == "request" && line.RequestID == requestID {
				level, code = line.Level, line.Code
				return true
			}
		}
		return false
	})
	return level, code
}

func TestRejectedCallsLogInfo(t *testing.T) {
	up := upstreamtest.New(upstreamtest.Options{Name: "up"})
	hosted := httptest.NewServer(up)
	t.Cleanup(hosted.Close)
	up.SetTools(upstreamtest.Tool{Definition: `{"name":"echo","inputSchema":{"type":"object"}}`, Call: func(context.Context, *upstreamtest.Call) upstreamtest.Result {
		return upstreamtest.Result{Err: &upstreamtest.RPCError{Code: -32602, Message: "Invalid params: say is missing"}}
	}})
	s := serve(t, `{"projects":{"p":{"authMode":"none","mcpServers":{"up":{"url":"`+hosted.URL+`/mcp"}}}}}`, nil)
	s.Sync(t, "p", "up")
	for params, want := range map[string]string{
		`{"name":"up__echo"}`: "UPSTREAM_ERROR",
		`{"name":"gateway_executeTool","arguments":{"name":"up__echo"}}`: "UPSTREAM_ERROR",
		`{"name":"up__none"}`:                 "TOOL_NOT_FOUND",
		`{"name":"up__echo","arguments":[1]}`: "INVALID_PARAMETER",
	} {
		body := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":` + params + `}`
		for _, accept := range []string{"application/json", bothKinds} {
			status, header, answer := s.get(t, request{body: body, header: legacyHeader("Accept", accept)})
			if status != 200 || !strings.Contains(answer, `"error"`) {
				t.Errorf("%s: got %d: %s", params, status, answer)
			}
			if level, code := s.line(t, header.Get("X-Request-Id")); level != "INFO" || code != want {
				t.Errorf("%s is logged as %s %s, want INFO %s", params, level, code, want)
			}
		}
	}
}

package shim

import (
	"encoding/base64"
	"net/http"
	"strings"

	"mcpgateway/services/rawjson"
)

// Request returns a client message with exported names: params.name of tools/call
// and prompts/get, and params.ref.name of completion/complete for a prompt. It
// returns anything invalid (batches, invalid JSON, a name that isn't a string)
// unchanged, so that the gateway rejects it.
func (n Names) Request(body []byte) []byte {
	message, err := rawjson.ParseObject(body, rawjson.Lenient)
	if err != nil {
		return body
	}
	params := message.Object("params")
	if params == nil {
		return body
	}
	switch method, _ := message.String("method"); method {
	case "tools/call", "prompts/get":
		if !n.export(params) {
			return body
		}
	case "completion/complete":
		ref := params.Object("ref")
		if kind, _ := ref.String("type"); kind != "ref/prompt" || !n.export(ref) {
			return body
		}
		params.Set("ref", ref.Bytes())
	default:
		return body
	}
	message.Set("params", params.Bytes())
	return message.Bytes()
}

// export renames the member "name". It returns false if that isn't a string.
func (n Names) export(o *rawjson.Object) bool {
	bare, ok := o.String("name")
	if ok {
		o.Set("name", rawjson.Quote(n.Exported(bare)))
	}
	return ok
}

// Sentinels around a base64-encoded header value (MCP 2026-07-28, "Value
// encoding").
const (
	sentinelStart = "=?base64?"
	sentinelEnd   = "?="
)

// Header renames the Mcp-Name header of tools/call and prompts/get. An encoded
// value stays encoded. A value with invalid base64 is unchanged: suites send it to
// test that the gateway rejects it.
func (n Names) Header(h http.Header) {
	method, value := h.Get("Mcp-Method"), h.Get("Mcp-Name")
	if value == "" || method != "tools/call" && method != "prompts/get" {
		return
	}
	if len(value) < len(sentinelStart)+len(sentinelEnd) || !strings.HasPrefix(value, sentinelStart) || !strings.HasSuffix(value, sentinelEnd) {
		h.Set("Mcp-Name", n.Exported(value))
		return
	}
	bare, err := base64.StdEncoding.DecodeString(value[len(sentinelStart) : len(value)-len(sentinelEnd)])
	if err != nil {
		return
	}
	h.Set("Mcp-Name", sentinelStart+base64.StdEncoding.EncodeToString([]byte(n.Exported(string(bare))))+sentinelEnd)
}

package gateway

import (
	"bytes"
	"strconv"

	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/upstream"
)

// relayed are the client capabilities that pass through the gateway: a
// stateless client is asked by an input_required result and sends its input
// with the repeated call, a handshake client is asked on its stream.
var relayed = []string{"elicitation", "sampling", "roots"}

// relayedCapabilities returns the raw object of those capabilities that the
// client declared and the gateway can relay for it; nil when there are none.
func relayedCapabilities(client *Client) []byte {
	if !client.Stateless() && client.Ask == nil || len(client.Capabilities) <= len("{}") {
		return nil
	}
	declared, err := rawjson.ParseObject(client.Capabilities, rawjson.Lenient)
	if err != nil {
		return nil
	}
	var b []byte
	for _, name := range relayed {
		if v := declared.Get(name); v != nil {
			b = append(b, ',')
			b = append(rawjson.AppendString(b, name), ':')
			b = append(b, v...)
		}
	}
	if b == nil {
		return nil
	}
	b[0] = '{'
	return append(b, '}')
}

// bridgeAnswer returns the upstream's result as the client's revision can
// read it. Between equal eras its bytes are kept but for structured content
// that no handshake client accepts.
func (g *Gateway) bridgeAnswer(r *upstream.Response, client *Client) ([]byte, error) {
	switch {
	case r.Error != nil:
		return bridgeError(r.Error, client)
	case rawjson.Kind(r.Result) != '{':
		return nil, fault.Upstream(fault.CodeUpstreamInvalidResponse, "the upstream's result is not an object")
	case client.Stateless() && r.Stateless: // null is a value of structured content since 2026-07-28
		return withoutNulls(r.Result, "_meta"), nil
	case client.Stateless():
		return g.decorate(withoutNulls(r.Result, "_meta", "structuredContent"))
	case !r.Stateless && !bytes.Contains(r.Result, []byte(`"structuredContent"`)):
		return withoutNulls(r.Result, "_meta"), nil
	default:
		return repairResult(r)
	}
}

// withoutNulls returns a result without the named members that are null, which
// clients reject. Without any it returns the result itself.
func withoutNulls(result []byte, names ...string) []byte {
	if !bytes.Contains(result, []byte("null")) {
		return result
	}
	o, err := rawjson.ParseObject(result, rawjson.Lenient)
	if err != nil {
		return result
	}
	for _, name := range names {
		if rawjson.Kind(o.Get(name)) == 'n' {
			o.Delete(name)
		}
	}
	return o.Bytes()
}

// decorate adds what MCP 2026-07-28 requires in every result.
func (g *Gateway) decorate(result []byte) ([]byte, error) {
	o, err := rawjson.ParseObject(result, rawjson.Lenient)
	if err != nil {
		return nil, fault.Upstream(fault.CodeUpstreamInvalidResponse, "the upstream's result is not valid JSON").Because(err)
	}
	if o.Get("resultType") == nil {
		o.Set("resultType", []byte(`"complete"`))
	}
	switch meta := o.Object("_meta"); {
	case meta != nil:
		meta.Set(metaServerInfo, g.serverInfo())
		o.Set("_meta", meta.Bytes())
	case o.Get("_meta") == nil:
		o.Set("_meta", append(append([]byte(`{"`+metaServerInfo+`":`), g.serverInfo()...), '}'))
	}
	return o.Bytes(), nil
}

// repairResult makes a result readable to handshake clients, whose libraries
// refuse structured content that is not an object, content of unknown types,
// and take a request for input as an empty success.
func repairResult(r *upstream.Response) ([]byte, error) {
	o, err := rawjson.ParseObject(r.Result, rawjson.Lenient)
	if err != nil {
		return nil, fault.Upstream(fault.CodeUpstreamInvalidResponse, "the upstream's result is not valid JSON").Because(err)
	}
	if typ := o.Get("resultType"); r.Stateless && typ != nil {
		if !rawjson.Says(typ, "complete") {
			return nil, fault.Upstream(fault.CodeUpstreamInvalidResponse, "the tool asks for more input, which this client cannot give: its protocol revision has no such answers")
		}
	}
	if rawjson.Kind(o.Get("_meta")) == 'n' {
		o.Delete("_meta")
	}
	structured := o.Get("structuredContent")
	misplaced := structured != nil && rawjson.Kind(structured) != '{'
	if !r.Stateless && !misplaced {
		return o.Bytes(), nil
	}
	content, err := rawjson.Elements(o.Get("content"), rawjson.Lenient)
	if err != nil {
		content = nil
	}
	changed := false
	if r.Stateless {
		for i, block := range content {
			if !knownContent(block) {
				content[i], changed = textBlock(block), true
			}
		}
	}
	if misplaced {
		o.Delete("structuredContent")
		if rawjson.Kind(structured) != 'n' { // null says as much as its absence
			content, changed = append(content, textBlock(structured)), true
		}
	}
	if changed {
		o.Set("content", append(append([]byte{'['}, bytes.Join(content, []byte{','})...), ']'))
	}
	return o.Bytes(), nil
}

func knownContent(block []byte) bool {
	o, err := rawjson.ParseObject(block, rawjson.Lenient)
	if err != nil {
		return false
	}
	switch typ, _ := o.String("type"); typ {
	case "text", "image", "audio", "resource", "resource_link":
		return true
	default:
		return false
	}
}

// textBlock wraps any raw JSON into a text content block.
func textBlock(raw []byte) []byte {
	return append(append([]byte(`{"type":"text","text":`), rawjson.Quote(string(raw))...), '}')
}

// bridgeError returns an upstream's JSON-RPC error for the client: as it came,
// but for two numbers of older revisions that newer ones forbid, and URL
// elicitation, which only 2025-11-25 knows.
func bridgeError(raw []byte, client *Client) ([]byte, error) {
	o, err := rawjson.ParseObject(raw, rawjson.Lenient)
	if err != nil {
		return nil, fault.Upstream(fault.CodeUpstreamInvalidResponse, "the upstream's error is not an object").Because(err)
	}
	switch string(bytes.TrimSpace(o.Get("code"))) {
	case strconv.Itoa(upstream.CodeResourceNotFound):
		if client.Stateless() {
			o.Set("code", strconv.AppendInt(nil, upstream.CodeInvalidParams, 10))
		}
	case strconv.Itoa(upstream.CodeURLElicitationRequired):
		if client.Version != VersionLatestHandshake {
			message, ok := o.String("message")
			if !ok {
				message = "the tool needs you to visit a URL first"
			}
			result := rawjson.AppendString([]byte(`{"content":[{"type":"text","text":`), message)
			result = append(result, `}],"isError":true`...)
			if client.Stateless() {
				result = append(result, `,"resultType":"complete"`...)
			}
			return append(result, '}'), nil
		}
	}
	return nil, &RPCError{Raw: o.Bytes()}
}

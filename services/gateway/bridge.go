package gateway

import (
	"bytes"
	"strconv"

	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/upstream"
)

// relayed are the client capabilities that the gateway relays. A stateless
// client receives the request in an input_required result and sends its input
// with the repeated call. A handshake client receives it on its stream.
var relayed = []string{"elicitation", "sampling", "roots"}

// relayedCapabilities returns the raw object of the declared capabilities that
// the gateway can relay for this client, or nil if there are none.
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

// bridgeResponse converts the upstream server's response for the client's
// protocol version. Within one era the bytes are unchanged, except for
// structured content that handshake clients reject.
func (g *Gateway) bridgeAnswer(r *upstream.Response, client *Client) ([]byte, error) {
	switch {
	case r.Error != nil:
		return bridgeError(r.Error, client)
	case rawjson.Kind(r.Result) != '{':
		return nil, fault.Upstream(fault.CodeUpstreamInvalidResponse, "The upstream server returned a result that is not an object.")
	case client.Stateless() && r.Stateless: // structured content may be null since 2026-07-28
		return withoutNulls(r.Result, "_meta"), nil
	case client.Stateless():
		return g.addResultMeta(withoutNulls(r.Result, "_meta", "structuredContent"))
	case !r.Stateless && !bytes.Contains(r.Result, []byte(`"structuredContent"`)):
		return withoutNulls(r.Result, "_meta"), nil
	default:
		return repairResult(r)
	}
}

// withoutNulls returns a result without those named members that are null,
// because clients reject them. A result without such members is returned
// unchanged.
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

// addResultMeta adds the members that MCP 2026-07-28 requires in every result.
func (g *Gateway) addResultMeta(result []byte) ([]byte, error) {
	o, err := rawjson.ParseObject(result, rawjson.Lenient)
	if err != nil {
		return nil, fault.Upstream(fault.CodeUpstreamInvalidResponse, "The upstream server returned invalid JSON.").Because(err)
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

// repairResult converts a result for handshake clients. Their libraries reject
// structured content that is not an object and content of unknown types, and
// treat input_required as an empty success.
func repairResult(r *upstream.Response) ([]byte, error) {
	o, err := rawjson.ParseObject(r.Result, rawjson.Lenient)
	if err != nil {
		return nil, fault.Upstream(fault.CodeUpstreamInvalidResponse, "The upstream server returned invalid JSON.").Because(err)
	}
	if typ := o.Get("resultType"); r.Stateless && typ != nil {
		if !rawjson.EqualString(typ, "complete") {
			return nil, fault.Upstream(fault.CodeUpstreamInvalidResponse, "The tool requires more input, which this client can't provide. Use a client that supports elicitation.")
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
		if rawjson.Kind(structured) != 'n' { // null is equivalent to no structured content
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

// textBlock returns a text content block that contains raw JSON.
func textBlock(raw []byte) []byte {
	return append(append([]byte(`{"type":"text","text":`), rawjson.Quote(string(raw))...), '}')
}

// bridgeError converts a JSON-RPC error of an upstream server for the client.
// Stateless clients don't accept -32002 (resource not found).
func bridgeError(raw []byte, client *Client) ([]byte, error) {
	o, err := rawjson.ParseObject(raw, rawjson.Lenient)
	if err != nil {
		return nil, fault.Upstream(fault.CodeUpstreamInvalidResponse, "The upstream server returned an error that is not an object.").Because(err)
	}
	bridged := &RPCError{Raw: o.Bytes()}
	if client.Stateless() && bridged.Number() == upstream.CodeResourceNotFound {
		o.Set("code", strconv.AppendInt(nil, upstream.CodeInvalidParams, 10))
		bridged.Raw = o.Bytes()
	}
	return nil, bridged
}

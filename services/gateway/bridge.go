package gateway

import (
	"bytes"
	"strconv"

	"mcpgateway/services/fault"
	"mcpgateway/services/gateway/identity"
	"mcpgateway/services/legacy"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset"
	"mcpgateway/services/upstream"
)

// bridgeAnswer converts the upstream server's response for the client's protocol
// version. Within one era the bytes are unchanged, except for null members that
// clients reject.
func (g *Gateway) bridgeAnswer(project *toolset.Snapshot, r *upstream.Response, client *Client) ([]byte, error) {
	return g.bridgeToolResult(project, r, client, nil)
}

// bridgeToolResult is bridgeAnswer for the result of a tool, which can be nil.
func (g *Gateway) bridgeToolResult(project *toolset.Snapshot, r *upstream.Response, client *Client, tool *toolset.Tool) ([]byte, error) {
	switch {
	case r.Error != nil:
		return bridgeError(r.Error, client)
	case rawjson.Kind(r.Result) != '{':
		return nil, fault.Upstream(fault.CodeUpstreamInvalidResponse, "The upstream server returned a result that is not an object.")
	case client.Stateless() && r.Stateless: // structured content may be null since 2026-07-28
		return withoutNulls(r.Result, "_meta"), nil
	case client.Stateless():
		return g.addResultMeta(project, withoutNulls(r.Result, "_meta", "structuredContent"))
	default:
		return legacy.Result(r, outputFor(client, tool))
	}
}

// outputFor returns the form of a tool's structured content for a handshake
// client. tool can be nil.
func outputFor(client *Client, tool *toolset.Tool) legacy.Output {
	switch {
	case client.originalOutput:
		return legacy.OutputOriginal
	case tool != nil && tool.WrapsOutput:
		return legacy.OutputWrapped
	default:
		return legacy.OutputObject
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

// resultInfo returns the implementation object in results of MCP 2026-07-28.
func (g *Gateway) resultInfo(project *toolset.Snapshot) []byte {
	return identity.Brief(&project.Project, g.Version, VersionStateless)
}

// addResultMeta adds the members that MCP 2026-07-28 requires in every result.
func (g *Gateway) addResultMeta(project *toolset.Snapshot, result []byte) ([]byte, error) {
	o, err := rawjson.ParseObject(result, rawjson.Lenient)
	if err != nil {
		return nil, fault.Upstream(fault.CodeUpstreamInvalidResponse, "The upstream server returned invalid JSON.").Because(err)
	}
	if o.Get("resultType") == nil {
		o.Set("resultType", []byte(`"complete"`))
	}
	switch meta := o.Object("_meta"); {
	case meta != nil:
		meta.Set(metaServerInfo, g.resultInfo(project))
		o.Set("_meta", meta.Bytes())
	case o.Get("_meta") == nil:
		o.Set("_meta", append(append([]byte(`{"`+metaServerInfo+`":`), g.resultInfo(project)...), '}'))
	}
	return o.Bytes(), nil
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

// The first versions with content blocks that MCP 2024-11-05 doesn't have.
const (
	versionAudio        = "2025-03-26"
	versionResourceLink = "2025-06-18"
)

// supportsBlock reports whether the client's protocol version has content blocks of
// a type.
func (c *Client) supportsBlock(blockType string) bool {
	switch blockType {
	case "audio":
		return c.Version >= versionAudio
	case "resource_link":
		return c.Version >= versionResourceLink
	default:
		return true
	}
}

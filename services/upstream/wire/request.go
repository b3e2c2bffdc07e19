package wire

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"strings"

	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
)

// Reserved names in `_meta` (MCP 2026-07-28, "General fields").
const (
	metaProtocolVersion    = "io.modelcontextprotocol/protocolVersion"
	metaClientInfo         = "io.modelcontextprotocol/clientInfo"
	metaClientCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaLogLevel           = "io.modelcontextprotocol/logLevel"
	MetaServerInfo         = "io.modelcontextprotocol/serverInfo"
)

// Header names in canonical form, and media types.
const (
	HeaderSession  = "Mcp-Session-Id"
	HeaderVersion  = "Mcp-Protocol-Version"
	HeaderMethod   = "Mcp-Method"
	HeaderName     = "Mcp-Name"
	HeaderParam    = "Mcp-Param-"
	HeaderLastID   = "Last-Event-Id"
	TypeJSON       = "application/json"
	TypeEvents     = "text/event-stream"
	HeaderTrace    = "Traceparent"
	HeaderState    = "Tracestate"
	HeaderHops     = "Gateway-Hops"
	AcceptAnswers  = TypeJSON + ", " + TypeEvents
	base64Sentinel = "=?base64?"
)

// StatelessRequest returns a request with the metadata that revision 2026-07-28
// requires, and the value of the Mcp-Name header, or "" for methods without
// one. The rest of params and `_meta` is unchanged.
func StatelessRequest(id int64, method string, params *rawjson.Object, capabilities []byte, self Identity) (body []byte, name string, err error) {
	switch method {
	case "tools/call", "prompts/get":
		name, _ = params.String("name")
	case "resources/read":
		name, _ = params.String("uri")
	case "tasks/get", "tasks/update", "tasks/cancel":
		name, _ = params.String("taskId")
	}
	before := params.Get("_meta")
	meta, err := self.statelessMeta(before, capabilities)
	if err != nil {
		return nil, "", err
	}
	body = make([]byte, 0, params.RawLen()+len(meta)+len(method)+96)
	body = append(appendHead(body, id, method), `,"params":`...)
	if before == nil {
		return append(params.AppendWith(body, "_meta", meta), '}'), name, nil
	}
	edited := params.Clone()
	edited.Set("_meta", meta)
	return append(edited.AppendTo(body), '}'), name, nil
}

// Identity is the identity of the gateway as an MCP client.
type Identity struct {
	info []byte // clientInfo, a raw JSON object
	meta []byte // the `_meta` of a stateless request without `_meta` and capabilities
}

// NewIdentity returns the identity of the gateway in this version.
func NewIdentity(version string) Identity {
	info := append(rawjson.AppendString([]byte(`{"name":"gateway","version":`), version), '}')
	return Identity{info: info, meta: Identity{info: info}.newMeta([]byte("{}"))}
}

func (x Identity) newMeta(capabilities []byte) []byte {
	out := make([]byte, 0, 160+len(x.info)+len(capabilities))
	out = append(out, `{"`+metaProtocolVersion+`":"`+Revision20260728+`","`+metaClientInfo+`":`...)
	out = append(append(out, x.info...), `,"`+metaClientCapabilities+`":`...)
	return append(append(out, capabilities...), '}')
}

// InitializeParams returns the params of the initialize request, which offers a
// revision. They fix the client capabilities, a raw object or nil, for the whole
// session.
func (x Identity) InitializeParams(revision string, capabilities []byte) []byte {
	if capabilities == nil {
		capabilities = []byte("{}")
	}
	p := append([]byte(`{"protocolVersion":"`+revision+`","capabilities":`), capabilities...)
	p = append(append(p, `,"clientInfo":`...), x.info...)
	return append(p, '}')
}

// statelessMeta returns the `_meta` that revision 2026-07-28 requires. The
// caller must not modify it. raw is the original `_meta`, and capabilities are
// those of the client; both may be nil.
func (x Identity) statelessMeta(raw, capabilities []byte) ([]byte, error) {
	switch {
	case raw == nil && capabilities == nil:
		return x.meta, nil
	case raw == nil:
		return x.newMeta(capabilities), nil
	case capabilities == nil:
		capabilities = []byte("{}")
	}
	meta, err := rawjson.ParseObject(raw, rawjson.Lenient)
	if err != nil {
		return nil, fault.Invalid(`"_meta" is not an object: %v.`, err)
	}
	meta.Set(metaProtocolVersion, []byte(`"`+Revision20260728+`"`))
	meta.Set(metaClientInfo, x.info)
	meta.Set(metaClientCapabilities, capabilities)
	return meta.Bytes(), nil
}

// HandshakeParams returns params without the metadata that only revision
// 2026-07-28 defines. The rest of `_meta` is unchanged: progressToken,
// traceparent, tracestate, baggage and everything unknown.
func HandshakeParams(params []byte) ([]byte, error) {
	// A reserved name can contain escapes, and only \u can escape letters.
	// Without either there is nothing to remove.
	if !bytes.Contains(params, []byte("modelcontextprotocol")) && !bytes.Contains(params, []byte(`\u`)) {
		return params, nil
	}
	o, err := rawjson.ParseObject(params, rawjson.Lenient)
	if err != nil {
		return nil, InvalidParams(err)
	}
	meta := o.Object("_meta")
	if meta == nil {
		return params, nil
	}
	removed := false
	for _, name := range []string{metaProtocolVersion, metaClientInfo, metaClientCapabilities, metaLogLevel} {
		removed = meta.Delete(name) || removed
	}
	switch {
	case !removed:
		return params, nil
	case meta.Len() == 0:
		o.Delete("_meta")
	default:
		o.Set("_meta", meta.Bytes())
	}
	return o.Bytes(), nil
}

// InvalidParams returns the fault for params that are not an object.
func InvalidParams(err error) *fault.Fault {
	return fault.Invalid(`"params" is not an object: %v.`, err)
}

// ProgressToken returns the raw progress token of params, or nil.
func ProgressToken(params []byte) []byte {
	if !bytes.Contains(params, []byte("progressToken")) {
		return nil
	}
	o, err := rawjson.ParseObject(params, rawjson.Lenient)
	if err != nil {
		return nil
	}
	return o.Object("_meta").Get("progressToken")
}

// HeaderValue returns s as a header value. A value that a header cannot
// represent is encoded as base64 (MCP 2026-07-28, "Value encoding").
func HeaderValue(s string) string {
	plain := !strings.HasPrefix(s, base64Sentinel) || !strings.HasSuffix(s, "?=")
	for i := range len(s) {
		edge := i == 0 || i == len(s)-1
		if s[i] < ' ' || s[i] > '~' || edge && s[i] == ' ' {
			plain = false
			break
		}
	}
	if plain {
		return s
	}
	return base64Sentinel + base64.StdEncoding.EncodeToString([]byte(s)) + "?="
}

// RequestHeader returns the header of one request: the configured fields,
// overridden by the fixed ones. Configured values for protocol headers are
// ignored, because they could contradict the body.
func RequestHeader(configured, fixed http.Header) http.Header {
	h := make(http.Header, len(configured)+len(fixed)+3)
	for name, values := range configured {
		if name = http.CanonicalHeaderKey(name); !isProtocolHeader(name) {
			h[name] = values
		}
	}
	for name, values := range fixed {
		h[name] = values
	}
	return h
}

// SetTrace forwards the client's trace (W3C Trace Context, section 3).
// Configured values of these headers would be another trace, so they are
// replaced.
func SetTrace(h http.Header, parent, state string) {
	if parent == "" {
		return
	}
	delete(h, HeaderState)
	h[HeaderTrace] = []string{parent}
	if state != "" {
		h[HeaderState] = []string{state}
	}
}

func isProtocolHeader(name string) bool {
	switch name {
	case HeaderHops, HeaderSession, HeaderVersion, HeaderMethod, HeaderName, HeaderLastID,
		"Accept", "Accept-Encoding", "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Transfer-Encoding":
		return true
	}
	return strings.HasPrefix(name, HeaderParam)
}

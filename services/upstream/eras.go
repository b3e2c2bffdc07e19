package upstream

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"strings"

	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
)

// The protocol revisions that change how the gateway speaks.
const (
	revision20241105 = "2024-11-05" // the oldest understood
	revision20250618 = "2025-06-18" // the first with a version header
	revision20251125 = "2025-11-25" // the newest with a handshake
	revision20260728 = "2026-07-28" // the first without sessions
)

// Reserved names in `_meta` (MCP 2026-07-28, "General fields").
const (
	metaProtocolVersion    = "io.modelcontextprotocol/protocolVersion"
	metaClientInfo         = "io.modelcontextprotocol/clientInfo"
	metaClientCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaLogLevel           = "io.modelcontextprotocol/logLevel"
	metaServerInfo         = "io.modelcontextprotocol/serverInfo"
)

// Header names, in the spelling of net/http.
const (
	headerSession  = "Mcp-Session-Id"
	headerVersion  = "Mcp-Protocol-Version"
	headerMethod   = "Mcp-Method"
	headerName     = "Mcp-Name"
	headerParam    = "Mcp-Param-"
	headerLastID   = "Last-Event-Id"
	typeJSON       = "application/json"
	typeEvents     = "text/event-stream"
	headerTrace    = "Traceparent"
	headerState    = "Tracestate"
	headerHops     = "Gateway-Hops"
	acceptAnswers  = typeJSON + ", " + typeEvents
	base64Sentinel = "=?base64?"
)

// isRevision reports whether v has the form of a protocol revision, a date.
func isRevision(v string) bool {
	if len(v) != len(revision20241105) {
		return false
	}
	for i := range len(v) {
		if dash := i == 4 || i == 7; dash != (v[i] == '-') || !dash && (v[i] < '0' || v[i] > '9') {
			return false
		}
	}
	return true
}

// statelessRequest returns a request with the metadata that revision
// 2026-07-28 asks for, and the value of the Mcp-Name header, which is empty
// for methods that have none. Whatever else params and their `_meta` hold
// stays as it is.
func statelessRequest(id int64, method string, params *rawjson.Object, capabilities []byte, self identity) (body []byte, name string, err error) {
	switch method {
	case "tools/call", "prompts/get":
		name, _ = params.String("name")
	case "resources/read":
		name, _ = params.String("uri")
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

// identity is as whom upstreams see the gateway.
type identity struct {
	info []byte // clientInfo, a raw JSON object
	meta []byte // the `_meta` of a stateless request that has nothing of its own to say
}

func newIdentity(version string) identity {
	info := append(rawjson.AppendString([]byte(`{"name":"gateway","version":`), version), '}')
	return identity{info: info, meta: identity{info: info}.newMeta([]byte("{}"))}
}

func (x identity) newMeta(capabilities []byte) []byte {
	out := make([]byte, 0, 160+len(x.info)+len(capabilities))
	out = append(out, `{"`+metaProtocolVersion+`":"`+revision20260728+`","`+metaClientInfo+`":`...)
	out = append(append(out, x.info...), `,"`+metaClientCapabilities+`":`...)
	return append(append(out, capabilities...), '}')
}

// statelessMeta returns the `_meta` of a request with what revision 2026-07-28
// asks for, which must not be changed; raw is what it was, or nil, and so are
// the capabilities of the client.
func (x identity) statelessMeta(raw, capabilities []byte) ([]byte, error) {
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
		return nil, fault.Invalid(`"_meta" is not an object: %v`, err)
	}
	meta.Set(metaProtocolVersion, []byte(`"`+revision20260728+`"`))
	meta.Set(metaClientInfo, x.info)
	meta.Set(metaClientCapabilities, capabilities)
	return meta.Bytes(), nil
}

// handshakeParams returns params without the metadata that only revision
// 2026-07-28 knows. What else `_meta` holds stays: progressToken,
// traceparent, tracestate, baggage and everything unknown.
func handshakeParams(params []byte) ([]byte, error) {
	// A reserved name may be written with escapes, and letters can only be
	// escaped by \u. Without either there is nothing to remove.
	if !bytes.Contains(params, []byte("modelcontextprotocol")) && !bytes.Contains(params, []byte(`\u`)) {
		return params, nil
	}
	o, err := rawjson.ParseObject(params, rawjson.Lenient)
	if err != nil {
		return nil, invalidParams(err)
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

func invalidParams(err error) *fault.Fault {
	return fault.Invalid(`"params" is not an object: %v`, err)
}

// progressToken returns the raw progress token of params, or nil.
func progressToken(params []byte) []byte {
	if !bytes.Contains(params, []byte("progressToken")) {
		return nil
	}
	o, err := rawjson.ParseObject(params, rawjson.Lenient)
	if err != nil {
		return nil
	}
	return o.Object("_meta").Get("progressToken")
}

// headerValue returns s as a header value. What a header cannot carry
// faithfully is wrapped into base64 (MCP 2026-07-28, "Value encoding").
func headerValue(s string) string {
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

// requestHeader returns the header of one request: what the operator
// configured, overridden by what the protocol fixes. Configured values never
// reach the names that the protocol owns, or they could contradict the body.
func requestHeader(configured, fixed http.Header) http.Header {
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

// setTrace forwards the trace of the client (W3C Trace Context, section 3).
// Values configured under these names would be another trace.
func setTrace(h http.Header, parent, state string) {
	if parent == "" {
		return
	}
	delete(h, headerState)
	h[headerTrace] = []string{parent}
	if state != "" {
		h[headerState] = []string{state}
	}
}

func isProtocolHeader(name string) bool {
	switch name {
	case headerHops, headerSession, headerVersion, headerMethod, headerName, headerLastID,
		"Accept", "Accept-Encoding", "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Transfer-Encoding":
		return true
	}
	return strings.HasPrefix(name, headerParam)
}

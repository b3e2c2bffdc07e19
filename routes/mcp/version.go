package mcp

import (
	"bytes"
	"encoding/base64"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/routes/mcp/forward"
	"mcpgateway/services/gateway"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset"
	"mcpgateway/web"
)

// Headers of the MCP HTTP transports.
const (
	HeaderSession = "Mcp-Session-Id"
	headerVersion = "Mcp-Protocol-Version"
	headerMethod  = "Mcp-Method"
	headerName    = "Mcp-Name"
)

// metaLogLevel is the _meta key for the log level of a stateless request.
const metaLogLevel = "io.modelcontextprotocol/logLevel"

// newClient returns the client of a request without a version, a session and
// capabilities.
func newClient(c *fiber.Ctx, in *admitted) *gateway.Client {
	event := web.EventOf(c)
	trace := event.Trace()
	return &gateway.Client{
		Principal: in.principal, Forwarded: forward.Headers(c, in.view), Version: gateway.VersionAssumed, RequestID: event.RequestID, TraceParent: trace.Parent, TraceState: trace.State, Hops: hopsOf(c),
	}
}

// client returns the client of a request after the checks of its protocol
// version. A request is stateless (2026-07-28) if its header or its _meta has
// that version. All others use a handshake version. Invalid requests return an
// error response, and an invalid session NOT_FOUND.
func (e *Endpoint) client(c *fiber.Ctx, in *admitted, messages []*message, batch bool) (*gateway.Client, *errorResponse, error) {
	client := newClient(c, in)
	header := c.Get(headerVersion)
	var meta *rawjson.Object
	first := messages[0]
	if !batch {
		meta = metaOf(first.params)
	}
	declared, _ := meta.String(gateway.MetaProtocolVersion)
	if header != "" && declared != "" && header != declared {
		return nil, badStateless(first.id, codeHeaderMismatch, "The MCP-Protocol-Version header and params._meta have different versions. Send the same version in both."), nil
	}
	for _, version := range []string{header, declared} {
		if version != "" && !gateway.SupportsVersion(version) {
			return nil, unsupportedVersion(first.id, version), nil
		}
	}
	switch {
	case header >= gateway.VersionStateless || declared >= gateway.VersionStateless:
		client.Version = gateway.VersionStateless
		if problem := checkStateless(c, client, first, meta, header, batch); problem != nil {
			return nil, problem, nil
		}
		if problem := checkParamHeaders(c, in.view, first); problem != nil {
			return nil, problem, nil
		}
		return client, nil, nil
	case header != "":
		client.Version = header
	}
	if batch && header != "" && header != gateway.VersionAssumed {
		return nil, invalidRequest(nil, "Protocol version "+header+" doesn't support batches. Send one message per request."), nil
	}
	if id := c.Get(HeaderSession); id != "" && first.method != "initialize" {
		session, err := e.Sessions.Open(id, in.principal.ProjectID(), in.principal)
		if err != nil {
			return nil, nil, err
		}
		client.SessionID, client.Capabilities = session.Key(), session.Capabilities
		client.LogLevel = e.Levels.Of(client.SessionID)
		client.Push = e.live.push(client.SessionID)
		if header == "" {
			client.Version = session.Version
		}
	}
	return client, nil, nil
}

// checkStateless validates a request of MCP 2026-07-28, "Streamable HTTP": the
// headers are required and must match the body, and the request must contain
// the client's capabilities. It sets Capabilities and LogLevel of client, and
// returns the error response to an invalid request, or nil.
func checkStateless(c *fiber.Ctx, client *gateway.Client, m *message, meta *rawjson.Object, header string, batch bool) *errorResponse {
	switch {
	case batch:
		return invalidRequest(nil, "Protocol version "+gateway.VersionStateless+" doesn't support batches. Send one message per request.")
	case !m.isRequest():
		return nil
	case meta.Get(gateway.MetaProtocolVersion) == nil:
		return badStateless(m.id, codeInvalidParams, "params._meta must have "+gateway.MetaProtocolVersion+".")
	case header == "":
		return badStateless(m.id, codeHeaderMismatch, "The MCP-Protocol-Version header is missing. Send the same version as in params._meta.")
	}
	if got := c.Get(headerMethod); got != m.method {
		return badStateless(m.id, codeHeaderMismatch, "The Mcp-Method header must be "+m.method+".")
	}
	if member := namedBy(m.method); member != "" {
		params, _ := rawjson.ParseObject(m.params, rawjson.Strict)
		name, ok := params.String(member)
		got, valid := decodeHeader(c.Get(headerName))
		if ok && (!valid || got != name) {
			return badStateless(m.id, codeHeaderMismatch, "The Mcp-Name header must equal params."+member+".")
		}
	}
	capabilities := meta.Get(gateway.MetaClientCapabilities)
	if rawjson.Kind(capabilities) != '{' {
		return badStateless(m.id, codeInvalidParams, "params._meta must have "+gateway.MetaClientCapabilities+", an object.")
	}
	client.Capabilities = capabilities
	client.LogLevel, _ = meta.String(metaLogLevel)
	return nil
}

// checkParamHeaders checks that the Mcp-Param headers of a tools/call match its
// arguments, as required by the tool's schema (MCP 2026-07-28, SEP-2243).
func checkParamHeaders(c *fiber.Ctx, project *toolset.Snapshot, m *message) *errorResponse {
	if m.method != methodCall {
		return nil
	}
	params, err := rawjson.ParseObject(m.params, rawjson.Strict)
	if err != nil {
		return nil // rejected later
	}
	name, _ := params.String("name")
	tool, err := project.Resolve(name)
	if err != nil {
		return nil
	}
	header := func(name string) (string, bool) {
		v := c.Get(name)
		if v == "" {
			return "", false
		}
		text, ok := decodeHeader(v)
		return text, ok
	}
	if wrong := tool.ClientHeaders.Disagreement(header, params); wrong != "" {
		return badStateless(m.id, codeHeaderMismatch, wrong)
	}
	return nil
}

// declaredCapabilities returns the raw capabilities in the params of
// initialize, or nil.
func declaredCapabilities(params []byte) []byte {
	o, err := rawjson.ParseObject(params, rawjson.Lenient)
	if err != nil {
		return nil
	}
	return o.Get("capabilities")
}

// cancelledID returns the raw request id in the params of
// notifications/cancelled, or nil.
func cancelledID(params []byte) []byte {
	o, err := rawjson.ParseObject(params, rawjson.Lenient)
	if err != nil {
		return nil
	}
	return o.Get("requestId")
}

// namedBy returns the parameter that the Mcp-Name header of a method must
// repeat, or "".
func namedBy(method string) string {
	switch method {
	case methodCall, "prompts/get":
		return "name"
	case "resources/read":
		return "uri"
	case "tasks/get", "tasks/update", "tasks/cancel":
		return "taskId"
	default:
		return ""
	}
}

// decodeHeader returns the text of a header value. Text with characters that
// are invalid in headers is base64 between sentinels (MCP 2026-07-28). It
// returns false for invalid base64.
func decodeHeader(v string) (string, bool) {
	inner, ok := strings.CutPrefix(v, "=?base64?")
	if !ok {
		return v, true
	}
	if inner, ok = strings.CutSuffix(inner, "?="); !ok {
		return v, true // a single sentinel is literal text
	}
	b, err := base64.StdEncoding.DecodeString(inner)
	return string(b), err == nil
}

// metaOf returns the _meta object of raw params, or nil. It parses only params
// that contain the name, because most calls have no _meta.
func metaOf(params []byte) *rawjson.Object {
	if !bytes.Contains(params, []byte(`"_meta"`)) {
		return nil
	}
	o, err := rawjson.ParseObject(params, rawjson.Lenient)
	if err != nil {
		return nil
	}
	return o.Object("_meta")
}

func badStateless(id []byte, number int, text string) *errorResponse {
	return refuse(fiber.StatusBadRequest, id, number, text)
}

func unsupportedVersion(id []byte, requested string) *errorResponse {
	a := refuse(fiber.StatusBadRequest, id, codeUnsupportedVersion, "Unsupported protocol version. Use one of data.supported.")
	a.data.Supported, a.data.Requested = gateway.Versions(), requested
	return a
}

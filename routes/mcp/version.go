package mcp

import (
	"bytes"
	"encoding/base64"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/access"
	"mcpgateway/services/gateway"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset"
	"mcpgateway/web"
)

// Headers of MCP's HTTP transports.
const (
	HeaderSession = "Mcp-Session-Id"
	headerVersion = "Mcp-Protocol-Version"
	headerMethod  = "Mcp-Method"
	headerName    = "Mcp-Name"
)

// metaLogLevel is where a stateless request asks for log messages.
const metaLogLevel = "io.modelcontextprotocol/logLevel"

// newClient returns the client of a request that says nothing of itself.
func newClient(c *fiber.Ctx, principal access.Principal) *gateway.Client {
	event := web.EventOf(c)
	trace := event.Trace()
	return &gateway.Client{
		Principal: principal, Version: gateway.VersionAssumed, RequestID: event.RequestID, TraceParent: trace.Parent, TraceState: trace.State, Hops: hopsOf(c),
	}
}

// client finds out which revision the request speaks and makes the checks
// that the revision asks for. A request is of 2026-07-28 when its header or
// its _meta says so; everything else is of the handshake revisions.
func (e *Endpoint) client(c *fiber.Ctx, project *toolset.Snapshot, principal access.Principal, messages []*message, batch bool) (*gateway.Client, *rpcAnswer, error) {
	client := newClient(c, principal)
	header := c.Get(headerVersion)
	var meta *rawjson.Object
	first := messages[0]
	if !batch {
		meta = metaOf(first.params)
	}
	declared, _ := meta.String(gateway.MetaProtocolVersion)
	if header != "" && declared != "" && header != declared {
		return nil, badStateless(first.id, codeHeaderMismatch, "MCP-Protocol-Version and params._meta name different revisions"), nil
	}
	for _, version := range []string{header, declared} {
		if version != "" && !gateway.Speaks(version) {
			return nil, unsupportedVersion(first.id, version), nil
		}
	}
	switch {
	case header >= gateway.VersionStateless || declared >= gateway.VersionStateless:
		client.Version = gateway.VersionStateless
		if problem := checkStateless(c, client, first, meta, header, batch); problem != nil {
			return nil, problem, nil
		}
		if problem := checkParamHeaders(c, project, first); problem != nil {
			return nil, problem, nil
		}
		return client, nil, nil
	case header != "":
		client.Version = header
	}
	if batch && header != "" && header != gateway.VersionAssumed {
		return nil, invalidRequest(nil, "revision "+header+" has no batches: send one message"), nil
	}
	if id := c.Get(HeaderSession); id != "" && first.method != "initialize" {
		session, err := e.Sessions.Open(id, project.Project.ID, principal)
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

// checkStateless makes the checks of MCP 2026-07-28, "Streamable HTTP": the
// headers must be there and agree with the body, and the request must say
// what its client can do.
func checkStateless(c *fiber.Ctx, client *gateway.Client, m *message, meta *rawjson.Object, header string, batch bool) *rpcAnswer {
	switch {
	case batch:
		return invalidRequest(nil, "revision "+gateway.VersionStateless+" has no batches: send one message")
	case !m.isRequest():
		return nil
	case meta.Get(gateway.MetaProtocolVersion) == nil:
		return badStateless(m.id, codeInvalidParams, "params._meta needs "+gateway.MetaProtocolVersion)
	case header == "":
		return badStateless(m.id, codeHeaderMismatch, "the header MCP-Protocol-Version is missing")
	}
	if got := c.Get(headerMethod); got != m.method {
		return badStateless(m.id, codeHeaderMismatch, "the header Mcp-Method must be "+m.method)
	}
	if member := namedBy(m.method); member != "" {
		params, _ := rawjson.ParseObject(m.params, rawjson.Strict)
		name, ok := params.String(member)
		got, valid := decodeHeader(c.Get(headerName))
		if ok && (!valid || got != name) {
			return badStateless(m.id, codeHeaderMismatch, "the header Mcp-Name must be the same as params."+member)
		}
	}
	capabilities := meta.Get(gateway.MetaClientCapabilities)
	if rawjson.Kind(capabilities) != '{' {
		return badStateless(m.id, codeInvalidParams, "params._meta needs "+gateway.MetaClientCapabilities+", an object")
	}
	client.Capabilities = capabilities
	client.LogLevel, _ = meta.String(metaLogLevel)
	return nil
}

// checkParamHeaders checks that the Mcp-Param headers of a tools/call repeat
// its arguments as the tool's schema asks (MCP 2026-07-28, SEP-2243).
func checkParamHeaders(c *fiber.Ctx, project *toolset.Snapshot, m *message) *rpcAnswer {
	if m.method != methodCall {
		return nil
	}
	params, err := rawjson.ParseObject(m.params, rawjson.Strict)
	if err != nil {
		return nil // refused as such later
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
	if wrong := tool.ParamHeaders.Disagreement(header, params); wrong != "" {
		return badStateless(m.id, codeHeaderMismatch, wrong)
	}
	return nil
}

// declaredCapabilities returns the raw capabilities of initialize's params,
// or nil.
func declaredCapabilities(params []byte) []byte {
	o, err := rawjson.ParseObject(params, rawjson.Lenient)
	if err != nil {
		return nil
	}
	return o.Get("capabilities")
}

// cancelledID returns the raw id that the params of notifications/cancelled
// name, or nil.
func cancelledID(params []byte) []byte {
	o, err := rawjson.ParseObject(params, rawjson.Lenient)
	if err != nil {
		return nil
	}
	return o.Get("requestId")
}

// namedBy returns the parameter that Mcp-Name repeats for a method, or "".
func namedBy(method string) string {
	switch method {
	case methodCall, "prompts/get":
		return "name"
	case "resources/read":
		return "uri"
	default:
		return ""
	}
}

// decodeHeader returns the text of a header value, which is base64 between
// sentinels when it holds characters that headers cannot (MCP 2026-07-28).
func decodeHeader(v string) (string, bool) {
	inner, ok := strings.CutPrefix(v, "=?base64?")
	if !ok {
		return v, true
	}
	if inner, ok = strings.CutSuffix(inner, "?="); !ok {
		return v, true // with one sentinel only it is literal text
	}
	b, err := base64.StdEncoding.DecodeString(inner)
	return string(b), err == nil
}

// metaOf returns the _meta object of raw params, or nil. Most calls have none
// and are not parsed for it.
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

func badStateless(id []byte, number int, text string) *rpcAnswer {
	return refuse(fiber.StatusBadRequest, id, number, text)
}

func unsupportedVersion(id []byte, requested string) *rpcAnswer {
	a := refuse(fiber.StatusBadRequest, id, codeUnsupportedVersion, "this protocol version is not served here")
	a.data.Supported, a.data.Requested = gateway.Versions(), requested
	return a
}

package gateway

import (
	"slices"

	"mcpgateway/services/fault"
	"mcpgateway/services/gateway/identity"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset"
	"mcpgateway/services/toolset/extensions"
)

// Protocol versions with special handling.
const (
	// VersionAssumed is the version of a request without a version header (MCP
	// 2025-06-18, "Protocol Version Header").
	VersionAssumed = "2025-03-26"
	// VersionLatestHandshake is offered to a client that requests an unknown
	// version.
	VersionLatestHandshake = "2025-11-25"
	// VersionStructured is the first version with structured content.
	VersionStructured = "2025-06-18"
	// VersionStateless is the first version without handshake and sessions.
	VersionStateless = "2026-07-28"
)

// HandshakeVersions returns the versions that start with initialize, oldest
// first.
func HandshakeVersions() []string {
	return []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}
}

// Versions returns all supported protocol versions, oldest first.
func Versions() []string { return append(HandshakeVersions(), VersionStateless) }

// SupportsVersion reports whether the protocol version is supported.
func SupportsVersion(version string) bool {
	return version == VersionStateless || slices.Contains(HandshakeVersions(), version)
}

// NegotiatedVersion returns the protocol version for an initialize request with
// the raw params: the requested one if it is supported, or else the latest.
func NegotiatedVersion(params []byte) string {
	if o, err := rawjson.ParseObject(params, rawjson.Lenient); err == nil {
		if offered, _ := o.String("protocolVersion"); slices.Contains(HandshakeVersions(), offered) {
			return offered
		}
	}
	return VersionLatestHandshake
}

// initialize handles the handshake (specification, "MCP methods").
func (g *Gateway) initialize(project *toolset.Snapshot, params *rawjson.Object) ([]byte, error) {
	if params == nil {
		return nil, fault.Invalid("initialize requires params with a protocolVersion.")
	}
	offered, ok := params.String("protocolVersion")
	if !ok {
		return nil, fault.Invalid("protocolVersion must be a string such as %q.", VersionLatestHandshake)
	}
	version := VersionLatestHandshake
	if slices.Contains(HandshakeVersions(), offered) {
		version = offered
	}
	b := append([]byte(`{"protocolVersion":`), rawjson.Quote(version)...)
	b = append(appendCapabilities(append(b, `,"capabilities":`...), project, version), `,"serverInfo":`...)
	b = append(b, identity.Full(&project.Project, g.Version, version)...)
	b = appendInstructions(b, project)
	return append(b, '}'), nil
}

// appendCapabilities appends the server capabilities of a project: tools, and
// those that at least one of its servers has and the gateway relays, with the
// extensions of its servers. version is that of the client.
func appendCapabilities(b []byte, project *toolset.Snapshot, version string) []byte {
	b = append(b, `{"tools":{"listChanged":true}`...)
	c := project.Capabilities
	resources := `,"resources":{"listChanged":true}`
	if c.Subscribe {
		resources = `,"resources":{"listChanged":true,"subscribe":true}`
	}
	for _, part := range []struct {
		offered bool
		raw     string
	}{
		{c.Prompts, `,"prompts":{"listChanged":true}`},
		{c.Resources, resources},
		{c.Completions, `,"completions":{}`},
		{c.Logging, `,"logging":{}`},
	} {
		if part.offered {
			b = append(b, part.raw...)
		}
	}
	b = appendTasks(b, project, version)
	if all := extensions.Of(project, supportedExtensions(project, version)); all != nil {
		b = append(append(b, `,"extensions":`...), all...)
	}
	return append(b, '}')
}

// supportedExtensions returns the official extensions that the gateway serves
// besides ui.
func supportedExtensions(project *toolset.Snapshot, version string) extensions.Supported {
	return extensions.Supported{Tasks: offersTaskExtension(project, version), Skills: project.Capabilities.Skills}
}

// appendInstructions appends the instructions of a project, if any.
func appendInstructions(b []byte, project *toolset.Snapshot) []byte {
	text := identity.Instructions(project)
	if text == "" {
		return b
	}
	return append(append(b, `,"instructions":`...), rawjson.Quote(text)...)
}

package gateway

import (
	"slices"
	"strings"

	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset"
)

// Protocol revisions that mark a turn.
const (
	// VersionAssumed is what a request without a version header speaks (MCP
	// 2025-06-18, "Protocol Version Header").
	VersionAssumed = "2025-03-26"
	// VersionLatestHandshake is offered to a client whose own is unknown.
	VersionLatestHandshake = "2025-11-25"
	// VersionStructured is the first revision with structured content.
	VersionStructured = "2025-06-18"
	// VersionStateless is the first revision without handshake and sessions.
	VersionStateless = "2026-07-28"
)

// HandshakeVersions returns the revisions that begin with initialize, oldest first.
func HandshakeVersions() []string {
	return []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}
}

// Versions returns every revision that clients may speak, oldest first.
func Versions() []string { return append(HandshakeVersions(), VersionStateless) }

// Speaks reports whether clients may speak the revision.
func Speaks(version string) bool {
	return version == VersionStateless || slices.Contains(HandshakeVersions(), version)
}

// NegotiatedVersion returns the revision that an initialize request with the
// raw params gets: the offered one when it is served, else the latest.
func NegotiatedVersion(params []byte) string {
	if o, err := rawjson.ParseObject(params, rawjson.Lenient); err == nil {
		if offered, _ := o.String("protocolVersion"); slices.Contains(HandshakeVersions(), offered) {
			return offered
		}
	}
	return VersionLatestHandshake
}

// initialize answers the handshake (specification, "MCP methods").
func (g *Gateway) initialize(project *toolset.Snapshot, params *rawjson.Object) ([]byte, error) {
	if params == nil {
		return nil, fault.Invalid("initialize needs params with a protocolVersion")
	}
	offered, ok := params.String("protocolVersion")
	if !ok {
		return nil, fault.Invalid("protocolVersion must be a string such as %q", VersionLatestHandshake)
	}
	version := VersionLatestHandshake
	if slices.Contains(HandshakeVersions(), offered) {
		version = offered
	}
	b := append([]byte(`{"protocolVersion":`), rawjson.Quote(version)...)
	b = append(appendCapabilities(append(b, `,"capabilities":`...), project), `,"serverInfo":`...)
	b = append(b, g.serverInfo()...)
	b = appendInstructions(b, project)
	return append(b, '}'), nil
}

// appendCapabilities appends the server capabilities of a project: tools, and
// what at least one of its servers offers and the gateway passes on.
func appendCapabilities(b []byte, project *toolset.Snapshot) []byte {
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
	return append(b, '}')
}

// serverInfo returns the gateway's own implementation object.
func (g *Gateway) serverInfo() []byte {
	return append(append([]byte(`{"name":"gateway","version":`), rawjson.Quote(g.Version)...), '}')
}

// maxInstructions bounds the merged instructions, which clients put into
// their model's context.
const maxInstructions = 16 << 10

// appendInstructions adds the instructions of the project's servers, each
// under its alias, when there are any.
func appendInstructions(b []byte, project *toolset.Snapshot) []byte {
	var text strings.Builder
	for _, server := range project.Servers {
		if !server.Config.Enabled || server.Inventory == nil || server.Inventory.Instructions == "" {
			continue
		}
		part := "## " + server.Config.Alias + "\n\n" + server.Inventory.Instructions + "\n"
		if text.Len() > 0 {
			part = "\n" + part
		}
		if text.Len()+len(part) > maxInstructions {
			continue
		}
		text.WriteString(part)
	}
	if text.Len() == 0 {
		return b
	}
	return append(append(b, `,"instructions":`...), rawjson.Quote(text.String())...)
}

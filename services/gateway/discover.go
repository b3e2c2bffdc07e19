package gateway

import (
	"encoding/json"
	"strconv"

	"mcpgateway/services/gateway/identity"
	"mcpgateway/services/toolset"
)

// Members of _meta that MCP 2026-07-28 reserves.
const (
	MetaProtocolVersion    = "io.modelcontextprotocol/protocolVersion"
	MetaClientCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaLogLevel           = "io.modelcontextprotocol/logLevel"
	metaServerInfo         = "io.modelcontextprotocol/serverInfo"
)

// listTTL is the time in milliseconds for which a stateless client may cache a
// list.
const listTTL = 30_000

// discover handles server/discover (MCP 2026-07-28, "Discovery"). It includes
// the older protocol versions, because the endpoint serves both eras.
func (g *Gateway) discover(project *toolset.Snapshot) []byte {
	versions, _ := json.Marshal(Versions()) // a list of constant strings
	b := append([]byte(`{"resultType":"complete","supportedVersions":`), versions...)
	b = appendCapabilities(append(b, `,"capabilities":`...), project, VersionStateless)
	b = appendInstructions(b, project)
	return appendCacheHints(b, project, identity.Full(&project.Project, g.Version, VersionStateless))
}

// appendCacheHints appends the end of a cacheable result for stateless clients,
// up to its closing brace. The result is private to the project's clients. It
// must not be cached while a server of the project is failing. info is the
// implementation object.
func appendCacheHints(b []byte, project *toolset.Snapshot, info []byte) []byte {
	ttl := listTTL
	for _, server := range project.Servers {
		if server.Config.IsOffered() && (server.Inventory == nil || server.Inventory.ErrorCode != "") {
			ttl = 0
		}
	}
	b = append(b, `,"ttlMs":`...)
	b = strconv.AppendInt(b, int64(ttl), 10)
	b = append(b, `,"cacheScope":"private","_meta":{"`+metaServerInfo+`":`...)
	b = append(b, info...)
	return append(b, `}}`...)
}

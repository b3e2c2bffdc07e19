package gateway

import (
	"encoding/json"
	"strconv"

	"mcpgateway/services/toolset"
)

// Names of the members that MCP 2026-07-28 reserves in `_meta`.
const (
	MetaProtocolVersion    = "io.modelcontextprotocol/protocolVersion"
	MetaClientCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaLogLevel           = "io.modelcontextprotocol/logLevel"
	metaServerInfo         = "io.modelcontextprotocol/serverInfo"
)

// listTTL is how long a stateless client may reuse a list, in milliseconds.
const listTTL = 30_000

// discover answers server/discover (MCP 2026-07-28, "Discovery"). The older
// revisions are named too: the endpoint serves both eras.
func (g *Gateway) discover(project *toolset.Snapshot) []byte {
	versions, _ := json.Marshal(Versions()) // a list of constant strings
	b := append([]byte(`{"resultType":"complete","supportedVersions":`), versions...)
	b = appendCapabilities(append(b, `,"capabilities":`...), project)
	b = appendInstructions(b, project)
	return g.appendCacheHints(b, project)
}

// appendCacheHints ends a cacheable result for stateless clients. The list is
// private, as it may hold what only this project's clients may see, and not
// to be reused while a server of the project is failing.
func (g *Gateway) appendCacheHints(b []byte, project *toolset.Snapshot) []byte {
	ttl := listTTL
	for _, server := range project.Servers {
		if server.Config.Enabled && (server.Inventory == nil || server.Inventory.ErrorCode != "") {
			ttl = 0
		}
	}
	b = append(b, `,"ttlMs":`...)
	b = strconv.AppendInt(b, int64(ttl), 10)
	b = append(b, `,"cacheScope":"private","_meta":{"`+metaServerInfo+`":`...)
	b = append(b, g.serverInfo()...)
	return append(b, `}}`...)
}

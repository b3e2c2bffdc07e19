package gateway

import (
	"encoding/json"

	"mcpgateway/services/fault"
	"mcpgateway/services/page"
	"mcpgateway/services/toolset"
)

// metaCoverage is the member of a list's _meta that says what the list lacks.
const metaCoverage = "gateway/coverage"

// warningWaiting warns of a server whose tools are listed and may not work.
const warningWaiting = "SERVER_NEEDS_CONNECTION"

// listCoverage is what a list of tools says of servers that wait for a person.
type listCoverage struct {
	page.Coverage
	Warnings []fault.Warning `json:"warnings,omitempty"`
}

// coverage returns the raw object that tells which servers of a project wait
// for a person to connect them: unavailable are those whose tools were never
// read, and a warning is about those whose tools are listed. It is nil when
// none waits.
func (g *Gateway) coverage(project *toolset.Snapshot) []byte {
	if g.Waiting == nil {
		return nil
	}
	var c listCoverage
	c.Kind = page.Complete
	for _, server := range project.Servers {
		why := ""
		if server.Config.Enabled {
			why = g.Waiting.Why(server.Config.ID)
		}
		switch {
		case why == "":
		case server.Inventory == nil || server.Inventory.SyncedAt == nil:
			c.Kind = page.Partial
			c.Unavailable = append(c.Unavailable, page.Unavailable{Server: server.Config.Alias, Reason: "never synced: " + why})
		default:
			c.Warnings = append(c.Warnings, fault.Warning{Code: warningWaiting, Message: "calling the tools of server " + server.Config.Alias + " may fail: " + why})
		}
	}
	if len(c.Unavailable)+len(c.Warnings) == 0 {
		return nil
	}
	b, err := json.Marshal(c)
	if err != nil {
		return nil // text can always be written
	}
	return b
}

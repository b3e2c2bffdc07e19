package gateway

import (
	"encoding/json"

	"mcpgateway/services/fault"
	"mcpgateway/services/page"
	"mcpgateway/services/toolset"
)

// metaCoverage is the member of a list's _meta that says what the list lacks.
const metaCoverage = "gateway/coverage"

// The codes of the warnings about servers whose tools are listed and may not
// work.
const (
	warningWaiting = "SERVER_NEEDS_CONNECTION"
	warningDown    = "SERVER_UNAVAILABLE"
)

// listCoverage is what a list of tools says of servers that are not as they
// should be.
type listCoverage struct {
	page.Coverage
	Warnings []fault.Warning `json:"warnings,omitempty"`
}

// coverage returns the raw object that tells what is wrong with the servers of
// a project: unavailable are those whose tools were never read, and a warning
// is about those whose tools are listed although they wait for a person or
// calls are kept away from them. It is nil when all are well.
func (g *Gateway) coverage(project *toolset.Snapshot) []byte {
	var c listCoverage
	c.Kind = page.Complete
	for _, server := range project.Servers {
		config, inventory := &server.Config, server.Inventory
		if !config.Enabled {
			continue
		}
		waits := g.whyWaiting(config.ID)
		if inventory == nil || inventory.SyncedAt == nil {
			reason := "never synced"
			switch {
			case waits != "":
				reason += ": " + waits
			case inventory != nil && inventory.ErrorMessage != "":
				reason += ": " + inventory.ErrorMessage
			}
			c.Kind = page.Partial
			c.Unavailable = append(c.Unavailable, page.Unavailable{Server: config.Alias, Reason: reason})
			continue
		}
		if waits != "" {
			c.Warnings = append(c.Warnings, fault.Warning{Code: warningWaiting, Message: "calling the tools of server " + config.Alias + " may fail: " + waits})
		} else if why := g.outage(config.ID); why != "" {
			c.Warnings = append(c.Warnings, fault.Warning{Code: warningDown, Message: "calling the tools of server " + config.Alias + " fails at present: " + why})
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

func (g *Gateway) whyWaiting(serverID string) string {
	if g.Waiting == nil {
		return ""
	}
	return g.Waiting.Why(serverID)
}

func (g *Gateway) outage(serverID string) string {
	if g.Outages == nil {
		return ""
	}
	return g.Outages.Outage(serverID)
}

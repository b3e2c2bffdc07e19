package gateway

import (
	"encoding/json"

	"mcpgateway/services/fault"
	"mcpgateway/services/page"
	"mcpgateway/services/toolset"
)

// metaCoverage is the _meta key for servers that are missing from a list or
// failing.
const metaCoverage = "gateway/coverage"

// Codes of warnings about servers whose tools are listed but may fail.
const (
	warningWaiting     = "SERVER_NEEDS_CONNECTION"
	warningUnavailable = "SERVER_UNAVAILABLE"
)

// listCoverage describes the servers of a list that are missing or failing.
type listCoverage struct {
	page.Coverage
	Warnings []fault.Warning `json:"warnings,omitempty"`
}

// coverage returns the raw object that describes the missing and failing
// servers of a project, or nil if there are none. A server is unavailable if it
// was never synced. Warnings concern servers whose tools are listed, but with a
// pending authorization or paused calls.
func (g *Gateway) coverage(project *toolset.Snapshot) []byte {
	var c listCoverage
	c.Kind = page.Complete
	for _, server := range project.Servers {
		config, inventory := &server.Config, server.Inventory
		if !config.Enabled {
			continue
		}
		waits := g.pendingReason(config.ID)
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
			c.Warnings = append(c.Warnings, fault.Warning{Code: warningWaiting, Message: "Calls to server " + config.Alias + " may fail: " + waits})
		} else if why := g.outage(config.ID); why != "" {
			c.Warnings = append(c.Warnings, fault.Warning{Code: warningUnavailable, Message: "Calls to server " + config.Alias + " currently fail: " + why})
		}
	}
	if len(c.Unavailable)+len(c.Warnings) == 0 {
		return nil
	}
	b, err := json.Marshal(c)
	if err != nil {
		return nil // can't happen: all members are text
	}
	return b
}

func (g *Gateway) pendingReason(serverID string) string {
	if g.Waiting == nil {
		return ""
	}
	return g.Waiting.Reason(serverID)
}

func (g *Gateway) outage(serverID string) string {
	if g.Outages == nil {
		return ""
	}
	return g.Outages.Outage(serverID)
}

package gateway

import (
	"context"
	"encoding/json"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/page"
	"mcpgateway/services/toolset"
	"mcpgateway/services/upstream"
)

// metaCoverage is the _meta key for servers that are missing from a list or
// failing.
const metaCoverage = "gateway/coverage"

// warningUnavailable is the code of the warning about a server whose calls are
// paused.
const warningUnavailable = "SERVER_UNAVAILABLE"

// listCoverage describes the servers of a list that are missing or failing.
type listCoverage struct {
	page.Coverage
	Warnings []fault.Warning `json:"warnings,omitempty"`
}

// coverage returns the raw object that describes the missing and failing
// servers of a project, or nil if there are none. A server is unavailable if it
// was never synced. Warnings concern servers whose tools are listed, but with a
// pending authorization or paused calls.
func (g *Gateway) coverage(ctx context.Context, project *toolset.Snapshot, client *Client) []byte {
	var c listCoverage
	c.Kind = page.Complete
	for _, server := range project.Servers {
		config, inventory := &server.Config, server.Inventory
		if !config.Enabled {
			continue
		}
		waits := g.pending(ctx, config, client.Principal.UserID())
		if inventory == nil || inventory.SyncedAt == nil {
			reason := "never synced"
			switch {
			case waits.Code != "":
				reason += ": " + waits.Reason
			case inventory != nil && inventory.ErrorMessage != "":
				reason += ": " + inventory.ErrorMessage
			}
			c.Kind = page.Partial
			c.Unavailable = append(c.Unavailable, page.Unavailable{Server: config.Alias, Reason: reason})
			continue
		}
		if waits.Code != "" {
			c.Warnings = append(c.Warnings, fault.Warning{Code: waits.Code, Message: "Calls to server " + config.Alias + " may fail: " + waits.Reason})
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

func (g *Gateway) pending(ctx context.Context, server *models.Server, userID string) upstream.Pending {
	if g.Waiting == nil {
		return upstream.Pending{}
	}
	return g.Waiting.Pending(ctx, server, userID)
}

func (g *Gateway) outage(serverID string) string {
	if g.Outages == nil {
		return ""
	}
	return g.Outages.Outage(serverID)
}

// Package gatewaytest builds projects for tests of the gateway packages.
package gatewaytest

import (
	"encoding/json"
	"fmt"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/toolset"
	"mcpgateway/services/upstream"
)

// Source returns project p with the healthy server up. Each tool is a name or a
// definition.
func Source(tools ...string) toolset.Source {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	src := toolset.Source{
		Project:     models.Project{ID: "p", Slug: "p", ToolExposure: models.ExposeFull},
		Servers:     []models.Server{{ID: "u", Alias: "up", Enabled: true, DefinitionPolicy: models.PolicyFollow}},
		Inventories: map[string]*models.Inventory{"u": {ServerID: "u", SyncedAt: &at}},
		Tools:       map[string][]models.Tool{},
	}
	for _, definition := range tools {
		var named struct{ Name string }
		if json.Unmarshal([]byte(definition), &named) != nil {
			named.Name, definition = definition, fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, definition)
		}
		src.Tools["u"] = append(src.Tools["u"], models.Tool{ServerID: "u", Name: named.Name, Definition: definition})
	}
	return src
}

// Build returns the snapshot of a project.
func Build(src toolset.Source) *toolset.Snapshot {
	return toolset.Rebuild(nil, src, func(row models.Server) *upstream.Target { return &upstream.Target{ServerID: row.ID, Alias: row.Alias} })
}

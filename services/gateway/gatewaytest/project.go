// Package gatewaytest builds projects for tests of the gateway packages.
package gatewaytest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/toolset"
	"mcpgateway/services/toolset/addresses"
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

// Build returns the snapshot of a project. Unless src has claims, the servers
// claim what they show in the order of their aliases.
func Build(src toolset.Source) *toolset.Snapshot {
	if src.Claims == nil {
		src.Claims = Claims(src)
	}
	return toolset.Rebuild(nil, src, func(row models.Server) *upstream.Target { return &upstream.Target{ServerID: row.ID, Alias: row.Alias} })
}

// Claims returns the claims of a project whose servers were synced in the order
// of their aliases.
func Claims(src toolset.Source) (claims []models.AddressClaim) {
	servers := slices.SortedFunc(slices.Values(src.Servers), func(a, b models.Server) int { return strings.Compare(a.Alias, b.Alias) })
	for i, server := range servers {
		for _, t := range addresses.ShownBy(src.Tools[server.ID], src.Listings[server.ID]) {
			hash := sha256.Sum256([]byte(t.Text))
			claims = append(claims, models.AddressClaim{
				ProjectID: src.Project.ID, Alias: addresses.Fold(server.Alias), Kind: t.Kind, Text: t.Text, TextHash: hash[:], Position: int64(i + 1),
			})
		}
	}
	return claims
}

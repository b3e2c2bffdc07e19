package views

import (
	"fmt"
	"slices"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/nearest"
	"mcpgateway/services/query"
	"mcpgateway/services/toolsearch"
	"mcpgateway/services/toolset"
)

// Warnings returns SERVER_UNKNOWN for each server that a toolset names and the
// project doesn't have, with the span in the query.
func Warnings(project *toolset.Snapshot, row *models.Toolset) (warnings []fault.Warning) {
	var aliases []string
	folded := map[string]bool{}
	for _, server := range project.Servers {
		aliases = append(aliases, server.Config.Alias)
		folded[query.Fold(server.Config.Alias)] = true
	}
	if project.Server(toolset.GatewayAlias) != nil { // of recipes
		folded[toolset.GatewayAlias] = true
	}
	warn := func(alias string, span *fault.Span) {
		message := fmt.Sprintf("No server of this project has the alias %q.", clip(alias))
		if near := nearest.Name(alias, aliases); near != "" {
			message += fmt.Sprintf(" Did you mean %s?", near)
		}
		warnings = append(warnings, fault.Warning{Code: toolsearch.WarningServerUnknown, Message: message, Span: span})
	}
	if parsed, err := query.Toolsets().Parse(row.Query); err == nil {
		for _, c := range parsed.Clauses {
			if c.Qualifier == "server" && !folded[c.Folded] {
				span := c.Span
				warn(c.Value, &span)
			}
		}
	}
	for _, alias := range row.OffersOf {
		if alias != "*" && !slices.Contains(aliases, alias) {
			warn(alias, nil)
		}
	}
	return warnings
}

package toolsearch

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/page"
	"mcpgateway/services/query"
	"mcpgateway/services/toolsearch/analyzer"
	"mcpgateway/services/toolsearch/ranking"
	"mcpgateway/services/toolset"
	"mcpgateway/services/upstream"
)

// The codes of search warnings.
const (
	WarningToolHidden     = "TOOL_HIDDEN"
	WarningNeverSynced    = "SERVER_NEVER_SYNCED"
	WarningSyncFailed     = "SERVER_SYNC_FAILED"
	WarningServerDown     = "SERVER_UNAVAILABLE"
	WarningServerUnknown  = "SERVER_UNKNOWN"
	WarningServerDisabled = "SERVER_DISABLED"
)

// coverage returns the enabled servers whose tools could not be searched, and
// warnings about servers whose tools may be outdated, by alias. With an alias,
// it covers only that server.
func (s *Searcher) coverage(ctx context.Context, project *toolset.Snapshot, alias string, caller Caller) (unavailable []page.Unavailable, warnings []fault.Warning) {
	for _, server := range project.Servers {
		config := &server.Config
		if !config.Enabled || alias != "" && config.Alias != alias {
			continue
		}
		waits := s.pending(ctx, config, caller.UserID)
		switch inventory := server.Inventory; {
		case waits.Code != "" && (inventory == nil || inventory.SyncedAt == nil):
			unavailable = append(unavailable, page.Unavailable{Server: config.Alias, Reason: "never synced: " + waits.Reason})
		case waits.Code != "":
			warnings = append(warnings, fault.Warning{Code: waits.Code, Message: fmt.Sprintf("The tools of server %s were searched, but calling them may fail: %s", config.Alias, waits.Reason)})
		case inventory == nil || inventory.SyncedAt == nil && inventory.ErrorMessage == "":
			unavailable = append(unavailable, page.Unavailable{Server: config.Alias, Reason: "never synced"})
		case inventory.SyncedAt == nil:
			unavailable = append(unavailable, page.Unavailable{Server: config.Alias, Reason: "never synced: " + inventory.ErrorMessage})
		case s.outage(config.ID) != "":
			warnings = append(warnings, fault.Warning{Code: WarningServerDown, Message: fmt.Sprintf("The tools of server %s were searched, but calls currently fail: %s", config.Alias, s.outage(config.ID))})
		case inventory.ErrorCode != "":
			warnings = append(warnings, fault.Warning{Code: WarningSyncFailed, Message: fmt.Sprintf(
				"The tools of server %s are as of %s, because its last sync failed: %s", config.Alias, inventory.SyncedAt.UTC().Format("2006-01-02 15:04 UTC"), inventory.ErrorMessage)})
		}
	}
	return unavailable, warnings
}

// pending returns what calls of a user to a server wait for.
func (s *Searcher) pending(ctx context.Context, server *models.Server, userID string) upstream.Pending {
	if s.Waiting == nil {
		return upstream.Pending{}
	}
	return s.Waiting.Pending(ctx, server, userID)
}

// outage returns the reason why calls to a server are paused, or "".
func (s *Searcher) outage(serverID string) string {
	if s.Outages == nil {
		return ""
	}
	return s.Outages.Outage(serverID)
}

// explainServer returns the warning for a task search with an alias that has no
// tools because it is unknown or disabled.
func explainServer(project *toolset.Snapshot, alias string) []fault.Warning {
	if alias == "" {
		return nil
	}
	switch server := project.Server(alias); {
	case server == nil:
		return []fault.Warning{{Code: WarningServerUnknown, Message: fmt.Sprintf("No server of this project has the alias %q.", analyzer.Clip(alias, 64))}}
	case !server.Config.Enabled:
		return []fault.Warning{{Code: WarningServerDisabled, Message: fmt.Sprintf("Server %s is disabled.", alias)}}
	case server.Config.Undeclared:
		return []fault.Warning{{Code: WarningServerDisabled, Message: fmt.Sprintf("Server %s is not in its file.", alias)}}
	}
	return nil
}

// Limits of the suggested aliases in a warning about an unknown one.
const (
	suggestedAliases = 3
	aliasReach       = 2 // maximum edit distance of a suggestion
)

// unknownServers returns a warning for each server clause of a query that
// matches no enabled server. It suggests similar aliases of enabled servers.
func unknownServers(project *toolset.Snapshot, q *query.Query) (warnings []fault.Warning) {
	for _, clause := range q.Clauses {
		if clause.Qualifier != "server" {
			continue
		}
		near, known := nearAliases(project, clause.Folded)
		if known {
			continue
		}
		message := fmt.Sprintf("No searchable server of this project has the alias %q", analyzer.Clip(clause.Value, 64))
		if len(near) > 0 {
			message += ". Similar aliases: " + strings.Join(near, ", ")
		}
		span := clause.Span
		warnings = append(warnings, fault.Warning{Code: WarningServerUnknown, Message: message, Span: &span})
	}
	return warnings
}

// nearAliases returns the aliases of enabled servers that are similar to a
// folded text, nearest first. known reports whether one is equal.
func nearAliases(project *toolset.Snapshot, text string) (near []string, known bool) {
	edits := map[string]int{}
	if text == toolset.GatewayAlias && project.Server(text) != nil {
		return nil, true // of recipes
	}
	for _, server := range project.Servers {
		alias := query.Fold(server.Config.Alias)
		if !server.Config.IsOffered() || len(alias) > analyzer.MaxWordBytes || len(text) > analyzer.MaxWordBytes {
			continue
		}
		if alias == text {
			return nil, true
		}
		n := ranking.Distance(alias, text, aliasReach)
		if n <= aliasReach && n < len(text) || strings.Contains(alias, text) || strings.Contains(text, alias) {
			edits[server.Config.Alias] = n
			near = append(near, server.Config.Alias)
		}
	}
	slices.SortStableFunc(near, func(a, b string) int { return edits[a] - edits[b] })
	return near[:min(len(near), suggestedAliases)], false
}

package admin

import (
	"slices"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/inventory"
	"mcpgateway/services/projects"
	"mcpgateway/services/toolset"
	views "mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/views/ui"
)

// HealthSource tells what the latest exchanges with a server showed.
type HealthSource interface {
	Health(serverID string) inventory.Health
	// Connection reports whether the server's OAuth connection needs a person,
	// and whether it was connected before.
	Connection(serverID string) (waits, before bool)
}

// ProjectDirectory finds the present state of projects; toolset.Directory says how.
type ProjectDirectory interface {
	Project(slug string) (*toolset.Snapshot, error)
	All() []*toolset.Snapshot
}

// stateOf returns how a server is, and in words what went wrong last; the
// words are empty when nothing did.
func stateOf(s *toolset.Server, source HealthSource) (state views.ServerState, problem string) {
	health := source.Health(s.Config.ID)
	code, synced := "", s.Inventory != nil && s.Inventory.SyncedAt != nil
	if s.Inventory != nil {
		code, problem = s.Inventory.ErrorCode, s.Inventory.ErrorMessage
	}
	// Calls may have failed since the last sync succeeded.
	if code == "" && health.ConsecutiveFailures > 0 && (!synced || health.LastFailure.After(*s.Inventory.SyncedAt)) {
		code, problem = string(health.LastCode), health.LastMessage
	}
	kind := views.StateOK
	access := accessOf(s, source, code)
	switch {
	case !s.Config.Enabled:
		kind = views.StateOff
	case access != "":
		kind = access
	case code != "":
		kind = views.StateDown
	case !synced:
		kind = views.StateUnread
	}
	return views.StateOf(kind), problem
}

// accessOf returns the state of a server that does not admit the gateway, or
// "" for one that does as far as is known. code is that of its last failure.
func accessOf(s *toolset.Server, source HealthSource, code string) string {
	config, refused := &s.Config, code == string(fault.CodeUpstreamUnauthorized)
	if config.AuthType == models.UpstreamAuthOAuth {
		waits, before := source.Connection(config.ID)
		switch {
		case waits && before:
			return views.StateReconnect
		case waits:
			return views.StateUnconnected
		case refused:
			return views.StateRefused
		}
		return ""
	}
	missing := config.AuthBearer == "" && len(config.Headers) == 0
	switch {
	case missing && (refused || config.AuthType == models.UpstreamAuthBearer):
		return views.StateNoToken
	case refused:
		return views.StateRefused
	}
	return ""
}

// worstOf returns the state of the server of a project that needs most care;
// servers that are switched off need none.
func worstOf(p *toolset.Snapshot, health HealthSource) views.ServerState {
	all := views.States()
	worst := len(all) - 1
	for _, server := range p.Servers {
		state, _ := stateOf(server, health)
		worst = min(worst, slices.IndexFunc(all, func(s views.ServerState) bool { return s.Kind == state.Kind }))
	}
	return all[worst]
}

// headOf returns the heading of a project's pages, with how its servers are.
func headOf(p *toolset.Snapshot, health HealthSource, tab layout.ProjectTab) layout.Project {
	head := layout.Project{Slug: p.Project.Slug, Name: ui.Clean(p.Project.Name), Tab: tab, AuthMode: string(p.Project.AuthMode)}
	if len(p.Servers) == 0 {
		head.Status = "No servers"
		return head
	}
	state := worstOf(p, health)
	head.Tone = string(state.Tone)
	switch state.Kind {
	case views.StateOK:
		head.Status = "Healthy"
	case views.StateDown:
		head.Status = "A server is down"
	case views.StateOff:
		head.Status = "Switched off"
	default:
		head.Status = state.Word
	}
	return head
}

// toolsOf returns how many tools of a server clients see, and how many there are.
func toolsOf(p *toolset.Snapshot, serverID string) (shown, known int) {
	for _, t := range p.AllTools() {
		if t.Server.Config.ID != serverID {
			continue
		}
		known++
		if t.Hidden == toolset.Visible {
			shown++
		}
	}
	return shown, known
}

// serverOf returns the server of a project, or NOT_FOUND.
func serverOf(p *toolset.Snapshot, id string) (*toolset.Server, error) {
	for _, s := range p.Servers {
		if s.Config.ID == id {
			return s, nil
		}
	}
	return nil, fault.NotFound("server", id)
}

func rowsOf(servers []*toolset.Server) []models.Server {
	rows := make([]models.Server, 0, len(servers))
	for _, s := range servers {
		rows = append(rows, s.Config)
	}
	return rows
}

// credentialsOf returns the aliases of the servers of a project that calls
// carry credentials to.
func credentialsOf(p *toolset.Snapshot) []string {
	open := p.Project
	open.AuthMode = models.AuthNone
	shared, _ := projects.Shared(open, rowsOf(p.Servers))
	return shared.Servers
}

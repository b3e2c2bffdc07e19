package admin

import (
	"slices"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/inventory"
	"mcpgateway/services/oauthclient"
	"mcpgateway/services/toolset"
	views "mcpgateway/views/admin"
)

// Health returns the states of servers.
type Health struct {
	Syncer  *inventory.Syncer
	Waiting *oauthclient.PendingAuth
}

// StateOf returns the state of a server and its last error message, which is
// empty if there is none.
func (h *Health) StateOf(s *toolset.Server) (state views.ServerState, problem string) {
	health := h.Syncer.Health(s.Config.ID)
	code, synced := "", s.Inventory != nil && s.Inventory.SyncedAt != nil
	if s.Inventory != nil {
		code, problem = s.Inventory.ErrorCode, s.Inventory.ErrorMessage
	}
	// Calls may have failed since the last sync succeeded.
	if code == "" && health.ConsecutiveFailures > 0 && (!synced || health.LastFailure.After(*s.Inventory.SyncedAt)) {
		code, problem = string(health.LastCode), health.LastMessage
	}
	kind := views.StateOK
	access := h.accessOf(s, code)
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

// accessOf returns the state of a server that rejects the gateway or lacks
// credentials, or "". code is the error code of its last failure.
func (h *Health) accessOf(s *toolset.Server, code string) string {
	config, refused := &s.Config, code == string(fault.CodeUpstreamUnauthorized)
	if config.AuthType == models.UpstreamAuthOAuth {
		waits, before := h.Waiting.Connection(config.ID)
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

// WorstOf returns the worst state of a project's servers. Servers that are turned
// off rank last.
func (h *Health) WorstOf(p *toolset.Snapshot) views.ServerState {
	all := views.States()
	worst := len(all) - 1
	for _, server := range p.Servers {
		state, _ := h.StateOf(server)
		worst = min(worst, slices.IndexFunc(all, func(s views.ServerState) bool { return s.Kind == state.Kind }))
	}
	return all[worst]
}

// FailingSince returns the time at which the requests of this process to a server
// began to fail, or zero.
func (h *Health) FailingSince(s *toolset.Server) time.Time {
	if health := h.Syncer.Health(s.Config.ID); health.ConsecutiveFailures > 0 {
		return health.Turned
	}
	return time.Time{}
}

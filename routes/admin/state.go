package admin

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/inventory"
	"mcpgateway/services/oauthclient"
	"mcpgateway/services/runners"
	"mcpgateway/services/toolset"
	"mcpgateway/services/upstream"
	views "mcpgateway/views/admin"
	"mcpgateway/views/paths"
)

// Health returns the states of servers.
type Health struct {
	Syncer   *inventory.Syncer
	Waiting  *oauthclient.PendingAuth
	Programs Programs // nil without runners
}

// Programs are the records of programs. Implemented by runners.Runners.
type Programs interface {
	Record(row models.Server) runners.Record
}

// StateOf returns the state of a server and its last error message, which is
// empty if there is none.
func (h *Health) StateOf(s *toolset.Server) (state views.ServerState, problem string) {
	f := h.lastFailure(s)
	state = views.StateOf(h.kindOf(s, f))
	if p, ok := h.ProgramOf(s); ok {
		now := time.Now()
		state = p.StateWith(state, now)
		if failure := p.Failure(now); failure != nil {
			return state, failure.Title
		}
	}
	return state, f.message
}

// ProgramOf returns what the runner reports about a server. ok is false for one
// that is off or has a URL.
func (h *Health) ProgramOf(s *toolset.Server) (p views.Program, ok bool) {
	if h.Programs == nil || !s.Config.IsProgram() || !s.Config.Enabled {
		return p, false
	}
	r := h.Programs.Record(s.Config)
	return views.Program{
		State: string(r.State), Message: r.Message, Since: r.Since, RetryAt: r.RetryAt, Held: r.Held,
		Connector: s.Config.Source == models.SourceConnector, Connected: r.Connected,
	}, true
}

// FailureOf returns why a server doesn't work, in words. It is nil for a server that
// works, was never contacted or is off.
func (h *Health) FailureOf(s *toolset.Server) *views.Failure {
	if p, ok := h.ProgramOf(s); ok {
		if failure := p.Failure(time.Now()); failure != nil {
			return failure
		}
	}
	f := h.lastFailure(s)
	reason := cmp.Or(f.reason, upstream.ReasonOfCode(f.code))
	switch h.kindOf(s, f) {
	case views.StateOK, views.StateOff, views.StateUnread:
		return nil
	case views.StateReconnect:
		reason = upstream.ReasonRevoked
	case views.StateUnconnected:
		reason = upstream.ReasonNotConnected
	case views.StateNoToken:
		reason = upstream.ReasonNoToken
	}
	words := views.FailureOf(views.FailedServer{
		Reason: string(reason), Message: f.message, URL: s.Config.URL, OAuth: s.Config.AuthType == models.UpstreamAuthOAuth,
		HasCredentials: s.Config.AuthBearer != "" || len(s.Config.Headers) > 0,
	})
	return &words
}

// lastFailure is the failure of a server's latest sync, or of calls after it. The
// code is empty after a success.
type lastFailure struct {
	code, message string
	reason        upstream.Reason
}

func (h *Health) lastFailure(s *toolset.Server) (f lastFailure) {
	if s.Inventory != nil {
		f = lastFailure{s.Inventory.ErrorCode, s.Inventory.ErrorMessage, upstream.Reason(s.Inventory.ErrorReason)}
	}
	health := h.Syncer.Health(s.Config.ID)
	if s.Config.IsPersonal() && aboutOnePerson(fault.Code(f.code)) {
		f = lastFailure{}
	}
	if s.Config.IsPersonal() && aboutOnePerson(health.LastCode) {
		return f
	}
	if f.code == "" && health.ConsecutiveFailures > 0 && (!synced(s) || health.LastFailure.After(*s.Inventory.SyncedAt)) {
		f = lastFailure{string(health.LastCode), health.LastMessage, health.LastReason}
	}
	return f
}

// aboutOnePerson reports whether a failure at a server that everyone uses with their
// own account concerns a single account.
func aboutOnePerson(code fault.Code) bool {
	return code == fault.CodeUpstreamUnauthorized || code == fault.CodeConnectionRequired || code == fault.CodePersonRequired
}

func synced(s *toolset.Server) bool { return s.Inventory != nil && s.Inventory.SyncedAt != nil }

// kindOf returns the kind of a server's state.
func (h *Health) kindOf(s *toolset.Server, f lastFailure) string {
	access := h.accessOf(s, f.code)
	switch {
	case !s.Config.Enabled:
		return views.StateOff
	case access != "":
		return access
	case f.code != "":
		return views.StateDown
	case !synced(s):
		return views.StateUnread
	}
	return views.StateOK
}

// accessOf returns the state of a server that rejects the gateway or lacks
// credentials, or "". code is the error code of its last failure.
func (h *Health) accessOf(s *toolset.Server, code string) string {
	config, refused := &s.Config, code == string(fault.CodeUpstreamUnauthorized)
	if config.IsPersonal() {
		if synced(s) || code != "" {
			return "" // the failure of one person's connection doesn't concern the others'
		}
		return views.StateUnconnected
	}
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
	missing := config.AuthBearer == "" && !slices.ContainsFunc(slices.Collect(maps.Values(config.Headers)), func(value string) bool { return value != "" })
	switch {
	case missing && (refused || config.AuthType == models.UpstreamAuthBearer):
		return views.StateNoToken
	case refused:
		return views.StateRefused
	}
	return ""
}

// FailingSince returns the time at which the requests of this process to a server
// began to fail, or zero.
func (h *Health) FailingSince(s *toolset.Server) time.Time {
	if health := h.Syncer.Health(s.Config.ID); health.ConsecutiveFailures > 0 {
		return health.Turned
	}
	return time.Time{}
}

// ConnectURL returns where the user authorizes the gateway at a server, or connects
// their own account.
func ConnectURL(server *models.Server) string {
	if server.IsPersonal() {
		return paths.MyConnection(server.ID)
	}
	return paths.StartConnection(server.ID)
}

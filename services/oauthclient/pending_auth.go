package oauthclient

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
	"mcpgateway/services/oauthclient/accounts"
)

// PendingAuth holds the servers whose shared account has a pending authorization in memory, for
// requests that must not read the database. It is safe for concurrent use.
type PendingAuth struct {
	connections *Connections
	reload      sync.Mutex // serializes loads, so that an older state never replaces a newer one
	current     atomic.Pointer[map[string]pending]

	configurations notify.ConfigFilter // loaded revisions
}

// PendingServer is a server with a pending authorization. WasConnected reports
// whether it was connected before.
type PendingServer struct {
	ID, Alias    string
	WasConnected bool
}

// pending is a server with the reason of its pending authorization.
type pending struct {
	why    string
	server PendingServer
}

// NewWaiting returns an empty Waiting. Load must be called before use.
func NewWaiting(connections *Connections) *PendingAuth {
	w := &PendingAuth{connections: connections}
	w.current.Store(&map[string]pending{})
	return w
}

// Reason returns the reason of a server's pending authorization for display to
// clients, or "".
func (w *PendingAuth) Reason(serverID string) string { return (*w.current.Load())[serverID].why }

// Connection reports whether a server has a pending authorization, and whether
// it was connected before.
func (w *PendingAuth) Connection(serverID string) (waits, before bool) {
	p, waits := (*w.current.Load())[serverID]
	return waits, p.server.WasConnected
}

// Servers returns the servers with a pending authorization by alias.
func (w *PendingAuth) Servers() []PendingServer {
	all := *w.current.Load()
	servers := make([]PendingServer, 0, len(all))
	for _, p := range all {
		servers = append(servers, p.server)
	}
	slices.SortFunc(servers, func(a, b PendingServer) int {
		return cmp.Or(cmp.Compare(a.Alias, b.Alias), cmp.Compare(a.ID, b.ID))
	})
	return servers
}

// Load reads every connection from the database.
func (w *PendingAuth) Load(ctx context.Context) error {
	w.reload.Lock()
	defer w.reload.Unlock()
	all, err := w.connections.waits(ctx, "")
	if err == nil {
		w.current.Store(&all)
	}
	return err
}

// Changed reloads the connection of a topic, or all servers for a project's
// topic unless only syncs changed them. It ignores other topics. It is a
// subscriber of the change feed.
func (w *PendingAuth) Changed(ctx context.Context, topic notify.Topic) error {
	if projectID, ok := topic.ToolsetOf(); ok {
		return w.configurations.Act(ctx, w.connections.DB, projectID, w.Load)
	}
	serverID, userID, ok := topic.ConnectionOf()
	if !ok || userID != "" {
		return nil
	}
	w.reload.Lock()
	defer w.reload.Unlock()
	found, err := w.connections.waits(ctx, serverID)
	if err != nil {
		return err
	}
	next := maps.Clone(*w.current.Load())
	delete(next, serverID)
	maps.Copy(next, found)
	w.current.Store(&next)
	return nil
}

// waits returns the pending authorizations by server ID; a non-empty only
// selects one server. A started authorization still counts as pending, because
// it may never be finished.
func (c *Connections) waits(ctx context.Context, only string) (map[string]pending, error) {
	db := c.DB.WithContext(ctx)
	servers := sharedServers(db).Where("enabled = ?", true)
	if only != "" {
		servers = servers.Where("id = ?", only)
	}
	var rows []models.Server
	if err := servers.Find(&rows).Error; err != nil {
		return nil, fault.Internal(err)
	}
	all := map[string]pending{}
	if len(rows) == 0 {
		return all, nil
	}
	stored, err := accounts.Shared(db, only)
	if err != nil {
		return nil, fault.Internal(err)
	}
	for _, server := range rows {
		if s := c.status(server, stored[server.ID], false); s.NeedsPerson() {
			all[server.ID] = pending{pendingReason(&s), PendingServer{server.ID, server.Alias, s.WasConnected()}}
		}
	}
	return all, nil
}

// pendingReason returns the reason of a pending authorization as a clause. It
// omits texts of authorization servers, because clients aren't administrators.
func pendingReason(s *Status) string {
	switch {
	case s.State == NotConnected:
		return "an administrator must connect it"
	case s.Reason == ReasonInsufficientScope:
		return "an administrator must reconnect it to grant more scopes"
	case s.State == IssuerChanged:
		return "an administrator must reconnect it because it trusts another authorization server"
	case s.State == RegistrationRejected && s.OwnClient:
		return "an administrator must correct its client credentials"
	case s.State == RegistrationRejected:
		return "an administrator must connect it because its authorization server rejects the gateway"
	}
	return "an administrator must reconnect it because its authorization expired"
}

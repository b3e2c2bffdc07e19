package oauthclient

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
)

// Waiting holds in memory which servers in use wait for a person to authorize
// the gateway, for answers that must not read the database. It is safe for
// concurrent use.
type Waiting struct {
	connections *Connections
	reload      sync.Mutex // one at a time, so that an older state never replaces a newer
	current     atomic.Pointer[map[string]pending]

	configurations notify.Configurations // that were read
}

// pending holds the reason for which a server needs an authorization, and
// whether it was connected before.
type pending struct {
	why       string
	connected bool
}

// NewWaiting returns an empty one; Load fills it.
func NewWaiting(connections *Connections) *Waiting {
	w := &Waiting{connections: connections}
	w.current.Store(&map[string]pending{})
	return w
}

// Why returns why a server waits for a person, in words that clients of the
// gateway may read; "" when it does not.
func (w *Waiting) Why(serverID string) string { return (*w.current.Load())[serverID].why }

// Connection reports whether a server waits for a person, and whether it was
// connected before.
func (w *Waiting) Connection(serverID string) (waits, before bool) {
	p, waits := (*w.current.Load())[serverID]
	return waits, p.connected
}

// Count returns how many servers wait for a person.
func (w *Waiting) Count() int { return len(*w.current.Load()) }

// Load reads every connection from the database.
func (w *Waiting) Load(ctx context.Context) error {
	w.reload.Lock()
	defer w.reload.Unlock()
	all, err := w.connections.waits(ctx, "")
	if err == nil {
		w.current.Store(&all)
	}
	return err
}

// Changed reads again what a topic is about: one connection, or the servers of
// a project unless only syncs changed them. Other topics are ignored. It serves
// the change feed.
func (w *Waiting) Changed(ctx context.Context, topic notify.Topic) error {
	if projectID, ok := topic.ToolsetOf(); ok {
		return w.configurations.Act(ctx, w.connections.DB, projectID, w.Load)
	}
	serverID, ok := topic.ConnectionOf()
	if !ok {
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

// waits returns why servers wait for a person, by server id; of one server
// when only is not empty. One whose authorization was begun waits all the
// same: nobody knows whether it will be finished.
func (c *Connections) waits(ctx context.Context, only string) (map[string]pending, error) {
	db := c.DB.WithContext(ctx)
	servers := db.Select("id", "project_id", "alias", "url", "o_auth_client_id").Where("auth_type = ? AND enabled = ?", models.UpstreamAuthOAuth, true)
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
	connections := db
	if only != "" {
		connections = connections.Where("server_id = ?", only)
	}
	var stored []models.Connection
	if err := connections.Find(&stored).Error; err != nil {
		return nil, fault.Internal(err)
	}
	byServer := make(map[string]*models.Connection, len(stored))
	for i := range stored {
		byServer[stored[i].ServerID] = &stored[i]
	}
	for _, server := range rows {
		if s := c.status(server, byServer[server.ID], false); s.NeedsPerson() {
			all[server.ID] = pending{whyWaiting(&s), s.WasConnected()}
		}
	}
	return all, nil
}

// whyWaiting says why a person is needed. What authorization servers wrote is
// left out, because clients are no administrators.
func whyWaiting(s *Status) string {
	switch {
	case s.State == NotConnected:
		return "it is not connected yet: an administrator has to connect it"
	case s.Reason == ReasonInsufficientScope:
		return "it asks for rights that were not granted: an administrator has to connect it again"
	case s.State == IssuerChanged:
		return "it trusts another authorization server now: an administrator has to connect it again"
	case s.State == RegistrationRejected:
		return "its authorization server does not know the gateway: an administrator has to connect it"
	}
	return "its authorization ended: an administrator has to connect it again"
}

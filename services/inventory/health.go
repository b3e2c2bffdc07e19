package inventory

import (
	"time"

	"mcpgateway/services/upstream"
)

// Health is what the latest exchanges and syncs with an upstream showed.
type Health struct {
	upstream.Health
	// Synced is when a sync last succeeded as far as this process knows; zero
	// when it knows of none. A sync that changed nothing is told nobody else.
	Synced time.Time
}

// LastSync returns the later of Synced and the moment that the inventory of a
// server gives, which may be nil; nil when neither is known.
func (h Health) LastSync(stored *time.Time) *time.Time {
	if h.Synced.IsZero() || stored != nil && stored.After(h.Synced) {
		return stored
	}
	return &h.Synced
}

// Health returns what the latest exchanges and syncs with a server showed.
func (s *Syncer) Health(serverID string) Health {
	return Health{Health: s.Pool.Health(serverID), Synced: s.schedule.syncedAt(serverID)}
}

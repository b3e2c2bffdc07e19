package inventory

import (
	"time"

	"mcpgateway/services/upstream"
)

// Health is the result of the latest requests and syncs of an upstream.
type Health struct {
	upstream.Health
	// Synced is the time of the last successful sync that this process has
	// recorded, or zero. Syncs of other processes are missing if they changed
	// nothing.
	Synced time.Time
	// NextSync is the time of the next planned sync, or zero.
	NextSync time.Time
}

// LastSync returns the later of Synced and the stored time of a server's
// inventory, which may be nil. It returns nil if neither is known.
func (h Health) LastSync(stored *time.Time) *time.Time {
	if h.Synced.IsZero() || stored != nil && stored.After(h.Synced) {
		return stored
	}
	return &h.Synced
}

// NextTry returns the time at which the gateway next contacts the server on its
// own, or zero if it is not planned.
func (h Health) NextTry() time.Time {
	if probe := h.Breaker.NextProbe; !probe.IsZero() && (h.NextSync.IsZero() || probe.Before(h.NextSync)) {
		return probe
	}
	return h.NextSync
}

// Health returns the result of the latest requests and syncs of a server.
func (s *Syncer) Health(serverID string) Health {
	return Health{Health: s.Pool.Health(serverID), Synced: s.schedule.syncedAt(serverID), NextSync: s.schedule.nextAt(serverID)}
}

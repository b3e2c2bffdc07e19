package alerts

import (
	"context"
	"sync"
	"sync/atomic"

	"mcpgateway/models"
	"mcpgateway/services/notify"
)

// Current has the firing alerts in memory, for requests that must not read the
// database. It is safe for concurrent use.
type Current struct {
	store  *Store
	reload sync.Mutex // serializes loads, so that an older state never replaces a newer one
	firing atomic.Pointer[[]models.Alert]
}

// NewCurrent returns an empty Current. Load must be called before use.
func NewCurrent(store *Store) *Current {
	c := &Current{store: store}
	c.firing.Store(&[]models.Alert{})
	return c
}

// Firing returns the firing alerts, newest first. Callers must not change them.
func (c *Current) Firing() []models.Alert { return *c.firing.Load() }

// Counts returns the number of firing alerts of each rule.
func (c *Current) Counts() map[string]int {
	counts := map[string]int{}
	for _, r := range Builtin() {
		counts[r.ID] = 0
	}
	for _, a := range c.Firing() {
		counts[a.Rule]++
	}
	return counts
}

// Load reads the firing alerts from the database.
func (c *Current) Load(ctx context.Context) error {
	c.reload.Lock()
	defer c.reload.Unlock()
	rows, err := c.store.Firing(ctx)
	if err == nil {
		c.firing.Store(&rows)
	}
	return err
}

// Changed reloads the firing alerts for their topic. It ignores others. It is a
// subscriber of the change feed.
func (c *Current) Changed(ctx context.Context, topic notify.Topic) error {
	if !topic.IsAlerts() {
		return nil
	}
	return c.Load(ctx)
}

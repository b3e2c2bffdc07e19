package oauthclient

import (
	"sync"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/secrets"
)

// opened is a connection as it was read, with its access token opened.
type opened struct {
	models.Connection
	access secrets.Value
}

// works reports whether the access token can be sent at the time.
func (o *opened) works(now time.Time) bool {
	return !o.access.IsZero() && (o.ExpiresAt == nil || now.Before(*o.ExpiresAt))
}

// renewable reports whether there is something to renew the access token with.
func (o *opened) renewable() bool { return o.RefreshToken != "" }

// due reports whether the access token is to be renewed at the time.
func (o *opened) due(now time.Time) bool { return o.RefreshAt != nil && !now.Before(*o.RefreshAt) }

// pauses reports whether it is too soon after a failed renewal for another.
func (o *opened) pauses(now time.Time) bool {
	return o.NextAttemptAt != nil && now.Before(*o.NextAttemptAt)
}

// cache holds the connections that requests use, so that a request reads no
// database. What is forgotten while it is being read is not kept.
type cache struct {
	mu      sync.Mutex
	entries map[string]*opened
	changes uint64
}

func newCache() *cache { return &cache{entries: map[string]*opened{}} }

// get returns what is known of a connection, or nil, and the count of changes
// to give back to put.
func (c *cache) get(serverID string) (*opened, uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.entries[serverID], c.changes
}

// put keeps a connection unless anything was forgotten since get.
func (c *cache) put(o *opened, asOf uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changes != asOf {
		return
	}
	if len(c.entries) >= maxCached {
		clear(c.entries)
	}
	c.entries[o.ServerID] = o
}

func (c *cache) forget(serverID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes++
	delete(c.entries, serverID)
}

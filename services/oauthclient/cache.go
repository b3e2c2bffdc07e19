package oauthclient

import (
	"sync"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/secrets"
)

// decryptedConnection is a stored connection with its decrypted access token.
type decryptedConnection struct {
	models.Connection
	access secrets.Value
}

// isValid reports whether the access token is valid at the time.
func (o *decryptedConnection) isValid(now time.Time) bool {
	return !o.access.IsZero() && (o.ExpiresAt == nil || now.Before(*o.ExpiresAt))
}

// renewable reports whether a new access token can be requested: there is a refresh
// token, or the gateway has client credentials.
func (o *decryptedConnection) renewable() bool {
	return o.RefreshToken != "" || o.RegistrationKind == string(OwnClient)
}

// needsRefresh reports whether the access token should be refreshed at the time.
func (o *decryptedConnection) needsRefresh(now time.Time) bool {
	return o.RefreshAt != nil && !now.Before(*o.RefreshAt)
}

// inBackoff reports whether the backoff after a failed refresh is still in effect.
func (o *decryptedConnection) inBackoff(now time.Time) bool {
	return o.NextAttemptAt != nil && now.Before(*o.NextAttemptAt)
}

// cache holds the connections in use, so that requests don't read the database.
// A connection that is invalidated while it is read isn't stored.
type cache struct {
	mu      sync.Mutex
	entries map[string]*decryptedConnection
	changes uint64
}

func newCache() *cache { return &cache{entries: map[string]*decryptedConnection{}} }

// get returns a cached connection, or nil, and the invalidation count for put.
func (c *cache) get(serverID string) (*decryptedConnection, uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.entries[serverID], c.changes
}

// put stores a connection unless there was an invalidation since get.
func (c *cache) put(o *decryptedConnection, asOf uint64) {
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

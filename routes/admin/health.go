package admin

import (
	"mcpgateway/services/inventory"
)

// ConnectionWaits reports which OAuth connections need a person. Implemented by
// oauthclient.Waiting.
type ConnectionWaits interface {
	Connection(serverID string) (waits, before bool)
}

// Health is the state of servers that the pages show.
type Health struct {
	*inventory.Syncer
	ConnectionWaits
}

package admin

import (
	"mcpgateway/services/upstream"
)

// ConnectionWaits reports which OAuth connections need a person. Implemented by
// oauthclient.Waiting.
type ConnectionWaits interface {
	Connection(serverID string) (waits, before bool)
}

// Health is what the pages show of the state of servers.
type Health struct {
	*upstream.Syncer
	ConnectionWaits
}

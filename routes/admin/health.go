package admin

import (
	"mcpgateway/services/upstream"
)

// ConnectionWaits reports which OAuth connections need a person. Implemented by
// oauthclient.Waiting.
type ConnectionWaits interface {
	Connection(serverID string) (waits, before bool)
}

// Health is the state of servers that the pages show.
type Health struct {
	*upstream.Syncer
	ConnectionWaits
}

package admin

import (
	"mcpgateway/services/oauthclient"
	"mcpgateway/services/upstream"
)

// Health is the state of servers that the pages show.
type Health struct {
	*upstream.Syncer
	*oauthclient.Waiting
}

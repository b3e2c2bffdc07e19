// Package rows stores which servers the files of live runners declare: the
// heartbeat of each replica, its declarations, and the servers of connectors.
package rows

import (
	"mcpgateway/models"
)

// Peer is a runner, as the origin of a list. It is comparable.
type Peer struct {
	Source      models.ServerSource // SourceLocal, SourceConfig or SourceConnector
	ProjectID   string              // of a connector; otherwise empty
	ConnectorID string              // of a connector; otherwise empty
	Prefix      string              // of new aliases of a connector, from --prefix
}

// The service that implements the seam of runners (services/runners.Options):
//
//	Listed(ctx context.Context, peer Peer, list wire.List) (ids map[string]string, err error)
//	Declare(ctx context.Context, hashes map[string]string) error   // server id to hash, of urls of --local
//	Replica() string                                               // id of this process
//	Live(ctx context.Context) ([]string, error)                    // ids of the live replicas

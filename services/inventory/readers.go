package inventory

import (
	"context"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/upstream"
)

// Readers are the users who let the gateway read the lists of a server with
// their own connection.
type Readers interface {
	// Of returns the ids of the users in the order in which to try them.
	Of(ctx context.Context, server models.Server) ([]string, error)
	// Use records that the lists are read with the connection of another user
	// than before.
	Use(ctx context.Context, server models.Server, userID string) error
}

// readAsUser reads the lists of a server where users have their own accounts,
// with the first connection that is usable. Without one it returns
// CONNECTION_REQUIRED.
func (s *Syncer) readAsUser(ctx context.Context, server models.Server) (*listed, error) {
	var readers []string
	if s.Readers != nil {
		var err error
		if readers, err = s.Readers.Of(ctx, server); err != nil {
			return &listed{}, fault.From(err)
		}
	}
	target := s.Target(server)
	for _, userID := range readers {
		found, err := s.readFrom(ctx, target.For(userID))
		if fault.Is(err, fault.CodeConnectionRequired) {
			continue
		}
		if err == nil && userID != server.InventoryUserID {
			if err := s.Readers.Use(ctx, server, userID); err != nil {
				return found, fault.From(err)
			}
		}
		return found, err
	}
	f := upstream.ConnectionRequired(server.Alias, upstream.ReasonNotConnected)
	f.Message = "No user has connected an account that the gateway may read the list of tools with."
	return &listed{}, f
}

// ConnectionChanged schedules a sync of a server whose last one failed, because
// the connection of a user may allow it now.
func (s *Syncer) ConnectionChanged(serverID string) { s.schedule.retry(serverID) }

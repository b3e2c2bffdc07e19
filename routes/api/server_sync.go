package api

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/inventory"
)

// Syncer syncs a server.
type Syncer interface {
	Sync(ctx context.Context, serverID string) (inventory.SyncResult, error)
}

// ServerSync serves POST /api/servers/:id/sync.
type ServerSync struct {
	syncer  Syncer
	servers *Servers
}

// NewServerSync returns the handler.
func NewServerSync(syncer Syncer, servers *Servers) *ServerSync {
	return &ServerSync{syncer: syncer, servers: servers}
}

type syncAnswer struct {
	Server     serverRecord `json:"server"`
	Tools      syncedTools  `json:"tools"`
	DurationMS int64        `json:"durationMs"`
	Warnings   []string     `json:"warnings"`
}

type syncedTools struct {
	Added   []string `json:"added"`
	Changed []string `json:"changed"`
	Removed []string `json:"removed"`
	Total   int      `json:"total"`
}

// Sync syncs the server. If the upstream fails, it responds with 502 and the
// stored tools remain.
func (s *ServerSync) Sync(c *fiber.Ctx) error {
	result, err := s.syncer.Sync(c.UserContext(), c.Params("id"))
	if err != nil {
		return err
	}
	record, err := s.servers.record(c.UserContext(), result.Server)
	if err != nil {
		return err
	}
	return c.JSON(syncAnswer{
		Server: record, DurationMS: result.Duration.Milliseconds(), Warnings: nonNil(result.Warnings),
		Tools: syncedTools{Added: nonNil(result.Added), Changed: nonNil(result.Changed), Removed: nonNil(result.Removed), Total: result.Total},
	})
}

package api

import (
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/projects"
	"mcpgateway/services/runners/connectors"
	"mcpgateway/web"
	"mcpgateway/web/compress"
)

// Connectors serves the connectors of projects: runners on other computers.
type Connectors struct {
	connectors *connectors.Store
	hub        *connectors.Hub
	store      *projects.Store
}

// NewConnectors returns the handlers.
func NewConnectors(connectors *connectors.Store, hub *connectors.Hub, store *projects.Store) *Connectors {
	return &Connectors{connectors: connectors, hub: hub, store: store}
}

type connectorRecord struct {
	ID         string     `json:"id"`
	Name       string     `json:"name"`
	Prefix     string     `json:"prefix"`          // first characters of the token
	Token      string     `json:"token,omitempty"` // only in the response to its creation
	CreatedAt  time.Time  `json:"createdAt"`
	ExpiresAt  time.Time  `json:"expiresAt"`
	LastSeenAt *time.Time `json:"lastSeenAt"`
	RevokedAt  *time.Time `json:"revokedAt"`
	Connected  bool       `json:"connected"` // to the replica that responds
}

func (h *Connectors) record(row models.Connector) connectorRecord {
	return connectorRecord{
		ID: row.ID, Name: row.Name, Prefix: row.Prefix, CreatedAt: row.CreatedAt, ExpiresAt: row.ExpiresAt,
		LastSeenAt: row.LastSeenAt, RevokedAt: row.RevokedAt, Connected: h.hub.IsConnected(row),
	}
}

// List serves GET /api/projects/:projectSlug/connectors.
func (h *Connectors) List(c *fiber.Ctx) error {
	project, err := h.store.Project(c.UserContext(), c.Params("projectSlug"))
	if err != nil {
		return err
	}
	rows, err := h.connectors.List(c.UserContext(), project.ID)
	if err != nil {
		return err
	}
	return RespondList(c, rows, h.record)
}

// newConnector is the body of a request for a connector.
type newConnector struct {
	Name      string     `json:"name"`
	ExpiresAt *time.Time `json:"expiresAt"` // null is 90 days from now
}

// lifetime returns the time until the token expires, or 0 for the default. It
// returns a validation fault for a time in the past.
func (n newConnector) lifetime() (time.Duration, error) {
	if n.ExpiresAt == nil {
		return 0, nil
	}
	if left := time.Until(*n.ExpiresAt); left >= time.Second {
		return left, nil
	}
	return 0, fault.Validation(map[string]string{"expiresAt": "use a time in the future"})
}

// Create serves POST /api/projects/:projectSlug/connectors. Only this response
// contains the token.
func (h *Connectors) Create(c *fiber.Ctx) error {
	var body newConnector
	if err := web.BindJSON(c, &body); err != nil {
		return err
	}
	project, err := h.store.Project(c.UserContext(), c.Params("projectSlug"))
	if err != nil {
		return err
	}
	lifetime, err := body.lifetime()
	if err != nil {
		return err
	}
	row, token, err := h.connectors.Create(c.UserContext(), project.ID, connectors.Attributes{Name: body.Name, Lifetime: lifetime})
	if err != nil {
		return err
	}
	record := h.record(row)
	record.Token = token.Reveal()
	compress.Never(c)
	c.Set(fiber.HeaderCacheControl, "no-store")
	return c.Status(fiber.StatusCreated).JSON(record)
}

// Revoke serves DELETE /api/connectors/:id.
func (h *Connectors) Revoke(c *fiber.Ctx) error {
	row, err := h.connectors.Get(c.UserContext(), c.Params("id"))
	if err != nil {
		return err
	}
	if err := h.connectors.Revoke(c.UserContext(), row.ProjectID, row.ID); err != nil {
		return err
	}
	return c.SendStatus(fiber.StatusNoContent)
}

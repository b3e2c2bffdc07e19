package api

import (
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/services/access/keys"
	"mcpgateway/services/fault"
	"mcpgateway/services/projects"
	"mcpgateway/services/secrets"
	"mcpgateway/web"
	"mcpgateway/web/compress"
)

// Keys serves the API keys of projects.
type Keys struct {
	keys  *keys.Store
	store *projects.Store
}

// NewKeys returns the handlers.
func NewKeys(keys *keys.Store, store *projects.Store) *Keys { return &Keys{keys: keys, store: store} }

type keyRecord struct {
	ID         string     `json:"id"`
	Name       string     `json:"name"`
	Prefix     string     `json:"prefix"`
	Key        string     `json:"key,omitempty"` // only in the response to its creation
	CreatedAt  time.Time  `json:"createdAt"`
	ExpiresAt  *time.Time `json:"expiresAt"`
	LastUsedAt *time.Time `json:"lastUsedAt"`
	RevokedAt  *time.Time `json:"revokedAt"`
}

func keyOf(row models.Key) keyRecord {
	return keyRecord{
		ID: row.ID, Name: row.Name, Prefix: row.Prefix, CreatedAt: row.CreatedAt,
		ExpiresAt: row.ExpiresAt, LastUsedAt: row.LastUsedAt, RevokedAt: row.RevokedAt,
	}
}

// List serves GET /api/projects/:projectSlug/keys.
func (k *Keys) List(c *fiber.Ctx) error {
	project, err := k.store.Project(c.UserContext(), c.Params("projectSlug"))
	if err != nil {
		return err
	}
	rows, err := k.keys.List(c.UserContext(), project.ID)
	if err != nil {
		return err
	}
	return respondList(c, rows, keyOf)
}

// newKey is the body of a request for a key.
type newKey struct {
	Name      string     `json:"name"`
	ExpiresAt *time.Time `json:"expiresAt"`
}

// lifetime returns the time until the key expires, or 0 if it never does. It
// returns a validation fault for a time in the past.
func (n newKey) lifetime() (time.Duration, error) {
	if n.ExpiresAt == nil {
		return 0, nil
	}
	if left := time.Until(*n.ExpiresAt); left > 0 {
		return left, nil
	}
	return 0, fault.Validation(map[string]string{"expiresAt": "use a time in the future"})
}

// Create serves POST /api/projects/:projectSlug/keys. Only this response
// contains the key.
func (k *Keys) Create(c *fiber.Ctx) error {
	var body newKey
	if err := web.BindJSON(c, &body); err != nil {
		return err
	}
	project, err := k.store.Project(c.UserContext(), c.Params("projectSlug"))
	if err != nil {
		return err
	}
	lifetime, err := body.lifetime()
	if err != nil {
		return err
	}
	row, text, err := k.keys.Create(c.UserContext(), project.ID, body.Name, lifetime)
	if err != nil {
		return err
	}
	return respondNewKey(c, row, text)
}

// Rotate serves POST /api/keys/:id/rotate.
func (k *Keys) Rotate(c *fiber.Ctx) error {
	var body struct {
		GraceSeconds int64 `json:"graceSeconds"`
	}
	if err := web.BindJSON(c, &body); err != nil {
		return err
	}
	if limit := int64(keys.MaxGrace / time.Second); body.GraceSeconds < 0 || body.GraceSeconds > limit {
		return fault.Validation(map[string]string{"graceSeconds": "use 0 to 2592000"})
	}
	old, err := k.keys.Get(c.UserContext(), c.Params("id"))
	if err != nil {
		return err
	}
	row, text, err := k.keys.Rotate(c.UserContext(), old.ProjectID, old.ID, time.Duration(body.GraceSeconds)*time.Second)
	if err != nil {
		return err
	}
	return respondNewKey(c, row, text)
}

// Revoke serves DELETE /api/keys/:id.
func (k *Keys) Revoke(c *fiber.Ctx) error {
	row, err := k.keys.Get(c.UserContext(), c.Params("id"))
	if err != nil {
		return err
	}
	if err := k.keys.Revoke(c.UserContext(), row.ProjectID, row.ID); err != nil {
		return err
	}
	return c.SendStatus(fiber.StatusNoContent)
}

func respondNewKey(c *fiber.Ctx, row models.Key, text secrets.Value) error {
	record := keyOf(row)
	record.Key = text.Reveal()
	compress.Never(c)
	c.Set(fiber.HeaderCacheControl, "no-store")
	return c.Status(fiber.StatusCreated).JSON(record)
}

package catalog

import (
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/api"
	"mcpgateway/services/catalog/registries"
	"mcpgateway/services/fault"
	"mcpgateway/web"
	"mcpgateway/web/compress"
)

// Keys serves the keys of gated views.
type Keys struct{ store *registries.Store }

// NewKeys returns the handlers.
func NewKeys(store *registries.Store) *Keys { return &Keys{store} }

type keyRecord struct {
	ID         string     `json:"id"`
	Name       string     `json:"name"`
	Prefix     string     `json:"prefix"`        // first characters of the key
	Key        string     `json:"key,omitempty"` // only in the response to its creation
	CreatedAt  time.Time  `json:"createdAt"`
	ExpiresAt  *time.Time `json:"expiresAt"`
	LastUsedAt *time.Time `json:"lastUsedAt"`
	RevokedAt  *time.Time `json:"revokedAt"`
}

func keyOf(row models.CatalogKey) keyRecord {
	return keyRecord{
		ID: row.ID, Name: row.Name, Prefix: row.Prefix, CreatedAt: row.CreatedAt, ExpiresAt: row.ExpiresAt, LastUsedAt: row.LastUsedAt, RevokedAt: row.RevokedAt,
	}
}

// List serves GET /api/catalog/keys.
func (k *Keys) List(c *fiber.Ctx) error {
	rows, err := k.store.Keys(c.UserContext())
	if err != nil {
		return err
	}
	return api.RespondList(c, rows, keyOf)
}

// newKey is the body of a request for a key.
type newKey struct {
	Name      string     `json:"name"`
	ExpiresAt *time.Time `json:"expiresAt"` // null never expires
}

// Create serves POST /api/catalog/keys. Only this response contains the key.
func (k *Keys) Create(c *fiber.Ctx) error {
	var body newKey
	if err := web.BindJSON(c, &body); err != nil {
		return err
	}
	lifetime := time.Duration(0)
	if body.ExpiresAt != nil {
		if lifetime = time.Until(*body.ExpiresAt); lifetime < time.Second {
			return fault.Validation(map[string]string{"expiresAt": "use a time in the future"})
		}
	}
	row, text, err := k.store.CreateKey(c.UserContext(), registries.NewKey{Name: body.Name, Lifetime: lifetime})
	if err != nil {
		return err
	}
	record := keyOf(row)
	record.Key = text.Reveal()
	compress.Never(c)
	c.Set(fiber.HeaderCacheControl, "no-store")
	return c.Status(fiber.StatusCreated).JSON(record)
}

// Revoke serves DELETE /api/catalog/keys/:id.
func (k *Keys) Revoke(c *fiber.Ctx) error {
	return noContent(c, k.store.RevokeKey(c.UserContext(), c.Params("id")))
}

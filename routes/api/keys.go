package api

import (
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
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
	Owner      *keyOwner  `json:"owner"`    // of a personal key
	Toolsets   []string   `json:"toolsets"` // slugs; null is everything
}

type keyOwner struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

func keyOf(row models.Key, details keys.Details) keyRecord {
	record := keyRecord{
		ID: row.ID, Name: row.Name, Prefix: row.Prefix, CreatedAt: row.CreatedAt,
		ExpiresAt: row.ExpiresAt, LastUsedAt: row.LastUsedAt, RevokedAt: row.RevokedAt, Toolsets: details.Slugs(),
	}
	if details.Owner != nil {
		record.Owner = &keyOwner{ID: details.Owner.ID, Name: details.Owner.Name}
	}
	return record
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
	details, err := k.keys.Details(c.UserContext(), rows...)
	if err != nil {
		return err
	}
	return RespondList(c, rows, func(row models.Key) keyRecord { return keyOf(row, details[row.ID]) })
}

// newKey is the body of a request for a key.
type newKey struct {
	Name      string     `json:"name"`
	ExpiresAt *time.Time `json:"expiresAt"`
	Toolsets  []string   `json:"toolsets"` // slugs; null is everything
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
	row, text, err := k.keys.CreateScoped(c.UserContext(), project.ID, keys.Attributes{Name: body.Name, Lifetime: lifetime, Toolsets: body.Toolsets})
	if err != nil {
		return err
	}
	return k.respondNew(c, row, text)
}

// Rotate serves POST /api/keys/:id/rotate.
func (k *Keys) Rotate(c *fiber.Ctx) error {
	grace, err := graceOf(c)
	if err != nil {
		return err
	}
	old, err := k.keys.Get(c.UserContext(), c.Params("id"))
	if err != nil {
		return err
	}
	row, text, err := k.keys.Rotate(c.UserContext(), old.ProjectID, old.ID, grace)
	if err != nil {
		return err
	}
	return k.respondNew(c, row, text)
}

// graceOf returns how long a rotated key keeps working.
func graceOf(c *fiber.Ctx) (time.Duration, error) {
	var body struct {
		GraceSeconds int64 `json:"graceSeconds"`
	}
	if err := web.BindJSON(c, &body); err != nil {
		return 0, err
	}
	if limit := int64(keys.MaxGrace / time.Second); body.GraceSeconds < 0 || body.GraceSeconds > limit {
		return 0, fault.Validation(map[string]string{"graceSeconds": "use 0 to 2592000"})
	}
	return time.Duration(body.GraceSeconds) * time.Second, nil
}

// Update serves PATCH /api/keys/:id, which chooses the toolsets of a key.
func (k *Keys) Update(c *fiber.Ctx) error {
	var body struct {
		Toolsets jsontext.Value `json:"toolsets"`
	}
	if err := web.BindJSON(c, &body); err != nil {
		return err
	}
	slugs, err := toolsetsOf(body.Toolsets)
	if err != nil {
		return err
	}
	row, err := k.keys.Get(c.UserContext(), c.Params("id"))
	if err != nil {
		return err
	}
	if err := k.keys.SetToolsets(c.UserContext(), row.ProjectID, row.ID, slugs); err != nil {
		return err
	}
	if row, err = k.keys.Get(c.UserContext(), row.ID); err != nil {
		return err
	}
	details, err := k.keys.Details(c.UserContext(), row)
	if err != nil {
		return err
	}
	return c.JSON(keyOf(row, details[row.ID]))
}

// toolsetsOf returns the slugs of a change, or nil for null, which is
// everything. It returns VALIDATION_FAILED if the key is absent or not a list.
func toolsetsOf(raw jsontext.Value) (slugs []string, err error) {
	if raw == nil {
		return nil, fault.Validation(map[string]string{"toolsets": "this key is required: a list of toolsets, or null for everything"})
	}
	if err := json.Unmarshal(raw, &slugs); err != nil {
		return nil, fault.Validation(map[string]string{"toolsets": "use a list of toolsets, or null for everything"})
	}
	return slugs, nil
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

func (k *Keys) respondNew(c *fiber.Ctx, row models.Key, text secrets.Value) error {
	details, err := k.keys.Details(c.UserContext(), row)
	if err != nil {
		return err
	}
	return respondNewKey(c, row, details[row.ID], text.Reveal())
}

// respondNewKey responds with a new key. Only this response contains its text.
func respondNewKey(c *fiber.Ctx, row models.Key, details keys.Details, text string) error {
	record := keyOf(row, details)
	record.Key = text
	compress.Never(c)
	c.Set(fiber.HeaderCacheControl, "no-store")
	return c.Status(fiber.StatusCreated).JSON(record)
}

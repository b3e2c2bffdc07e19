package catalog

import (
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/api"
	"mcpgateway/services/catalog"
	"mcpgateway/services/catalog/schedule"
	"mcpgateway/web"
)

// Sources serves the sources of the catalog.
type Sources struct{ store *catalog.Store }

// NewSources returns the handlers.
func NewSources(store *catalog.Store) *Sources { return &Sources{store} }

// sourceRecord is a source with the result of its last sync. URL is null for the
// built-in data and for uploaded files.
type sourceRecord struct {
	ID           string                   `json:"id"`
	Kind         models.CatalogSourceKind `json:"kind"`
	Name         string                   `json:"name"`
	URL          *string                  `json:"url"`
	Enabled      bool                     `json:"enabled"`
	Schedule     models.CatalogSchedule   `json:"schedule"`
	NextAt       *time.Time               `json:"nextAt"`
	HeldRemovals int64                    `json:"heldRemovals"`
	HeldAt       *time.Time               `json:"heldAt"`
	StartedAt    *time.Time               `json:"startedAt"`
	FinishedAt   *time.Time               `json:"finishedAt"`
	Succeeded    bool                     `json:"succeeded"`
	Error        *sourceError             `json:"error"`
	Fetched      int64                    `json:"fetched"`
	Added        int64                    `json:"added"`
	Updated      int64                    `json:"updated"`
	Deleted      int64                    `json:"deleted"`
	CreatedAt    time.Time                `json:"createdAt"`
}

// sourceError is the reason for a last sync that changed nothing. Code is empty for a sync that
// waits for an approval.
type sourceError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func sourceOf(row models.CatalogSource) sourceRecord {
	r := sourceRecord{
		ID: row.ID, Kind: row.Kind, Name: row.Name, Enabled: row.Enabled, Schedule: row.Schedule, NextAt: schedule.Next(&row),
		HeldRemovals: row.HeldRemovals, HeldAt: row.HeldAt, StartedAt: row.StartedAt, FinishedAt: row.FinishedAt, Succeeded: row.Succeeded,
		Fetched: row.Fetched, Added: row.Added, Updated: row.Updated, Deleted: row.Deleted, CreatedAt: row.CreatedAt,
	}
	if row.URL != "" {
		r.URL = &row.URL
	}
	if row.ErrorMessage != "" {
		r.Error = &sourceError{row.ErrorCode, row.ErrorMessage}
	}
	return r
}

// List serves GET /api/catalog/sources.
func (s *Sources) List(c *fiber.Ctx) error {
	rows, err := s.store.Sources(c.UserContext())
	if err != nil {
		return err
	}
	return api.RespondList(c, rows, sourceOf)
}

// Create serves POST /api/catalog/sources.
func (s *Sources) Create(c *fiber.Ctx) error {
	var body struct {
		Kind     models.CatalogSourceKind `json:"kind"`
		Name     string                   `json:"name"`
		URL      string                   `json:"url"`
		Schedule models.CatalogSchedule   `json:"schedule"`
	}
	if err := web.BindJSON(c, &body); err != nil {
		return err
	}
	row, err := s.store.AddSource(c.UserContext(), catalog.NewSource(body))
	if err != nil {
		return err
	}
	return c.Status(fiber.StatusCreated).JSON(sourceOf(row))
}

// Update serves PATCH /api/catalog/sources/:id. Absent keys leave their field
// unchanged.
func (s *Sources) Update(c *fiber.Ctx) error {
	var body struct {
		Name     *string                 `json:"name"`
		Schedule *models.CatalogSchedule `json:"schedule"`
		Enabled  *bool                   `json:"enabled"`
	}
	if err := web.BindJSON(c, &body); err != nil {
		return err
	}
	ctx, id := c.UserContext(), c.Params("id")
	if err := s.store.UpdateSource(ctx, id, catalog.SourceChange{Name: body.Name, Schedule: body.Schedule}); err != nil {
		return err
	}
	if body.Enabled != nil {
		if err := s.store.EnableSource(ctx, id, *body.Enabled); err != nil {
			return err
		}
	}
	row, err := s.store.Source(ctx, id)
	if err != nil {
		return err
	}
	return c.JSON(sourceOf(row))
}

// Delete serves DELETE /api/catalog/sources/:id.
func (s *Sources) Delete(c *fiber.Ctx) error {
	if err := s.store.RemoveSource(c.UserContext(), c.Params("id")); err != nil {
		return err
	}
	return c.SendStatus(fiber.StatusNoContent)
}

// Run serves POST /api/catalog/sources/:id/run.
func (s *Sources) Run(c *fiber.Ctx) error { return s.sync(c, catalog.Run{}) }

// Preview serves POST /api/catalog/sources/:id/preview.
func (s *Sources) Preview(c *fiber.Ctx) error { return s.sync(c, catalog.Run{DryRun: true}) }

func (s *Sources) sync(c *fiber.Ctx, run catalog.Run) error {
	plan, err := s.store.SyncSource(c.UserContext(), c.Params("id"), run)
	if err != nil {
		return err
	}
	return c.JSON(planOf(plan))
}

// Approve serves POST /api/catalog/sources/:id/approve.
func (s *Sources) Approve(c *fiber.Ctx) error {
	var body struct {
		Removals int `json:"removals"`
	}
	if err := web.BindJSON(c, &body); err != nil {
		return err
	}
	plan, err := s.store.ApproveRemovals(c.UserContext(), c.Params("id"), body.Removals)
	if err != nil {
		return err
	}
	return c.JSON(planOf(plan))
}

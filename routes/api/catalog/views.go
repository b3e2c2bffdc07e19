package catalog

import (
	"net/url"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/api"
	"mcpgateway/services/catalog/registries"
	"mcpgateway/web"
)

// Views serves the views of the catalog.
type Views struct {
	store  *registries.Store
	public *url.URL
}

// NewViews returns the handlers. public is the gateway's origin.
func NewViews(store *registries.Store, public *url.URL) *Views { return &Views{store, public} }

type viewRecord struct {
	Name      string                 `json:"name"`
	Title     string                 `json:"title"`
	Kind      models.CatalogViewKind `json:"kind"`
	Query     string                 `json:"query"`
	Gated     bool                   `json:"gated"`
	URL       string                 `json:"url"` // for editors
	CreatedAt time.Time              `json:"createdAt"`
	UpdatedAt time.Time              `json:"updatedAt"`
}

func (v *Views) record(row models.CatalogView) viewRecord {
	return viewRecord{
		Name: row.Name, Title: row.Title, Kind: row.Kind, Query: row.Query, Gated: row.Gated, URL: v.public.String() + "/views/" + row.Name,
		CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt,
	}
}

// List serves GET /api/catalog/views.
func (v *Views) List(c *fiber.Ctx) error {
	rows, err := v.store.Views(c.UserContext())
	if err != nil {
		return err
	}
	return api.RespondList(c, rows, func(row registries.View) viewRecord { return v.record(row.CatalogView) })
}

// Get serves GET /api/catalog/views/:view, with the ids of a list's rows.
func (v *Views) Get(c *fiber.Ctx) error {
	row, err := v.store.View(c.UserContext(), c.Params("view"))
	if err != nil {
		return err
	}
	answer := struct {
		viewRecord
		Entries []string `json:"entries"`
	}{v.record(row), []string{}}
	ids, err := v.store.Approved(c.UserContext(), row.ID)
	if err != nil {
		return err
	}
	answer.Entries = append(answer.Entries, ids...)
	return c.JSON(answer)
}

// newView is the body of a new view.
type newView struct {
	Name  string                 `json:"name"`
	Title string                 `json:"title"`
	Kind  models.CatalogViewKind `json:"kind"`
	Query string                 `json:"query"`
	Gated bool                   `json:"gated"`
}

// Create serves POST /api/catalog/views.
func (v *Views) Create(c *fiber.Ctx) error {
	var body newView
	if err := web.BindJSON(c, &body); err != nil {
		return err
	}
	row, err := v.store.Create(c.UserContext(), registries.NewView(body))
	if err != nil {
		return err
	}
	return c.Status(fiber.StatusCreated).JSON(v.record(row))
}

// viewChange is the body of a change. Absent keys keep their value.
type viewChange struct {
	Title *string `json:"title"`
	Query *string `json:"query"`
	Gated *bool   `json:"gated"`
}

// Update serves PATCH /api/catalog/views/:view.
func (v *Views) Update(c *fiber.Ctx) error {
	var body viewChange
	if err := web.BindJSON(c, &body); err != nil {
		return err
	}
	row, err := v.store.Update(c.UserContext(), c.Params("view"), registries.Change(body))
	if err != nil {
		return err
	}
	return c.JSON(v.record(row))
}

// Delete serves DELETE /api/catalog/views/:view.
func (v *Views) Delete(c *fiber.Ctx) error {
	return noContent(c, v.store.Delete(c.UserContext(), c.Params("view")))
}

// AddEntry serves PUT /api/catalog/views/:view/entries/:entryId.
func (v *Views) AddEntry(c *fiber.Ctx) error {
	return noContent(c, v.store.AddEntry(c.UserContext(), c.Params("view"), c.Params("entryId")))
}

// RemoveEntry serves DELETE /api/catalog/views/:view/entries/:entryId.
func (v *Views) RemoveEntry(c *fiber.Ctx) error {
	return noContent(c, v.store.RemoveEntry(c.UserContext(), c.Params("view"), c.Params("entryId")))
}

// noContent responds with 204 unless work failed.
func noContent(c *fiber.Ctx, err error) error {
	if err != nil {
		return err
	}
	return c.SendStatus(fiber.StatusNoContent)
}

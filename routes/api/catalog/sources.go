package catalog

import (
	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/api"
	"mcpgateway/services/catalog"
)

// Sources serves the sources of the catalog.
type Sources struct{ store *catalog.Store }

// NewSources returns the handlers.
func NewSources(store *catalog.Store) *Sources { return &Sources{store} }

type sourceRecord struct {
	ID string `json:"id"`
}

func sourceOf(row models.CatalogSource) sourceRecord { return sourceRecord{ID: row.ID} }

// List serves GET /api/catalog/sources.
func (s *Sources) List(c *fiber.Ctx) error {
	rows, err := s.store.Sources(c.UserContext())
	if err != nil {
		return err
	}
	return api.RespondList(c, rows, sourceOf)
}

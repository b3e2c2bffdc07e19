package registry

import (
	"net/url"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/catalog"
	"mcpgateway/services/fault"
	"mcpgateway/services/page"
	"mcpgateway/services/query"
)

// V01 serves the registry in the format of the official MCP registry
// API, for editors and other registries.
type V01 struct {
	catalog *catalog.Catalog
}

// NewV01 returns the handlers.
func NewV01(c *catalog.Catalog) *V01 { return &V01{catalog: c} }

// List serves GET /v0.1/servers.
func (r *V01) List(c *fiber.Ctx) error {
	return cached(c, r.catalog, func() error {
		q, err := readParameters(c).official()
		if err != nil {
			return err
		}
		list, err := r.catalog.OfficialServers(c.UserContext(), q)
		if err != nil {
			return err
		}
		return c.JSON(list)
	})
}

// Versions serves GET /v0.1/servers/:name/versions.
func (r *V01) Versions(c *fiber.Ctx) error {
	return cached(c, r.catalog, func() error {
		list, err := r.versions(c)
		if err != nil {
			return err
		}
		return c.JSON(list)
	})
}

// Version serves GET /v0.1/servers/:name/versions/:version, also for latest.
func (r *V01) Version(c *fiber.Ctx) error {
	return cached(c, r.catalog, func() error {
		list, err := r.versions(c)
		if err != nil {
			return err
		}
		return c.JSON(list.Servers[0])
	})
}

// versions returns the versions in the path.
func (r *V01) versions(c *fiber.Ctx) (*catalog.OfficialList, error) {
	name, err := url.PathUnescape(c.Params("name"))
	if err != nil {
		return nil, fault.Invalid("Invalid name in the path.")
	}
	version, err := url.PathUnescape(c.Params("version"))
	if err != nil {
		return nil, fault.Invalid("Invalid version in the path.")
	}
	return r.catalog.OfficialVersions(c.UserContext(), name, version)
}

// official returns the page requested by the parameters of the official API.
// Unknown parameters are ignored, as in that API.
func (p parameters) official() (catalog.OfficialQuery, error) {
	q := catalog.OfficialQuery{Cursor: p.first("cursor"), Search: p.first("search"), Version: p.first("version")}
	if len(q.Search) > query.MaxCodePoints {
		return q, fault.Invalid("search has %d bytes; the maximum is %d. Shorten it.", len(q.Search), query.MaxCodePoints)
	}
	var err error
	limit := page.Range{Name: "limit", Min: 1, Max: catalog.OfficialMaxLimit, Default: catalog.OfficialDefaultLimit}
	if q.Limit, err = limit.Parse(p.first("limit")); err != nil {
		return q, err
	}
	if since := p.first("updated_since"); since != "" {
		if q.UpdatedSince, err = time.Parse(time.RFC3339, since); err != nil {
			return q, fault.Invalid("updated_since must be a time such as 2026-01-31T09:00:00Z.")
		}
	}
	deleted, err := p.flag("include_deleted")
	q.IncludeDeleted = deleted != nil && *deleted
	return q, err
}

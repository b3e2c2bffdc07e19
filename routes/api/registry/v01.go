package registry

import (
	"net/url"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/catalog"
	"mcpgateway/services/fault"
	"mcpgateway/services/page"
	"mcpgateway/services/query"
	"mcpgateway/web"
)

// V01 serves the registry in the format of the official MCP registry
// API, for editors and other registries.
type V01 struct {
	catalog *catalog.Catalog
}

// NewV01 returns the handlers.
func NewV01(c *catalog.Catalog) *V01 { return &V01{catalog: c} }

// List serves GET /v0.1/servers.
func (r *V01) List(c *fiber.Ctx) error { return official(c, r.list(c, served{})) }

// Versions serves GET /v0.1/servers/:name/versions.
func (r *V01) Versions(c *fiber.Ctx) error { return official(c, r.versions(c, served{})) }

// Version serves GET /v0.1/servers/:name/versions/:version, also for latest.
func (r *V01) Version(c *fiber.Ctx) error { return official(c, r.version(c, served{})) }

// Unknown serves GET of other paths below /v0.1 with 404.
func (r *V01) Unknown(c *fiber.Ctx) error { return official(c, r.unknown(c, served{})) }

// served is the part of the catalog in a registry. The zero value is the whole catalog.
type served struct {
	selection *catalog.Selection
	mark      string // changes with the selection
	gated     bool
}

func (r *V01) list(c *fiber.Ctx, of served) error {
	return r.cached(c, of, func() error {
		q, err := readParameters(c).official()
		if err != nil {
			return err
		}
		q.Of = of.selection
		list, err := r.catalog.OfficialServers(c.UserContext(), q)
		if err != nil {
			return err
		}
		return c.JSON(list)
	})
}

func (r *V01) versions(c *fiber.Ctx, of served) error {
	return r.cached(c, of, func() error {
		list, err := r.named(c, of)
		if err != nil {
			return err
		}
		return c.JSON(list)
	})
}

func (r *V01) version(c *fiber.Ctx, of served) error {
	return r.cached(c, of, func() error {
		list, err := r.named(c, of)
		if err != nil {
			return err
		}
		return c.JSON(list.Servers[0])
	})
}

func (r *V01) unknown(c *fiber.Ctx, _ served) error {
	return fault.NotFound("path", c.Path())
}

// cached responds with 304 if the client's copy is current. Responses of gated
// registries are not stored by caches.
func (r *V01) cached(c *fiber.Ctx, of served, answer func() error) error {
	if of.gated {
		c.Set(fiber.HeaderCacheControl, "private, no-store")
		c.Vary(fiber.HeaderAuthorization)
		return answer()
	}
	if web.Unchanged(c, web.ETag(r.catalog.Version(), of.mark, c.OriginalURL()), publicCache) {
		return nil
	}
	err := answer()
	if err != nil {
		c.Response().Header.Del(fiber.HeaderETag)
	}
	return err
}

// named returns the versions of the server in the path.
func (r *V01) named(c *fiber.Ctx, of served) (*catalog.OfficialList, error) {
	q := catalog.OfficialVersion{Of: of.selection}
	var err error
	if q.Name, err = url.PathUnescape(c.Params("name")); err != nil {
		return nil, fault.Invalid("Invalid name in the path.")
	}
	if q.Version, err = url.PathUnescape(c.Params("version")); err != nil {
		return nil, fault.Invalid("Invalid version in the path.")
	}
	deleted, err := readParameters(c).flag("include_deleted")
	if err != nil {
		return nil, err
	}
	q.IncludeDeleted = deleted != nil && *deleted
	return r.catalog.OfficialVersions(c.UserContext(), q)
}

// official responds to NOT_FOUND in the form of the official API. It returns
// other errors unchanged.
func official(c *fiber.Ctx, err error) error {
	if !fault.Is(err, fault.CodeNotFound) {
		return err
	}
	f := fault.From(err)
	web.EventOf(c).Fault(f)
	c.Set(fiber.HeaderCacheControl, "no-store")
	return c.Status(web.StatusOf(f)).JSON(struct {
		Error string `json:"error"`
	}{f.Message})
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

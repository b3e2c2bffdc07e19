// Package palette serves the search of everything that an administrator or viewer
// can open or do.
package palette

import (
	"context"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/admin"
	"mcpgateway/services/access"
	"mcpgateway/services/access/reach"
	"mcpgateway/services/catalog"
	views "mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/web"
)

// maxQuery is the number of characters of a query that are used.
const maxQuery = 100

// Keys lists the keys of a project.
type Keys interface {
	List(ctx context.Context, projectID string) ([]models.Key, error)
}

// Users lists the users.
type Users interface {
	List(ctx context.Context) ([]access.User, error)
}

// Palette serves the palette.
type Palette struct {
	pages   *admin.ProjectPages
	catalog *catalog.Catalog
	keys    Keys
	users   Users
}

// New returns the handler.
func New(pages *admin.ProjectPages, c *catalog.Catalog, keys Keys, users Users) *Palette {
	return &Palette{pages, c, keys, users}
}

// Show serves GET /admin/palette?query=&dialog=&from=: the palette as a page, or
// its content for the dialog on the page with the path from.
func (p *Palette) Show(c *fiber.Ctx) error {
	query := strings.TrimSpace(c.Query("query"))
	if r := []rune(query); len(r) > maxQuery {
		query = string(r[:maxQuery])
	}
	slug := c.Cookies(admin.ProjectCookie)
	if rest, inProject := strings.CutPrefix(c.Query("from"), "/admin/projects/"); inProject {
		slug, _, _ = strings.Cut(rest, "/")
	}
	s := &search{Palette: p, text: query, slug: slug, mine: reach.Of(c.UserContext())}
	groups, err := s.groups(c.UserContext())
	if err != nil {
		return err
	}
	props := views.PaletteProps{Query: query, Groups: groups}
	c.Set(fiber.HeaderCacheControl, "no-store")
	if c.Query("dialog") != "" {
		return web.Render(c, layout.Fragment(p.pages.Assets, views.PaletteDialog(props)))
	}
	props.Frame = p.pages.Frame(c, "Search", layout.SectionNone)
	return web.Render(c, views.Palette(props))
}

// Package frame has the common parts of all pages: the frame with the signed-in
// user, the message of the last action, errors of forms, conflicting changes,
// and live responses that show progress.
package frame

import (
	"context"

	"mcpgateway/web/compress"
	"mcpgateway/web/guard"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/views/layout"
)

// Pages render the frame of every page.
type Pages struct {
	Assets layout.Assets
	// Banners returns the permanent messages on every page for a user with the
	// role. On failure it returns none.
	Banners func(ctx context.Context, role string) []layout.Banner
	// Nav returns the data of the side bar for a user with the role.
	Nav func(c *fiber.Ctx, role string) *layout.Nav
}

// NewPages returns the frame of the pages. banners and nav may be nil.
func NewPages(assets layout.Assets, banners func(ctx context.Context, role string) []layout.Banner, nav func(c *fiber.Ctx, role string) *layout.Nav) *Pages {
	return &Pages{Assets: assets, Banners: banners, Nav: nav}
}

// Frame returns the frame of one page: the signed-in user, permanent messages
// and the result of the last action, whose cookie it deletes. Pages of the
// administration are not cached.
func (p *Pages) Frame(c *fiber.Ctx, title string, section layout.Section) layout.Frame {
	c.Set(fiber.HeaderCacheControl, "no-store")
	f := layout.Frame{Assets: p.Assets, Title: title, Section: section, Flash: takeFlash(c), Crumbs: []layout.Crumb{{Label: title}}}
	if f.Flash != nil && f.Flash.Undo != "" {
		compress.Never(c) // the token is a secret
	}
	person := guard.UserOf(c)
	if person == nil {
		return f
	}
	f.Person = &layout.Person{Name: person.Name, Email: person.Email, Role: person.Role, CSRF: guard.MaskToken(person.CSRF)}
	if person.MustSetUp {
		f.Person.Role = layout.RoleMember // pages show no controls and no projects
		return f
	}
	if p.Banners != nil {
		f.Banners = p.Banners(c.UserContext(), person.Role)
	}
	if p.Nav != nil {
		f.Nav = p.Nav(c, person.Role)
	}
	// The pages of the administration show members only projects that they
	// maintain.
	f.Controls = person.Role == guard.RoleMember && f.Nav != nil
	return f
}

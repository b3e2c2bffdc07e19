// Package frame holds what every page needs, whoever it is for: the frame with
// who is signed in, the message of the last action, what is wrong with a form,
// forms that somebody else saved meanwhile, and responses that show work as it
// goes on.
package frame

import (
	"context"

	"mcpgateway/web/compress"
	"mcpgateway/web/guard"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/views/layout"
)

// Pages are what every page is drawn with.
type Pages struct {
	Assets layout.Assets
	// Banners returns the standing messages above every page for a person of
	// the role; a failure leaves them out.
	Banners func(ctx context.Context, role string) []layout.Banner
}

// NewPages returns the frame of the pages. banners may be nil.
func NewPages(assets layout.Assets, banners func(ctx context.Context, role string) []layout.Banner) *Pages {
	return &Pages{Assets: assets, Banners: banners}
}

// Frame returns the frame of one page: who is signed in, standing messages and
// the result of the last action, which is taken out of its cookie. Pages of
// the administration are kept by nobody.
func (p *Pages) Frame(c *fiber.Ctx, title string, section layout.Section) layout.Frame {
	c.Set(fiber.HeaderCacheControl, "no-store")
	f := layout.Frame{Assets: p.Assets, Title: title, Section: section, Flash: takeFlash(c)}
	if f.Flash != nil && f.Flash.Undo != "" {
		compress.Never(c) // it is a token, too
	}
	person := guard.PersonOf(c)
	if person == nil {
		return f
	}
	f.Person = &layout.Person{Name: person.Name, Email: person.Email, Role: person.Role, CSRF: guard.MaskToken(person.CSRF)}
	if p.Banners != nil {
		f.Banners = p.Banners(c.UserContext(), person.Role)
	}
	return f
}

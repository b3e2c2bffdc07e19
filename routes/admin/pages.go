// Package admin serves the administration in a browser.
package admin

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/fault"
	"mcpgateway/views/layout"
	"mcpgateway/web/compress"
	"mcpgateway/web/guard"
)

// Pages are what every page of the administration is drawn with.
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

// Done answers a form that was carried out: the browser goes to the page that
// shows the result, with a message.
func Done(c *fiber.Ctx, to, message string) error {
	putFlash(c, layout.Flash{Tone: "ok", Text: message})
	return c.Redirect(to, fiber.StatusSeeOther)
}

// Failed answers a form of one button that could not be carried out for a
// reason that the person can do something about: the page it came from says
// why. It returns other errors as they are.
func Failed(c *fiber.Ctx, to string, err error) error {
	switch f := fault.From(err); f.Kind {
	case fault.KindConflict, fault.KindValidation, fault.KindInvalid, fault.KindUpstream, fault.KindUnavailable, fault.KindDisabled, fault.KindRateLimited:
		putFlash(c, layout.Flash{Tone: "bad", Text: f.AdminMessage()})
		return c.Redirect(to, fiber.StatusSeeOther)
	default:
		return err
	}
}

// Fields returns what is wrong with a form, by the names of its fields, and
// sets the status 422 with which the form is shown again. ok is false for an
// error that is not about the form: it is the answer then. A message about the
// form as a whole stands under "".
func Fields(c *fiber.Ctx, err error) (fields map[string]string, ok bool) {
	f := fault.From(err)
	switch f.Kind {
	case fault.KindValidation, fault.KindConflict, fault.KindInvalid, fault.KindDisabled:
	default:
		return nil, false
	}
	c.Status(fiber.StatusUnprocessableEntity)
	fields = map[string]string{}
	for name, problem := range f.Fields {
		fields[name] = problem
	}
	if len(fields) == 0 {
		fields[""] = f.AdminMessage()
	}
	return fields, true
}

package public

import (
	"bytes"
	"net/url"
	"strings"

	"github.com/a-h/templ"
	"github.com/gofiber/fiber/v2"

	"mcpgateway/routes/frame"
	"mcpgateway/views/layout"
	"mcpgateway/views/public"
	"mcpgateway/web"
	"mcpgateway/web/guard"
)

// How long the pages may be kept: by anybody for a moment, and by the browser
// of somebody who is signed in only as long as they are unchanged.
const (
	visitorCache = "public, max-age=60"
	personCache  = "private, no-cache"
)

// Pages are what every page of the public catalog is drawn with.
type Pages struct {
	frames    *frame.Pages
	publicURL *url.URL
}

// NewPages returns the frame of the public pages; their absolute addresses
// begin with publicURL.
func NewPages(frames *frame.Pages, publicURL *url.URL) *Pages {
	return &Pages{frames: frames, publicURL: publicURL}
}

// about is what a page says of itself.
type about struct {
	title       string
	description string
	path        string // with the query that belongs to it
	section     layout.Section
	data        any // schema.org data; may be nil
	noIndex     bool
}

// frame returns the frame of one page.
func (p *Pages) frame(c *fiber.Ctx, a about) layout.Frame {
	f := p.frames.Frame(c, a.title, a.section)
	f.Description, f.CanonicalURL = a.description, p.absolute(a.path)
	f.Head = public.Head(public.HeadProps{
		Title: a.title, Description: a.description, URL: f.CanonicalURL, FeedURL: p.absolute("/feed.atom"), Data: a.data, NoIndex: a.noIndex,
	})
	return f
}

// absolute returns the address of a path of this gateway.
func (p *Pages) absolute(path string) string { return p.publicURL.String() + path }

// answer answers with a page under the status that is set. A good page carries
// a tag of what it says, so that it travels once; a page with a message that is
// shown once and a page about a failure are kept by nobody.
func answer(c *fiber.Ctx, f layout.Frame, page templ.Component) error {
	return answerList(c, f, page, "", "")
}

// answerList does the same for a page with a cursor. Cursors are sealed and
// tokens of forms masked anew each time: the tag is made of the catalog's
// version and the session's token in their place.
func answerList(c *fiber.Ctx, f layout.Frame, page templ.Component, cursor, version string) error {
	var body bytes.Buffer
	if err := page.Render(c.UserContext(), &body); err != nil {
		return err
	}
	c.Set(fiber.HeaderContentType, fiber.MIMETextHTMLCharsetUTF8)
	if c.Response().StatusCode() != fiber.StatusOK || f.Flash != nil {
		c.Set(fiber.HeaderCacheControl, "no-store")
		return c.Send(body.Bytes())
	}
	keep, says, session := visitorCache, body.String(), ""
	if p := guard.PersonOf(c); p != nil {
		keep, session = personCache, p.CSRF
	}
	for _, random := range []string{cursor, f.CSRF()} {
		if random != "" {
			says = strings.ReplaceAll(says, random, "")
		}
	}
	if web.Unchanged(c, web.ETag(says, version, session), keep) {
		return nil
	}
	return c.Send(body.Bytes())
}

// status sets the status of a failure that the page itself explains. A part of
// a page that is replaced while someone types is never a failure of its own.
func status(c *fiber.Ctx, err error) {
	if c.Get("HX-Request") != "true" {
		c.Status(web.StatusOf(err))
	}
	c.Set(fiber.HeaderCacheControl, "no-store")
	c.Vary("HX-Request")
}

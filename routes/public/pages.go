package public

import (
	"bytes"
	"net/url"
	"strings"

	"github.com/a-h/templ"
	"github.com/gofiber/fiber/v2"

	"mcpgateway/routes/frame"
	"mcpgateway/services/catalog"
	"mcpgateway/static"
	"mcpgateway/views/layout"
	"mcpgateway/views/public"
	"mcpgateway/web"
	"mcpgateway/web/guard"
)

// Cache-Control of the pages: shared caches may store them briefly. Pages of
// signed-in users are stored only by the browser and revalidated.
const (
	visitorCache = "public, max-age=60"
	personCache  = "private, no-cache"
)

// Pages render the pages of the public catalog.
type Pages struct {
	frames    *frame.Pages
	publicURL *url.URL
	entries   *entries
}

// NewPages returns the frame of the public pages. publicURL is the base of
// their absolute URLs.
func NewPages(frames *frame.Pages, publicURL *url.URL, c *catalog.Catalog, icons *frame.Icons) *Pages {
	return &Pages{frames: frames, publicURL: publicURL, entries: &entries{c, icons}}
}

// pageMeta is the metadata of a page.
type pageMeta struct {
	title       string
	description string
	path        string // including its query
	section     layout.Section
	data        any    // schema.org data; may be nil
	image       string // path of the picture that other sites show; empty for the product's
	noIndex     bool
	crumbs      []layout.Crumb // for signed-in users; the title unless it is set
}

// frame returns the frame of one page.
func (p *Pages) frame(c *fiber.Ctx, a pageMeta) layout.Frame {
	f := p.frames.Frame(c, a.title, a.section)
	if len(a.crumbs) > 0 {
		f.Crumbs = a.crumbs
	}
	image, alt := a.image, a.title
	if image == "" {
		image, alt = static.URL("og.png"), "Gateway: one endpoint for all your MCP servers"
	}
	f.Description, f.CanonicalURL = a.description, p.absolute(a.path)
	f.Head = public.Head(public.HeadProps{
		Title: a.title, Description: a.description, URL: f.CanonicalURL, ImageURL: p.absolute(image), ImageAlt: alt, FeedURL: p.absolute("/feed.atom"), Data: a.data, NoIndex: a.noIndex,
	})
	return f
}

// absolute returns the absolute URL of a path.
func (p *Pages) absolute(path string) string { return p.publicURL.String() + path }

// render responds with a page and the current status. A successful page has an
// ETag of its content. Error pages, and pages with a message that is shown
// once, are not cached. Masked CSRF tokens differ in every response, so the
// ETag uses the session's token instead.
func render(c *fiber.Ctx, f layout.Frame, page templ.Component) error {
	var body bytes.Buffer
	if err := page.Render(c.UserContext(), &body); err != nil {
		return err
	}
	c.Set(fiber.HeaderContentType, fiber.MIMETextHTMLCharsetUTF8)
	if c.Response().StatusCode() != fiber.StatusOK || f.Flash != nil {
		c.Set(fiber.HeaderCacheControl, "no-store")
		return c.Send(body.Bytes())
	}
	keep, content, session := visitorCache, body.String(), ""
	if p := guard.UserOf(c); p != nil {
		keep, session = personCache, p.CSRF
	}
	if f.CSRF() != "" {
		content = strings.ReplaceAll(content, f.CSRF(), "")
	}
	if web.Unchanged(c, web.ETag(content, session), keep) {
		return nil
	}
	return c.Send(body.Bytes())
}

// status sets the status of an error that the page itself explains. It is 200
// for the fragments that replace a part of the page while the user types.
func status(c *fiber.Ctx, err error) {
	if c.Get("HX-Request") != "true" {
		c.Status(web.StatusOf(err))
	}
	c.Set(fiber.HeaderCacheControl, "no-store")
	c.Vary("HX-Request")
}

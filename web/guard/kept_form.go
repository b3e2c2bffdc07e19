package guard

import (
	"context"
	"net/url"
	"slices"

	"mcpgateway/web"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

// Form is a posted form that waits until its user has signed in or confirmed
// who they are.
type Form struct {
	Method, URL, ContentType string
	Body                     []byte
}

// FormKeeper stores forms for their users, sealed and for a short time.
type FormKeeper interface {
	// Keep returns the token with which the form is found again.
	Keep(ctx context.Context, p *Person, form Form) (token string, err error)
}

// keep stores the form of the request for p and returns its token, or "" for a
// request that does not post a form of the administration.
func (g *Guards) keep(c *fiber.Ctx, p *Person) (token string, err error) {
	if onlyReads(c) || g.options.Forms == nil || !g.options.KeepsForm(c.Path()) {
		return "", nil
	}
	form := Form{Method: c.Method(), URL: c.OriginalURL(), ContentType: c.Get(fiber.HeaderContentType), Body: slices.Clone(c.BodyRaw())}
	return g.options.Forms.Keep(c.UserContext(), p, form)
}

// KeepUndo stores the form that takes back what the request does, and returns
// its token: "" without a user.
func (g *Guards) KeepUndo(c *fiber.Ctx, path string, form url.Values) (token string, err error) {
	p := PersonOf(c)
	if p == nil || g.options.Forms == nil {
		return "", nil
	}
	kept := Form{Method: fiber.MethodPost, URL: path, ContentType: fiber.MIMEApplicationForm, Body: []byte(form.Encode())}
	return g.options.Forms.Keep(c.UserContext(), p, kept)
}

// keepExpired is keep for a form that came after its session had expired. Only
// what a page of ours sent with that session's token is stored.
func (g *Guards) keepExpired(c *fiber.Ctx) (token string, err error) {
	cookie := g.SessionCookie(c)
	if onlyReads(c) || g.options.Forms == nil || cookie == "" || !g.fromOwnPages(c) {
		return "", nil
	}
	p, err := g.options.Sessions.Expired(c.UserContext(), cookie)
	if err != nil || p == nil || !carriesToken(c, p) {
		return "", err
	}
	return g.keep(c, p)
}

// Replay handles the request as if its browser had just posted the form in the
// session of the cookie and the token: every guard of the form's route
// applies again. Its user must have confirmed the request by this one.
func (g *Guards) Replay(c *fiber.Ctx, form Form, cookie, csrf string) error {
	method, path := c.Method(), c.Path()
	again := fasthttp.AcquireRequest()
	defer fasthttp.ReleaseRequest(again)
	c.Request().Header.CopyTo(&again.Header)
	again.Header.SetMethod(form.Method)
	again.SetRequestURI(form.URL)
	again.Header.SetContentType(form.ContentType)
	again.Header.SetContentLength(len(form.Body))
	for _, name := range []string{fiber.HeaderAuthorization, fiber.HeaderOrigin, fiber.HeaderContentEncoding, "HX-Request", "HX-Current-URL"} {
		again.Header.Del(name)
	}
	again.Header.Set(fiber.HeaderAccept, fiber.MIMETextHTML)
	again.Header.Set("Sec-Fetch-Site", "same-origin")
	again.Header.Set(CSRFHeader, MaskToken(csrf))
	again.Header.SetCookie(g.sessionName(), cookie)
	again.SetBodyRaw(form.Body)
	again.CopyTo(c.Request())
	c.Method(form.Method)
	c.Path(string(c.Request().URI().PathOriginal()))
	defer func() { // the log line of this request is still to be written
		c.Method(method)
		c.Path(path)
	}()
	return c.RestartRouting()
}

// pageOf returns the page of ours that a request came from, as a path, or "".
func (g *Guards) pageOf(c *fiber.Ctx) string {
	if at := c.Get("HX-Current-URL"); at != "" {
		u, err := url.Parse(at)
		if err != nil {
			return ""
		}
		return u.RequestURI()
	}
	if onlyReads(c) {
		return c.OriginalURL()
	}
	u, err := url.Parse(c.Get(fiber.HeaderReferer))
	if err != nil || u.Host == "" || web.OriginOf(u) != g.origin {
		return ""
	}
	return u.RequestURI()
}

package guard

import (
	"context"
	"net/url"
	"slices"

	"mcpgateway/web"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

// Form is a posted form that is stored until its user has signed in or
// confirmed the password.
type Form struct {
	Method, URL, ContentType string
	Body                     []byte
}

// FormKeeper stores forms for their users, encrypted and for a short time.
type FormKeeper interface {
	// Keep stores the form and returns its token.
	Keep(ctx context.Context, p *User, form Form) (token string, err error)
}

// keep stores the form of the request for p and returns its token. It returns
// "" for a request that is not a form of the administration.
func (g *Guards) keep(c *fiber.Ctx, p *User) (token string, err error) {
	if onlyReads(c) || g.options.Forms == nil || !g.options.KeepsForm(c.Path()) {
		return "", nil
	}
	form := Form{Method: c.Method(), URL: c.OriginalURL(), ContentType: c.Get(fiber.HeaderContentType), Body: slices.Clone(c.BodyRaw())}
	return g.options.Forms.Keep(c.UserContext(), p, form)
}

// KeepUndo stores the form that reverts the request and returns its token, or
// "" without a user.
func (g *Guards) KeepUndo(c *fiber.Ctx, path string, form url.Values) (token string, err error) {
	p := UserOf(c)
	if p == nil || g.options.Forms == nil {
		return "", nil
	}
	kept := Form{Method: fiber.MethodPost, URL: path, ContentType: fiber.MIMEApplicationForm, Body: []byte(form.Encode())}
	return g.options.Forms.Keep(c.UserContext(), p, kept)
}

// keepExpired is like keep, for a form posted after its session expired. It
// only stores forms that a page of the gateway sent with that session's CSRF
// token.
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

// Replay handles the request as if the browser had just posted the form with
// the given session cookie and CSRF token. All guards of the form's route
// apply. The current request must have confirmed the user's intent.
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
	defer func() { // the log line of this request is written later
		c.Method(method)
		c.Path(path)
	}()
	return c.RestartRouting()
}

// pageOf returns the path of the gateway's page that sent a request, or "".
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

package guard

import (
	"context"
	"mime/multipart"
	"net/url"
	"slices"

	"mcpgateway/web"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

// MaxForm is the maximum size in bytes of a form that is stored until its user
// has signed in or confirmed the password. Larger ones must be entered again.
const MaxForm = 64 << 10

// Form is a posted form that is stored until its user has signed in or
// confirmed the password.
type Form struct {
	Method, URL, ContentType string
	Body                     []byte
	Draft                    bool // fills the page's form again instead of being sent
	Files                    bool // its files were left out and must be chosen again
}

// FormKeeper stores forms for their users, encrypted and for a short time.
type FormKeeper interface {
	// Keep stores the form and returns its token.
	Keep(ctx context.Context, p *User, form Form) (token string, err error)
}

// keptForm is the outcome of storing the form of a request.
type keptForm struct {
	token string // of the stored form; empty if none was stored
	large bool   // the form is larger than MaxForm and was not stored
}

// keep stores the form of the request for p. A draft is not sent later, but
// fills the form of its page. Requests that are not forms of the administration
// are not stored.
func (g *Guards) keep(c *fiber.Ctx, p *User, draft bool) (keptForm, error) {
	if onlyReads(c) || g.options.Forms == nil || !g.options.KeepsForm(c.Path()) {
		return keptForm{}, nil
	}
	form := Form{Method: c.Method(), URL: c.OriginalURL(), ContentType: c.Get(fiber.HeaderContentType), Body: slices.Clone(c.BodyRaw()), Draft: draft}
	if parts, err := c.Request().MultipartForm(); err == nil && c.Get(fiber.HeaderContentEncoding) == "" {
		form.ContentType, form.Body = fiber.MIMEApplicationForm, []byte(url.Values(parts.Value).Encode())
		form.Files = hasFiles(parts)
		form.Draft = draft || form.Files
	}
	if len(form.Body) > MaxForm {
		return keptForm{large: true}, nil
	}
	token, err := g.options.Forms.Keep(c.UserContext(), p, form)
	return keptForm{token: token}, err
}

// hasFiles reports whether the user chose a file in the form.
func hasFiles(parts *multipart.Form) bool {
	for _, files := range parts.File {
		for _, file := range files {
			if file.Filename != "" {
				return true
			}
		}
	}
	return false
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

// keepExpired stores the form of a request whose session expired as a draft. It
// only stores forms that a page of the gateway sent with that session's CSRF
// token.
func (g *Guards) keepExpired(c *fiber.Ctx) (keptForm, error) {
	cookie := g.SessionCookie(c)
	if onlyReads(c) || g.options.Forms == nil || cookie == "" || !g.fromOwnPages(c) {
		return keptForm{}, nil
	}
	p, err := g.options.Sessions.Expired(c.UserContext(), cookie)
	if err != nil || p == nil || !carriesToken(c, p) {
		return keptForm{}, err
	}
	return g.keep(c, p, true)
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

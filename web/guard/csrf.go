package guard

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"net/url"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/fault"
	"mcpgateway/web"
)

// Places of the session's token in a request.
const (
	CSRFField  = "csrf"
	CSRFHeader = "X-CSRF-Token"
)

// checkForgery rejects cross-site requests. Requests with methods other than GET
// and HEAD must come from the gateway's own pages with the CSRF token.
// Programs with the administration token send no cookie and need neither.
func (g *Guards) checkForgery(c *fiber.Ctx) error {
	if onlyReads(c) || c.Locals(tokenKey) != nil {
		return c.Next()
	}
	p := UserOf(c)
	if p == nil {
		return fault.Unauthorized()
	}
	if !g.fromOwnPages(c) {
		return forged()
	}
	if !carriesToken(c, p) {
		return fault.Forbidden("This page has expired. Reload it and try again.")
	}
	if c.Get(headerConfirm) != "" && !isAPI(c) {
		return g.confirm(c, p)
	}
	return c.Next()
}

// carriesToken reports whether the request has the CSRF token of the session.
func carriesToken(c *fiber.Ctx, p *User) bool {
	masked := c.Get(CSRFHeader)
	if masked == "" {
		masked = web.FormValue(c, CSRFField)
	}
	given, ok := unmaskToken(masked)
	return ok && p.CSRF != "" && subtle.ConstantTimeCompare(given, []byte(p.CSRF)) == 1
}

// MaskToken returns the token for one response: a random pad, and the token
// XORed with it. The result differs every time, so that the size of compressed
// pages reveals nothing about the token (BREACH). The mask of an empty token is
// empty.
func MaskToken(token string) string {
	if token == "" {
		return ""
	}
	masked := make([]byte, 2*len(token))
	pad := masked[:len(token)]
	_, _ = rand.Read(pad) // never fails
	subtle.XORBytes(masked[len(token):], pad, []byte(token))
	return base64.RawURLEncoding.EncodeToString(masked)
}

// unmaskToken returns the token that MaskToken masked. ok is false for an
// invalid mask.
func unmaskToken(masked string) (token []byte, ok bool) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(masked)
	if err != nil || len(b) == 0 || len(b)%2 != 0 {
		return nil, false
	}
	token = make([]byte, len(b)/2)
	subtle.XORBytes(token, b[:len(token)], b[len(token):])
	return token, true
}

// checkOwnPages rejects cross-site requests where there is no session with a
// token.
func (g *Guards) checkOwnPages(c *fiber.Ctx) error {
	if !onlyReads(c) && !g.fromOwnPages(c) {
		return forged()
	}
	return c.Next()
}

func onlyReads(c *fiber.Ctx) bool {
	return c.Method() == fiber.MethodGet || c.Method() == fiber.MethodHead
}

// fromOwnPages reports whether one of the gateway's pages, or the user in the
// address bar, made the request (W3C Fetch Metadata). Without that header, as
// on http, every Origin header must be the gateway's own. A request with
// neither header is rejected.
func (g *Guards) fromOwnPages(c *fiber.Ctx) bool {
	if site := c.Get("Sec-Fetch-Site"); site != "" {
		return site == "same-origin" || site == "none"
	}
	origins := c.Request().Header.PeekAll(fiber.HeaderOrigin)
	for _, origin := range origins {
		u, err := url.Parse(string(origin))
		if err != nil || u.Host == "" || web.OriginOf(u) != g.origin {
			return false
		}
	}
	return len(origins) > 0
}

func forged() error {
	return fault.Forbidden("Cross-site requests are not allowed. Open the page again and retry.")
}

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

// Where a request carries the session's token.
const (
	CSRFField  = "csrf"
	CSRFHeader = "X-CSRF-Token"
)

// checkForgery refuses requests that another site made a browser send: what is
// not GET or HEAD must come from our own pages and carry the session's token.
// Programs with the administration token send no cookie and need neither.
func (g *Guards) checkForgery(c *fiber.Ctx) error {
	if onlyReads(c) || c.Locals(tokenKey) != nil {
		return c.Next()
	}
	p := PersonOf(c)
	if p == nil {
		return fault.Unauthorized()
	}
	if !g.fromOwnPages(c) {
		return forged()
	}
	if !carriesToken(c, p) {
		return fault.Forbidden("this form is out of date: load the page again and repeat what you did")
	}
	return c.Next()
}

// carriesToken reports whether the request carries the token of the session.
func carriesToken(c *fiber.Ctx, p *Person) bool {
	masked := c.Get(CSRFHeader)
	if masked == "" {
		masked = web.Posted(c, CSRFField)
	}
	given, ok := unmaskToken(masked)
	return ok && p.CSRF != "" && subtle.ConstantTimeCompare(given, []byte(p.CSRF)) == 1
}

// MaskToken returns the token for one response: a random pad, and the token
// combined with it. Its bytes differ every time, so that the sizes of
// compressed pages reveal nothing about the token (BREACH). The mask of an
// empty token is empty.
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

// unmaskToken returns the token that MaskToken masked; ok is false for what is
// not a masked token.
func unmaskToken(masked string) (token []byte, ok bool) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(masked)
	if err != nil || len(b) == 0 || len(b)%2 != 0 {
		return nil, false
	}
	token = make([]byte, len(b)/2)
	subtle.XORBytes(token, b[:len(token)], b[len(token):])
	return token, true
}

// checkOwnPages refuses what another site made a browser send where there is
// no session to hold a token.
func (g *Guards) checkOwnPages(c *fiber.Ctx) error {
	if !onlyReads(c) && !g.fromOwnPages(c) {
		return forged()
	}
	return c.Next()
}

func onlyReads(c *fiber.Ctx) bool {
	return c.Method() == fiber.MethodGet || c.Method() == fiber.MethodHead
}

// fromOwnPages reports whether the browser says that a page of ours, or the
// person at the address bar, made the request (W3C Fetch Metadata). Where it
// says nothing of the kind, as without https, the Origin header must be our
// own, each of them when there are several; a request with neither header is
// refused.
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
	return fault.Forbidden("this request did not come from a page of this gateway: open the page again and repeat what you did")
}

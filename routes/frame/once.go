package frame

import (
	"encoding/json"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/secrets"
	"mcpgateway/web/compress"
	"mcpgateway/web/guard"
)

// A secret that can't be read again reaches its page in a cookie, encrypted and
// bound to the session. Only that page receives the cookie. Reloading the page
// shows the secret again while the cookie lasts.
const (
	onceCookie  = "once"
	oncePurpose = "secret of a page v1"
	onceAge     = 10 * time.Minute
)

// onceShown is the content of the cookie.
type onceShown struct {
	SessionID string    `json:"sessionId"`
	Path      string    `json:"path"`
	Until     time.Time `json:"until"`
	Secret    string    `json:"secret"`
}

// PutOnce sets the cookie with a secret for the page at path.
func PutOnce(c *fiber.Ctx, seal *secrets.KeyRing, now time.Time, path string, secret secrets.Value) error {
	p := guard.UserOf(c)
	if p == nil {
		return nil // without a session the page shows no secret
	}
	plain, err := json.Marshal(onceShown{p.SessionID, path, now.Add(onceAge), secret.Reveal()})
	if err != nil {
		return err
	}
	c.Cookie(&fiber.Cookie{
		Name: onceCookie, Value: seal.SealToken(oncePurpose, plain), Path: path, Expires: now.Add(onceAge),
		HTTPOnly: true, Secure: c.Protocol() == "https", SameSite: fiber.CookieSameSiteLaxMode,
	})
	return nil
}

// Once returns the secret for this page, or "". It disables compression of the
// page, because compression can leak the secret.
func Once(c *fiber.Ctx, seal *secrets.KeyRing, now time.Time) string {
	value, p := c.Cookies(onceCookie), guard.UserOf(c)
	if value == "" || p == nil {
		return ""
	}
	plain, err := seal.OpenToken(oncePurpose, value)
	var shown onceShown
	if err != nil || json.Unmarshal(plain, &shown) != nil {
		return ""
	}
	if shown.SessionID != p.SessionID || shown.Path != c.Path() || !now.Before(shown.Until) {
		return ""
	}
	compress.Never(c)
	return shown.Secret
}

// TakeOnce is Once for a page that shows its secret a single time: it also deletes
// the cookie.
func TakeOnce(c *fiber.Ctx, seal *secrets.KeyRing, now time.Time) string {
	secret := Once(c, seal, now)
	if secret != "" {
		c.Cookie(&fiber.Cookie{
			Name: onceCookie, Path: c.Path(), Expires: now.Add(-time.Hour),
			HTTPOnly: true, Secure: c.Protocol() == "https", SameSite: fiber.CookieSameSiteLaxMode,
		})
	}
	return secret
}

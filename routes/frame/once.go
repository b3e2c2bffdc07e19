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
// shows the secret again while the cookie lasts, and never creates another one.
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
	setOnce(c, path, seal.SealToken(oncePurpose, plain), now.Add(onceAge))
	return nil
}

// PutOnceWith is PutOnce for a secret with more content, which is encoded as JSON.
func PutOnceWith(c *fiber.Ctx, seal *secrets.KeyRing, now time.Time, path string, content any) error {
	plain, err := json.Marshal(content)
	if err != nil {
		return err
	}
	return PutOnce(c, seal, now, path, secrets.NewValue(string(plain)))
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

// OnceWith reads the content for this page that PutOnceWith set, and reports whether
// there is any.
func OnceWith(c *fiber.Ctx, seal *secrets.KeyRing, now time.Time, content any) bool {
	plain := Once(c, seal, now)
	return plain != "" && json.Unmarshal([]byte(plain), content) == nil
}

// DropOnce deletes the cookie of the page at path.
func DropOnce(c *fiber.Ctx, now time.Time, path string) { setOnce(c, path, "", now.Add(-time.Hour)) }

// TakeOnce is Once for a page that shows its secret a single time: it also deletes
// the cookie.
func TakeOnce(c *fiber.Ctx, seal *secrets.KeyRing, now time.Time) string {
	secret := Once(c, seal, now)
	if secret != "" {
		DropOnce(c, now, c.Path())
	}
	return secret
}

func setOnce(c *fiber.Ctx, path, value string, expires time.Time) {
	c.Cookie(&fiber.Cookie{
		Name: onceCookie, Value: value, Path: path, Expires: expires,
		HTTPOnly: true, Secure: c.Protocol() == "https", SameSite: fiber.CookieSameSiteLaxMode,
	})
}

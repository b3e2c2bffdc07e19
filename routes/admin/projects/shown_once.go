package projects

import (
	"encoding/json"
	"time"

	"mcpgateway/web/compress"
	"mcpgateway/web/guard"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/secrets"
)

// A secret that is shown once is sent to its page in a cookie, encrypted and bound
// to the session. Only that page receives the cookie. The page deletes it, so
// reloading no longer shows the secret.
const (
	shownCookie  = "shown"
	shownPurpose = "secret shown once v1"
	shownAge     = 10 * time.Minute
)

// shownOnce is the content of the cookie.
type shownOnce struct {
	SessionID string    `json:"sessionId"`
	Path      string    `json:"path"`
	Until     time.Time `json:"until"`
	Secret    string    `json:"secret"`
	Note      string    `json:"note"` // about the replaced secret; may be empty
}

// putShown sets the cookie with a secret for the page at path.
func putShown(c *fiber.Ctx, seal *secrets.KeyRing, now time.Time, path, secret, note string) error {
	p := guard.UserOf(c)
	if p == nil {
		return nil // without a session the page shows no secret
	}
	plain, err := json.Marshal(shownOnce{p.SessionID, path, now.Add(shownAge), secret, note})
	if err != nil {
		return err
	}
	setShown(c, path, seal.SealToken(shownPurpose, plain), shownAge)
	return nil
}

// takeShown returns the secret for this page and deletes the cookie. It disables
// compression of the page, because compression can leak the secret.
func takeShown(c *fiber.Ctx, seal *secrets.KeyRing, now time.Time) (shown shownOnce, ok bool) {
	value, p := c.Cookies(shownCookie), guard.UserOf(c)
	if value == "" || p == nil || c.Method() != fiber.MethodGet {
		return shownOnce{}, false
	}
	setShown(c, c.Path(), "", -time.Hour)
	plain, err := seal.OpenToken(shownPurpose, value)
	if err != nil || json.Unmarshal(plain, &shown) != nil {
		return shownOnce{}, false
	}
	if shown.SessionID != p.SessionID || shown.Path != c.Path() || !now.Before(shown.Until) {
		return shownOnce{}, false
	}
	compress.Never(c)
	return shown, true
}

func setShown(c *fiber.Ctx, path, value string, age time.Duration) {
	c.Cookie(&fiber.Cookie{
		Name: shownCookie, Value: value, Path: path, Expires: time.Now().Add(age),
		HTTPOnly: true, Secure: c.Protocol() == "https", SameSite: fiber.CookieSameSiteLaxMode,
	})
}

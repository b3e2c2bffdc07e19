package keys

import (
	"encoding/json"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/secrets"
	"mcpgateway/web/compress"
	"mcpgateway/web/guard"
)

// The text of a new key reaches its page in a cookie, encrypted and bound to the
// session. Only that page receives the cookie. It lasts a few minutes, so that
// reloading the page shows the key again and never creates another one.
const (
	shownCookie  = "shown"
	shownPurpose = "secret shown once v1"
	shownAge     = 10 * time.Minute
)

// shown is the content of the cookie.
type shown struct {
	SessionID string    `json:"sessionId"`
	Path      string    `json:"path"`
	Until     time.Time `json:"until"`
	Secret    string    `json:"secret"`
	Replaced  bool      `json:"replaced"` // it is the successor of another key
	OldUntil  time.Time `json:"oldUntil"` // until which the other key works; zero if it stopped
}

// putShown sets the cookie of the page at path. Without a session the page shows
// no key.
func putShown(c *fiber.Ctx, seal *secrets.KeyRing, now time.Time, path string, s shown) error {
	p := guard.UserOf(c)
	if p == nil {
		return nil
	}
	s.SessionID, s.Path, s.Until = p.SessionID, path, now.Add(shownAge)
	plain, err := json.Marshal(s)
	if err != nil {
		return err
	}
	setShown(c, path, seal.SealToken(shownPurpose, plain), shownAge)
	return nil
}

// shownOf returns the key for this page. It disables compression of the page,
// because compression can leak the key.
func shownOf(c *fiber.Ctx, seal *secrets.KeyRing, now time.Time) (s shown, ok bool) {
	value, p := c.Cookies(shownCookie), guard.UserOf(c)
	if value == "" || p == nil {
		return shown{}, false
	}
	plain, err := seal.OpenToken(shownPurpose, value)
	if err != nil || json.Unmarshal(plain, &s) != nil {
		return shown{}, false
	}
	if s.SessionID != p.SessionID || s.Path != c.Path() || !now.Before(s.Until) {
		return shown{}, false
	}
	compress.Never(c)
	return s, true
}

// dropShown deletes the cookie of the page at path.
func dropShown(c *fiber.Ctx, path string) { setShown(c, path, "", -time.Hour) }

func setShown(c *fiber.Ctx, path, value string, age time.Duration) {
	c.Cookie(&fiber.Cookie{
		Name: shownCookie, Value: value, Path: path, Expires: time.Now().Add(age),
		HTTPOnly: true, Secure: c.Protocol() == "https", SameSite: fiber.CookieSameSiteLaxMode,
	})
}

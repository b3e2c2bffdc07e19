package projects

import (
	"encoding/json"
	"time"

	"mcpgateway/web/compress"
	"mcpgateway/web/guard"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/secrets"
)

// A secret that is shown once travels to its page in a cookie that only that
// page receives, sealed for the session. The page deletes the cookie, so
// loading it again shows the secret no more.
const (
	shownCookie  = "shown"
	shownPurpose = "secret shown once v1"
	shownAge     = 10 * time.Minute
)

// shownOnce is a secret on the way to its page.
type shownOnce struct {
	SessionID string    `json:"sessionId"`
	Path      string    `json:"path"`
	Until     time.Time `json:"until"`
	Secret    string    `json:"secret"`
	Note      string    `json:"note"` // about what the secret replaces; may be empty
}

// putShown sends a secret along with a redirect to the page at path.
func putShown(c *fiber.Ctx, seal *secrets.KeyRing, now time.Time, path, secret, note string) error {
	p := guard.PersonOf(c)
	if p == nil {
		return nil // the page then shows no secret
	}
	plain, err := json.Marshal(shownOnce{p.SessionID, path, now.Add(shownAge), secret, note})
	if err != nil {
		return err
	}
	setShown(c, path, seal.SealToken(shownPurpose, plain), shownAge)
	return nil
}

// takeShown returns the secret that was sent to this page, once. The page is not
// compressed.
func takeShown(c *fiber.Ctx, seal *secrets.KeyRing, now time.Time) (shown shownOnce, ok bool) {
	value, p := c.Cookies(shownCookie), guard.PersonOf(c)
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

package frame

import (
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/views/layout"
)

// The result of an action reaches the next page in a cookie, so that reloading
// the page repeats neither the action nor the message.
const (
	flashCookie  = "flash"
	flashAge     = time.Minute
	maxFlashText = 600 // characters
)

// PutFlash stores a message for the next page in a cookie.
func PutFlash(c *fiber.Ctx, flash layout.Flash) {
	if text := []rune(flash.Text); len(text) > maxFlashText {
		flash.Text = string(text[:maxFlashText]) + "…"
	}
	b, err := json.Marshal(flash)
	if err != nil {
		return // a struct of strings always encodes
	}
	setFlash(c, base64.RawURLEncoding.EncodeToString(b), flashAge)
}

// takeFlash returns the message of the last action and deletes its cookie. It
// returns nil without a message.
func takeFlash(c *fiber.Ctx) *layout.Flash {
	value := c.Cookies(flashCookie)
	if value == "" {
		return nil
	}
	setFlash(c, "", -time.Hour)
	b, err := base64.RawURLEncoding.DecodeString(value)
	if err != nil || len(b) > 8*maxFlashText {
		return nil
	}
	var flash layout.Flash
	if json.Unmarshal(b, &flash) != nil || flash.Text == "" {
		return nil
	}
	return &flash
}

func setFlash(c *fiber.Ctx, value string, age time.Duration) {
	c.Cookie(&fiber.Cookie{
		Name: flashCookie, Value: value, Path: "/", Expires: time.Now().Add(age),
		HTTPOnly: true, Secure: c.Protocol() == "https", SameSite: fiber.CookieSameSiteLaxMode,
	})
}

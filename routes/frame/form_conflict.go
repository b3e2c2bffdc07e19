package frame

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/fault"
	"mcpgateway/web"
)

// FingerprintField is the field with which a form says what was stored when its page
// was opened.
const FingerprintField = "seen"

// Fingerprint returns what tells one state of stored settings from another. It can be
// shown to anybody who may see the form.
func Fingerprint(stored any) string {
	text, err := json.Marshal(stored)
	if err != nil {
		return "" // texts, numbers and lists of them can always be written
	}
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// Entry is one entry of a form: what people call it, what is stored and what
// was entered.
type Entry struct{ label, stored, entered string }

// NewEntry returns an entry of a form.
func NewEntry(label, stored, entered string) Entry { return Entry{label, stored, entered} }

// CheckUnchanged returns CONFLICT when the posted form shows an older state than
// what is stored: saving all of it would silently undo what somebody else saved
// meanwhile. The message names what is stored now and differs; the next save
// of the same form, which has seen that, goes through. A form without the field,
// which no page has, is not held against anything.
func CheckUnchanged(c *fiber.Ctx, stored any, entries ...Entry) error {
	if mark := web.Posted(c, FingerprintField); mark == "" || mark == Fingerprint(stored) {
		return nil
	}
	var now []string
	for _, s := range entries {
		switch {
		case s.stored == s.entered:
		case s.stored == "":
			now = append(now, s.label+" is empty")
		default:
			now = append(now, s.label+" is “"+s.stored+"”")
		}
	}
	message := "somebody saved this after you opened the page"
	if len(now) > 0 {
		message += ", and now " + strings.Join(now, ", ")
	}
	return fault.Conflict("%s: save again to put your entries in its place, or reload the page to keep it", message)
}

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

// FingerprintField is the form field with the fingerprint of the settings that
// the page showed.
const FingerprintField = "seen"

// Fingerprint returns a hash of stored settings. Everyone who may see the form
// may see it.
func Fingerprint(stored any) string {
	text, err := json.Marshal(stored)
	if err != nil {
		return "" // texts, numbers and lists of them always encode
	}
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// Entry is one entry of a form: its label, the stored value and the entered
// value.
type Entry struct{ label, stored, entered string }

// NewEntry returns an entry of a form.
func NewEntry(label, stored, entered string) Entry { return Entry{label, stored, entered} }

// CheckUnchanged returns CONFLICT if the settings changed after the posted form
// was rendered; saving the form would silently revert that change. The message
// lists the stored values that differ. The page that shows the message has the
// new fingerprint, so saving it again succeeds. A form without the field is not
// checked.
func CheckUnchanged(c *fiber.Ctx, stored any, entries ...Entry) error {
	if mark := web.FormValue(c, FingerprintField); mark == "" || mark == Fingerprint(stored) {
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
	message := "The stored settings changed after you opened the page"
	if len(now) > 0 {
		message += ": " + strings.Join(now, ", ")
	}
	return fault.Conflict("%s. Save again to overwrite the change, or reload the page to keep it.", message)
}

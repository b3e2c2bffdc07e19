package web

import (
	"encoding/json"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
)

// Bounds of request bodies (contract, "Limits").
const (
	MaxBody  = 1 << 20 // bytes
	MaxDepth = 64      // levels of arrays and objects
)

// JSONBody returns the raw body of a request that must carry JSON. It returns
// UNSUPPORTED_MEDIA_TYPE for any other content type and for a compressed
// body, which is never inflated, and PAYLOAD_TOO_LARGE beyond MaxBody.
func JSONBody(c *fiber.Ctx) ([]byte, error) {
	if encoding := c.Get(fiber.HeaderContentEncoding); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return nil, fault.New(fault.KindUnsupportedMedia, fault.CodeUnsupportedMediaType, "send the body without Content-Encoding")
	}
	mime, _, _ := strings.Cut(c.Get(fiber.HeaderContentType), ";")
	if !strings.EqualFold(strings.TrimSpace(mime), fiber.MIMEApplicationJSON) {
		return nil, fault.New(fault.KindUnsupportedMedia, fault.CodeUnsupportedMediaType, "send the body as Content-Type: application/json")
	}
	body := c.BodyRaw()
	if len(body) > MaxBody {
		return nil, tooLarge()
	}
	return body, nil
}

// BindJSON reads the JSON body of an administration request into dst. Unknown
// keys, duplicates and deep nesting are refused as VALIDATION_FAILED. An
// empty body leaves dst as it is.
func BindJSON(c *fiber.Ctx, dst any) error {
	if len(c.BodyRaw()) == 0 {
		return nil
	}
	body, err := JSONBody(c)
	if err != nil {
		return err
	}
	if err := rawjson.CheckDepth(body, MaxDepth); err != nil {
		return fault.Validation(map[string]string{"(body)": err.Error()})
	}
	if _, err := rawjson.ParseObject(body, rawjson.Strict); err != nil {
		return fault.Validation(map[string]string{"(body)": "send a JSON object: " + err.Error()})
	}
	d := json.NewDecoder(strings.NewReader(string(body)))
	d.DisallowUnknownFields()
	if err := d.Decode(dst); err != nil {
		return fault.Validation(map[string]string{"(body)": err.Error()})
	}
	return nil
}

package web

import (
	"bytes"
	"errors"
	"strings"

	"github.com/go-json-experiment/json"
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
	header := &c.Request().Header
	if encoding := header.ContentEncoding(); len(encoding) > 0 && !bytes.EqualFold(encoding, []byte("identity")) {
		return nil, fault.New(fault.KindUnsupportedMedia, fault.CodeUnsupportedMediaType, "send the body without Content-Encoding")
	}
	mime, _, _ := bytes.Cut(header.ContentType(), []byte(";"))
	if !bytes.EqualFold(bytes.TrimSpace(mime), []byte(fiber.MIMEApplicationJSON)) {
		return nil, fault.New(fault.KindUnsupportedMedia, fault.CodeUnsupportedMediaType, "send the body as Content-Type: application/json")
	}
	body := c.BodyRaw()
	if len(body) > MaxBody {
		return nil, tooLarge()
	}
	return body, nil
}

// BindJSON reads the JSON body of an administration request into dst. Unknown
// keys, keys in another case, duplicates and deep nesting are refused as
// VALIDATION_FAILED. An empty body leaves dst as it is.
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
	if err := json.Unmarshal(body, dst, json.RejectUnknownMembers(true)); err != nil {
		return fault.Validation(unusable(err))
	}
	return nil
}

// unusable returns what is wrong with a body, by the path of the value.
func unusable(err error) map[string]string {
	var wrong *json.SemanticError
	if !errors.As(err, &wrong) {
		return map[string]string{"(body)": err.Error()}
	}
	path := strings.ReplaceAll(strings.TrimPrefix(string(wrong.JSONPointer), "/"), "/", ".")
	switch {
	case errors.Is(err, json.ErrUnknownName):
		return map[string]string{path: "this key is unknown"}
	case path == "":
		path = "(body)"
	}
	return map[string]string{path: "a JSON " + wrong.JSONKind.String() + " such as this cannot be used here"}
}

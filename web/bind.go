package web

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
)

// Limits of request bodies.
const (
	MaxBody  = 1 << 20 // bytes
	MaxDepth = 64      // levels of arrays and objects
)

// JSONBody returns the raw JSON body of a request. It returns
// UNSUPPORTED_MEDIA_TYPE for any other content type and for a compressed body,
// which is never decompressed. It returns PAYLOAD_TOO_LARGE above MaxBody.
func JSONBody(c *fiber.Ctx) ([]byte, error) {
	header := &c.Request().Header
	if encoding := header.ContentEncoding(); len(encoding) > 0 && !bytes.EqualFold(encoding, []byte("identity")) {
		return nil, fault.New(fault.KindUnsupportedMedia, fault.CodeUnsupportedMediaType, "Send the body without Content-Encoding.")
	}
	mime, _, _ := bytes.Cut(header.ContentType(), []byte(";"))
	if !bytes.EqualFold(bytes.TrimSpace(mime), []byte(fiber.MIMEApplicationJSON)) {
		return nil, fault.New(fault.KindUnsupportedMedia, fault.CodeUnsupportedMediaType, "Send the body with Content-Type: application/json.")
	}
	body := c.BodyRaw()
	if len(body) > MaxBody {
		return nil, tooLarge()
	}
	return body, nil
}

// BindJSON decodes the JSON body of an administration request into dst. It
// returns VALIDATION_FAILED for unknown keys, keys in another case, duplicate
// keys and deep nesting. An empty body leaves dst unchanged.
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
		return fault.Validation(bodyProblems(err))
	}
	return nil
}

// bodyProblems returns the problem of a body, keyed by the path of the value.
func bodyProblems(err error) map[string]string {
	var wrong *json.SemanticError
	if !errors.As(err, &wrong) {
		return map[string]string{"(body)": err.Error()}
	}
	path := strings.ReplaceAll(strings.TrimPrefix(string(wrong.JSONPointer), "/"), "/", ".")
	switch {
	case errors.Is(err, json.ErrUnknownName):
		return map[string]string{path: "unknown key"}
	case path == "":
		path = "(body)"
	}
	return map[string]string{path: expected(wrong.GoType)}
}

// expected returns what a value of JSON must be for a Go type.
func expected(t reflect.Type) string {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == nil:
		return "this kind of JSON value is not allowed here"
	case t == reflect.TypeFor[time.Time]():
		return "use a time such as 2026-12-31T23:59:59Z"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "use true or false"
	case reflect.String:
		return "use a string"
	case reflect.Slice, reflect.Array:
		return "use an array"
	case reflect.Struct, reflect.Map:
		return "use an object"
	case reflect.Float32, reflect.Float64:
		return "use a number"
	}
	return "use a whole number"
}

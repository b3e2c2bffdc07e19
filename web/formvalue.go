package web

import (
	"io"
	"strings"

	"github.com/gofiber/fiber/v2"
)

// FormValue returns a field of the posted form, in either encoding (WHATWG HTML,
// "Form submission"), or "". Forms are never decompressed and have at most
// MaxBody bytes including files.
func FormValue(c *fiber.Ctx, name string) string {
	if value := c.Request().PostArgs().Peek(name); len(value) > 0 {
		return string(value)
	}
	if !isMultipart(c) {
		return ""
	}
	form, err := c.Request().MultipartForm()
	if err != nil || len(form.Value[name]) == 0 {
		return ""
	}
	return strings.Clone(form.Value[name][0])
}

// PostedFile returns at most the first most bytes of a file in the posted form
// (RFC 7578), or nil if there is no file.
func PostedFile(c *fiber.Ctx, name string, most int) ([]byte, error) {
	if !isMultipart(c) {
		return nil, nil
	}
	form, err := c.Request().MultipartForm()
	if err != nil || len(form.File[name]) == 0 {
		return nil, nil //nolint:nilerr // a malformed form has no file
	}
	file, err := form.File[name][0].Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return io.ReadAll(io.LimitReader(file, int64(most)))
}

// isMultipart reports whether the body is an uncompressed multipart form.
func isMultipart(c *fiber.Ctx) bool {
	return c.Get(fiber.HeaderContentEncoding) == "" && strings.HasPrefix(strings.ToLower(c.Get(fiber.HeaderContentType)), fiber.MIMEMultipartForm)
}

package web

import (
	"io"
	"strings"

	"github.com/gofiber/fiber/v2"
)

// Posted returns a field of the form that was posted, in either of its
// encodings (WHATWG HTML, "Form submission"), or "". A form never is
// inflated, and with its files has at most MaxBody bytes.
func Posted(c *fiber.Ctx, name string) string {
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

// PostedFile returns the beginning of a file that was posted with a form, at
// most so many bytes, or nil when there was none (RFC 7578).
func PostedFile(c *fiber.Ctx, name string, most int) ([]byte, error) {
	if !isMultipart(c) {
		return nil, nil
	}
	form, err := c.Request().MultipartForm()
	if err != nil || len(form.File[name]) == 0 {
		return nil, nil //nolint:nilerr // what cannot be read holds no file
	}
	file, err := form.File[name][0].Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return io.ReadAll(io.LimitReader(file, int64(most)))
}

// isMultipart reports whether the body is a form with files that is not
// compressed.
func isMultipart(c *fiber.Ctx) bool {
	return c.Get(fiber.HeaderContentEncoding) == "" && strings.HasPrefix(strings.ToLower(c.Get(fiber.HeaderContentType)), fiber.MIMEMultipartForm)
}

package web

import (
	"bytes"
	"io"

	"github.com/gofiber/fiber/v2"
)

// SendParts answers with the parts behind each other, without copying them into
// one. They must not change until the answer is sent. It always returns nil.
func SendParts(c *fiber.Ctx, parts ...[]byte) error {
	size := 0
	readers := make([]io.Reader, len(parts))
	for i, part := range parts {
		size += len(part)
		readers[i] = bytes.NewReader(part)
	}
	c.Context().SetBodyStream(io.MultiReader(readers...), size)
	return nil
}

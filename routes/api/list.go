// Package api serves administration and health as JSON.
package api

import (
	"encoding/base64"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/fault"
)

// Limits of a page.
const (
	maxListLimit     = 1000
	defaultListLimit = 200
)

type listAnswer[T any] struct {
	Items      []T     `json:"items"`
	Count      int     `json:"count"`
	NextCursor *string `json:"nextCursor"`
}

// RespondList responds with the requested page of rows, converted by record.
func RespondList[R, T any](c *fiber.Ctx, rows []R, record func(R) T) error {
	limit := defaultListLimit
	if text := c.Query("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxListLimit {
			return fault.Invalid("limit must be an integer from 1 to %d.", maxListLimit)
		}
		limit = n
	}
	offset := 0
	if cursor := c.Query("cursor"); cursor != "" {
		b, err := base64.RawURLEncoding.DecodeString(cursor)
		n, convErr := strconv.Atoi(string(b))
		if err != nil || convErr != nil || n < 0 {
			f := fault.New(fault.KindInvalid, fault.CodeInvalidCursor, "Invalid cursor. Retry without it.")
			f.Restart = true
			return f
		}
		offset = min(n, len(rows))
	}
	end := min(offset+limit, len(rows))
	answer := listAnswer[T]{Items: make([]T, 0, end-offset), Count: end - offset}
	for _, row := range rows[offset:end] {
		answer.Items = append(answer.Items, record(row))
	}
	if end < len(rows) {
		next := base64.RawURLEncoding.EncodeToString([]byte(strconv.Itoa(end)))
		answer.NextCursor = &next
	}
	return c.JSON(answer)
}

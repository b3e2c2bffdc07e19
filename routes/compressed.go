package routes

import (
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/web/compress"
)

// compressed returns the handler that compresses the responses of a route, or
// nil. MCP endpoints are never compressed. Neither are the routes of sign-in,
// setup, invites and OAuth, whose pages combine tokens with text from other sites.
func compressed(r route, compressor *compress.Compressor) []fiber.Handler {
	for _, prefix := range []string{"/login/", "/setup", "/invite/", "/reset/", "/oauth/", "/authorize"} {
		if strings.HasPrefix(r.path, prefix) {
			return nil
		}
	}
	switch r.guard {
	case catalog, browse, visitor, person, viewer, admin, stepUp, projectViewer, maintainer, carefulOne, someViewer, someAdmin:
		return []fiber.Handler{compressor.Handler}
	case open:
		if strings.HasPrefix(r.path, "/static/") || r.path == "/api/openapi.json" {
			return []fiber.Handler{compressor.Handler}
		}
	}
	return nil
}

package routes

import (
	"bytes"

	"mcpgateway/web/guard"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"mcpgateway/models"
	"mcpgateway/services/toolset"
	"mcpgateway/web"
)

// maxSmallBody is the maximum length of a request body without credentials and
// of every form outside the administration, in bytes.
const maxSmallBody = 8 << 10

// Paths that accept up to web.MaxBody with credentials.
var (
	mcpPrefix   = []byte("/v1/mcp/")
	apiPrefix   = []byte("/api/")
	adminPrefix = []byte("/admin/")
)

// bodyLimit returns the limit of request bodies. It is web.MaxBody for projects
// without access control, and for requests with credentials to other projects
// and the administration. It is maxSmallBody for everything else. The guards of
// the routes verify the credentials later.
func bodyLimit(projects *toolset.Directory, guards *guard.Guards) web.BodyLimit {
	return func(path []byte, h *fasthttp.RequestHeader) int {
		authorized := len(h.Peek(fiber.HeaderAuthorization)) > 0
		switch {
		case bytes.HasPrefix(path, mcpPrefix):
			if authorized || isOpen(projects, path[len(mcpPrefix):]) {
				return web.MaxBody
			}
		case bytes.HasPrefix(path, apiPrefix), bytes.HasPrefix(path, adminPrefix):
			if authorized || guards.HasSession(h) {
				return web.MaxBody
			}
		}
		return maxSmallBody
	}
}

// isOpen reports whether the path after mcpPrefix names a project without
// access control.
func isOpen(projects *toolset.Directory, rest []byte) bool {
	slug, _, _ := bytes.Cut(rest, []byte{'/'})
	project, err := projects.Project(string(slug))
	return err == nil && project.Project.AuthMode == models.AuthNone
}

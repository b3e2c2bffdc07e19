package routes

import (
	"slices"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/oauthclient"
	"mcpgateway/web"
)

// requestLimit is how long a request may take that is answered from the
// database. Project endpoints read none on their way and bound each call.
const requestLimit = 30 * time.Second

// boundedElsewhere are the routes whose guards alone are limited: streams and
// downloads last as long as they are read, and what talks to other servers has
// the time-outs of these, which may be longer.
func boundedElsewhere() []string {
	return []string{
		"GET /admin/projects/:projectSlug/activity/live",
		"GET /admin/projects/:projectSlug/activity/export",
		"POST /admin/projects/:projectSlug/tools/:name/try",
		"POST /admin/projects/:projectSlug/code-mode/run",
		"POST /admin/projects/:projectSlug/code-mode/runs/:id/replay",
		"POST /api/servers/:id/sync",
		"POST /admin/projects/:projectSlug/servers/:id/sync",
		"POST /admin/projects/:projectSlug/servers/new",
		"POST /admin/projects/:projectSlug/servers",
		"POST /admin/catalog/sources/:id/preview",
		"POST /admin/catalog/sources/:id/sync",
		"POST /admin/catalog/add",
		"GET /admin/connections/:id/start",
		"POST /admin/connections/:id/disconnect",
		"DELETE /api/servers/:id/connection",
		"GET " + oauthclient.CallbackPath,
		"GET " + oauthclient.CallbackPath + "/:issuerId",
	}
}

// limited returns the handlers of a route between what names it and its own,
// with a deadline unless its time is bounded elsewhere.
func limited(r route, chain []fiber.Handler, limit time.Duration) []fiber.Handler {
	if r.guard == project || r.guard == catalog {
		return chain // both are answered from memory
	}
	chain = append([]fiber.Handler{web.Deadline(limit)}, chain...)
	if slices.Contains(boundedElsewhere(), r.method+" "+r.path) {
		chain = append(chain, web.WithoutDeadline)
	}
	return chain
}

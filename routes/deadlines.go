package routes

import (
	"slices"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/oauthclient"
	"mcpgateway/views/paths"
	"mcpgateway/web"
)

// requestLimit is the maximum duration of a request that uses the database.
// Project endpoints don't use it and limit each call.
const requestLimit = 30 * time.Second

// deadlineExempt returns the routes where only the guards have a deadline.
// Streams and downloads last as long as the client reads. Routes that call other
// servers have the timeouts of those, which may be longer.
func deadlineExempt() []string {
	return []string{
		"GET " + paths.Live,
		"GET /admin/projects/:projectSlug/usage/export",
		"POST /admin/projects/:projectSlug/connect/doctor",
		"POST /admin/projects/:projectSlug/tools/:name/try",
		"POST /admin/projects/:projectSlug/code-mode/run",
		"POST /admin/projects/:projectSlug/code-mode/runs/:id/replay",
		"GET /api/projects/:projectSlug/usage",
		"POST /api/projects/:projectSlug/doctor",
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

// limited returns the handlers that precede a route's own, with a deadline
// unless the route has another limit.
func limited(r route, chain []fiber.Handler, limit time.Duration) []fiber.Handler {
	if r.guard == project || r.guard == catalog {
		return chain // both respond from memory
	}
	chain = append([]fiber.Handler{web.Deadline(limit)}, chain...)
	if slices.Contains(deadlineExempt(), r.method+" "+r.path) {
		chain = append(chain, web.WithoutDeadline)
	}
	return chain
}

// Package routes says which URL does what: the whole table is on this page.
package routes

import (
	"log/slog"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/routes/api"
	"mcpgateway/routes/mcp"
	"mcpgateway/routes/public"
	"mcpgateway/services"
	"mcpgateway/services/access"
	"mcpgateway/static"
	"mcpgateway/views/layout"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// guard says who may use a route.
type guard string

const (
	open    guard = "open"    // anybody
	project guard = "project" // whom the project's authMode admits; checked by the handler
	admin   guard = "admin"   // the administration token
)

type route struct {
	method  string
	path    string
	handler fiber.Handler
	guard   guard
}

const (
	get    = fiber.MethodGet
	post   = fiber.MethodPost
	patch  = fiber.MethodPatch
	del    = fiber.MethodDelete
	anyone = ""
)

// New returns the application with every route.
func New(s *services.Services, log *slog.Logger) *fiber.App {
	c := s.Config
	names := web.NewNames(c.PublicURL, c.AllowedHosts, c.AllowedOrigins, c.LoopbackListener)
	assets := layout.Assets{CSS: static.URL("css/app.css"), Icon: static.URL("icon.svg")}
	app := web.New(web.Options{
		Names: names, HTTPS: c.PublicURL.Scheme == "https", TrustedProxies: c.TrustedProxies, Log: log,
		ErrorPage: ui.ErrorPage(assets),
	})
	guards := map[guard][]fiber.Handler{open: nil, project: nil, admin: {web.RequireToken(access.NewAdminToken(c.AdminToken))}}
	for _, r := range table(s, names, assets) {
		handlers := append(guards[r.guard][:len(guards[r.guard]):len(guards[r.guard])], r.handler)
		if r.method == anyone {
			app.All(r.path, handlers...)
			continue
		}
		app.Add(r.method, r.path, handlers...)
	}
	return app
}

func table(s *services.Services, names *web.Names, assets layout.Assets) []route {
	endpoint := mcp.NewEndpoint(mcp.Options{
		Projects: s.Directory, Auth: s.ProjectAuth, Gateway: s.Gateway, Sessions: mcp.NewSessions(s.Config.Keys, s.EndedSessions, time.Now),
		Names: names, Limits: s.CallLimits, Subscriptions: s.Subscriptions, MaxStreams: s.Config.MaxStreams,
	})
	health := api.NewHealth(s.Ready)
	projects := api.NewProjects(s.Projects)
	servers := api.NewServers(s.Projects)
	sync := api.NewServerSync(s.Syncer, servers)
	tools := api.NewTools(s.Directory, s.Projects)
	keys := api.NewKeys(s.Keys, s.Projects)
	home := public.NewHome(assets, s.Config.PublicURL)
	return []route{
		{anyone, "/v1/mcp/:projectSlug/request", endpoint.Request, project},
		{anyone, "/v1/mcp/:projectSlug/sse", endpoint.SSE, project},

		{get, "/api/projects", projects.List, admin},
		{get, "/api/projects/:projectSlug", projects.Get, admin},
		{get, "/api/projects/:projectSlug/servers", servers.List, admin},
		{get, "/api/servers/:id", servers.Get, admin},
		{post, "/api/servers/:id/sync", sync.Sync, admin},
		{get, "/api/projects/:projectSlug/tools", tools.List, admin},
		{patch, "/api/projects/:projectSlug/tools/:name", tools.Set, admin},
		{get, "/api/projects/:projectSlug/keys", keys.List, admin},
		{post, "/api/projects/:projectSlug/keys", keys.Create, admin},
		{post, "/api/keys/:id/rotate", keys.Rotate, admin},
		{del, "/api/keys/:id", keys.Revoke, admin},

		{get, "/", home.Page, open},
		{get, "/static/:hash/*", public.Static, open},
		{get, "/healthz", health.Live, open},
		{get, "/readyz", health.Ready, open},
	}
}

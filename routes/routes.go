// Package routes says which URL does what: the whole table is on this page.
package routes

import (
	"log/slog"
	"slices"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/routes/api"
	"mcpgateway/routes/mcp"
	"mcpgateway/routes/public"
	"mcpgateway/services"
	"mcpgateway/services/page"
	"mcpgateway/static"
	"mcpgateway/views/layout"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

type route struct {
	method  string
	path    string
	handler fiber.Handler
	guard   guard
}

const (
	get     = fiber.MethodGet
	head    = fiber.MethodHead
	post    = fiber.MethodPost
	patch   = fiber.MethodPatch
	del     = fiber.MethodDelete
	options = fiber.MethodOptions
	anyone  = ""
)

// New returns the application with every route.
func New(s *services.Services, log *slog.Logger) *fiber.App {
	c := s.Config
	names := web.NewNames(c.PublicURL, c.AllowedHosts, c.AllowedOrigins, c.LoopbackListener)
	assets := layout.Assets{CSS: static.URL("css/app.css"), Icon: static.URL("icon.svg")}
	app := web.New(web.Options{
		Names: names, HTTPS: c.PublicURL.Scheme == "https", TrustedProxies: c.TrustedProxies, Log: log,
		ErrorPage: ui.ErrorPage(assets), Requests: s.Metrics,
	})
	guards, before := newGuards(s)
	for _, r := range table(s, names, guards, assets) {
		chain, declared := before[r.guard]
		if !declared {
			chain = []fiber.Handler{closed} // nobody may use a route that does not say who may
		}
		handlers := slices.Concat([]fiber.Handler{web.Route(r.path)}, chain, []fiber.Handler{r.handler})
		if r.method == anyone {
			app.All(r.path, handlers...)
			continue
		}
		app.Add(r.method, r.path, handlers...)
		if r.method == get {
			app.Add(head, r.path, handlers...)
		}
	}
	return app
}

func table(s *services.Services, names *web.Names, guards *web.Guards, assets layout.Assets) []route {
	endpoint := mcp.NewEndpoint(mcp.Options{
		Projects: s.Directory, Auth: s.ProjectAuth, Gateway: s.Gateway, Sessions: mcp.NewSessions(s.Config.Keys, s.EndedSessions, time.Now),
		Names: names, Limits: s.CallLimits, Subscriptions: s.Subscriptions, MaxStreams: s.Config.MaxStreams, PublicURL: s.Config.PublicURL.String(),
	})
	health := api.NewHealth(s.Ready)
	registry, templates, registryV01 := api.NewRegistry(s.Catalog), api.NewTemplates(s.Catalog), api.NewRegistryV01(s.Catalog)
	projects := api.NewProjects(s.Projects)
	servers := api.NewServers(s.Projects)
	sync := api.NewServerSync(s.Syncer, servers)
	tools := api.NewTools(s.Directory, s.Projects)
	keys := api.NewKeys(s.Keys, s.Projects)
	audit := api.NewAudit(s.Audit, page.NewCursors(s.Config.Keys))
	calls, metrics := api.NewCalls(s.Calls, s.Directory, page.NewCursors(s.Config.Keys)), api.NewMetrics(s.Metrics)
	connectionAPI := api.NewConnections(s.Connections, s.Config.PublicURL, func(id string) string { return "/admin/connections/" + id + "/start" })
	people := api.NewPeople(s.People)
	s.Metrics.Streams("mcp", endpoint.OpenStreams)
	home := public.NewHome(assets, s.Config.PublicURL)
	return []route{
		{anyone, "/v1/mcp/:projectSlug/request", endpoint.Request, project},
		{anyone, "/v1/mcp/:projectSlug/sse", endpoint.SSE, project},

		{get, "/api/registry", registry.List, catalog},
		{get, "/api/templates", templates.List, catalog},
		{get, "/v0.1/servers", registryV01.List, catalog},
		{get, "/v0.1/servers/:name/versions", registryV01.Versions, catalog},
		{get, "/v0.1/servers/:name/versions/:version", registryV01.Version, catalog},
		{options, "/api/registry", web.PublicPreflight, catalog},
		{options, "/api/templates", web.PublicPreflight, catalog},
		{options, "/v0.1/*", web.PublicPreflight, catalog},
		{get, "/api/openapi.json", api.OpenAPI, open},

		{get, "/api/projects", projects.List, viewer},
		{post, "/api/projects", projects.Create, admin},
		{get, "/api/projects/:projectSlug", projects.Get, viewer},
		{patch, "/api/projects/:projectSlug", projects.Update, admin},
		{del, "/api/projects/:projectSlug", projects.Delete, admin},
		{get, "/api/projects/:projectSlug/servers", servers.List, viewer},
		{post, "/api/projects/:projectSlug/servers", servers.Create, careful},
		{get, "/api/servers/:id", servers.Get, viewer},
		{patch, "/api/servers/:id", servers.Update, careful},
		{del, "/api/servers/:id", servers.Delete, admin},
		{post, "/api/servers/:id/sync", sync.Sync, admin},
		{post, "/api/servers/:id/connection", connectionAPI.Create, admin},
		{del, "/api/servers/:id/connection", connectionAPI.Delete, admin},
		{get, "/api/projects/:projectSlug/tools", tools.List, viewer},
		{patch, "/api/projects/:projectSlug/tools/:name", tools.Set, admin},
		{get, "/api/projects/:projectSlug/keys", keys.List, viewer},
		{post, "/api/projects/:projectSlug/keys", keys.Create, careful},
		{post, "/api/keys/:id/rotate", keys.Rotate, careful},
		{del, "/api/keys/:id", keys.Revoke, admin},
		{get, "/api/calls", calls.List, viewer},
		{get, "/api/audit", audit.List, viewer},
		{get, "/api/people", people.List, viewer},
		{post, "/api/people", people.Create, careful},
		{patch, "/api/people/:id", people.Update, careful},
		{del, "/api/people/:id", people.Delete, careful},

		{get, "/", home.Page, browse},

		{get, "/metrics", metrics.Show, open},
		{get, "/", home.Page, open},
		{get, "/static/:hash/*", public.Static, open},
		{get, "/healthz", health.Live, open},
		{get, "/readyz", health.Ready, open},
	}
}

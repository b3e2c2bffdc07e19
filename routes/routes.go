// Package routes says which URL does what: the whole table is on this page.
package routes

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/a-h/templ"
	"github.com/gofiber/fiber/v2"

	adminpages "mcpgateway/routes/admin"
	"mcpgateway/routes/api"
	"mcpgateway/routes/mcp"
	"mcpgateway/routes/mcp/session"
	"mcpgateway/routes/oauth"
	"mcpgateway/routes/public"
	"mcpgateway/services"
	"mcpgateway/services/oauthclient"
	"mcpgateway/services/page"
	"mcpgateway/static"
	"mcpgateway/views/layout"
	"mcpgateway/views/ui"
	"mcpgateway/web"
	"mcpgateway/web/compress"
	"mcpgateway/web/guard"
	"mcpgateway/web/ratelimit"
)

type route struct {
	method  string
	path    string
	handler fiber.Handler
	guard   audience
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
func New(s *services.Services, log *slog.Logger) *fiber.App { return newApp(s, log, requestLimit) }

func newApp(s *services.Services, log *slog.Logger, limit time.Duration) *fiber.App {
	c := s.Config
	names := web.NewNames(c.PublicURL, c.AllowedHosts, c.AllowedOrigins, c.LoopbackListener)
	assets := layout.NewAssets(static.URL)
	guards, before := newGuards(s)
	app := web.New(web.Options{
		Names: names, HTTPS: c.PublicURL.Scheme == "https", TrustedProxies: c.TrustedProxies, Log: log, Background: s.Background,
		ErrorPage: errorPage(adminpages.NewPages(assets, adminpages.Banners(s.Waiting)), guards), Requests: s.Metrics, Draining: s.Draining, Spans: spansOf(s.Tracer),
		BodyLimit: bodyLimit(s.Directory, guards), BodyMemory: c.RequestMemory,
	})
	compressor := compress.New()
	for _, r := range table(s, names, guards, assets) {
		chain, declared := before[r.guard]
		if !declared {
			chain = []fiber.Handler{closed} // nobody may use a route that does not say who may
		}
		handlers := slices.Concat([]fiber.Handler{web.Route(r.path)}, compressed(r, compressor), limited(r, chain, limit), []fiber.Handler{r.handler})
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

// identifyLimit is the time that an error page takes at most to find its user.
const identifyLimit = time.Second

// errorPage returns the pages of failed requests. Users who are signed in keep
// the navigation, also where no guard has seen the request.
func errorPage(frames *adminpages.Pages, guards *guard.Guards) web.ErrorPage {
	return func(c *fiber.Ctx, status int, message, requestID string) templ.Component {
		if web.EventOf(c).Route == "" && guards.SessionCookie(c) != "" {
			ctx, cancel := context.WithTimeout(c.UserContext(), identifyLimit)
			defer cancel()
			c.SetUserContext(ctx)
			_ = guards.Identify(c) // without the database the page is a visitor's
			c.SetUserContext(context.WithoutCancel(c.UserContext()))
		}
		return ui.ErrorPage(frames.Frame(c, http.StatusText(status), layout.SectionNone), status, message, requestID)
	}
}

func table(s *services.Services, names *web.Names, guards *guard.Guards, assets layout.Assets) []route {
	endpoint := mcp.NewEndpoint(mcp.Options{
		Projects: s.Directory, Auth: s.ProjectAuth, Gateway: s.Gateway, Sessions: session.NewSessions(s.Config.Keys, s.EndedSessions, time.Now), Levels: s.LogLevels,
		Names: names, Failures: ratelimit.NewFailureLimit(time.Now), WrongKeys: ratelimit.NewAddressLimit(wrongKeysPerSecond, wrongKeysBurst, time.Now), Limits: s.CallLimits, Subscriptions: s.Subscriptions, Results: s.Results, MaxStreams: s.Config.MaxStreams, PublicURL: s.Config.PublicURL.String(),
		Instance: s.Instance,
	})
	health := api.NewHealth(s.Ready)
	registry, templates, registryV01 := api.NewRegistry(s.Catalog), api.NewTemplates(s.Catalog), api.NewRegistryV01(s.Catalog)
	projects := api.NewProjects(s.Projects)
	servers := api.NewServers(s.Projects, s.Syncer)
	sync := api.NewServerSync(s.Syncer, servers)
	tools := api.NewTools(s.Directory, s.Projects)
	keys := api.NewKeys(s.Keys, s.Projects)
	audit := api.NewAudit(s.Audit, page.NewCursors(s.Config.Keys))
	calls, metrics := api.NewCalls(s.Calls, s.Directory, page.NewCursors(s.Config.Keys)), api.NewMetrics(s.Metrics, metricsAccess(s))
	people := api.NewPeople(s.People)
	metadata := oauth.NewMetadata(s.Config.PublicURL, s.Directory)
	authorize := oauth.NewAuthorize(s.OAuth, s.Directory, assets, loginPath)
	token, register, grants := oauth.NewToken(s.OAuth, ratelimit.NewFailureLimit(time.Now)), oauth.NewRegister(s.OAuth), oauth.NewGrants(s.OAuth, assets, time.Now)
	syncer := adminpages.Health{Syncer: s.Syncer, ConnectionWaits: s.Waiting}
	frames := adminpages.NewPages(assets, adminpages.Banners(s.Waiting))
	activity := adminpages.NewActivity(adminpages.ActivityOptions{
		Pages: frames, Guards: guards, Directory: s.Directory, Health: syncer, Calls: s.Calls, Keys: s.Keys, People: s.People, Cursors: page.NewCursors(s.Config.Keys),
	})
	s.Metrics.Streams("mcp", endpoint.OpenStreams)
	s.Metrics.Streams("activity", activity.OpenStreams)
	publicPages := public.NewPages(frames, s.Config.PublicURL)
	home, feeds := public.NewHome(publicPages, s.Catalog), public.NewFeeds(publicPages, s.Catalog)
	registryPages, templatePages := public.NewRegistry(publicPages, s.Catalog, s.Directory), public.NewTemplates(publicPages, s.Catalog)
	sso, ssoName := singleSignOn(s)
	resume := adminpages.NewResume(guards, s.KeptForms)
	setup, login, stepUp := adminpages.NewSetup(frames, s.People, s.Demo, guards), adminpages.NewLogin(frames, s.People, guards, resume, ssoName), adminpages.NewStepUp(frames, s.People, guards, resume, s.People.NeedStepUp, ssoName)
	signOn := adminpages.NewSingleSignOn(frames, sso, guards, resume, ssoName)
	account := adminpages.NewAccount(frames, s.People, guards, time.Now)
	me := adminpages.NewMe(frames, s.OAuth, s.Config.PublicURL)
	peoplePages := adminpages.NewPeople(frames, s.People, s.SingleSignOn != nil, time.Now)
	ring := s.Config.Keys
	projectPages := adminpages.NewProjects(frames, s.Directory, syncer, s.Calls, s.Projects)
	toolPages := adminpages.NewTools(frames, s.Directory, syncer, s.Projects, s.Gateway, guards)
	keyPages := adminpages.NewKeys(frames, s.Directory, syncer, s.Keys, ring, time.Now)
	auditPages := adminpages.NewAudit(frames, s.Audit, page.NewCursors(s.Config.Keys), time.Now)
	codePages := adminpages.NewCodeMode(adminpages.CodeModeOptions{
		Pages: frames, Directory: s.Directory, Health: syncer, Store: s.Projects, Declarations: s.Declarations, Unchecked: s.Arguments.Unchecked,
		Runner: s.Gateway, CanTypecheck: s.Runner.CanTypecheck(), Traces: s.CodeRuns, Keys: s.Keys, People: s.People, Now: time.Now,
	})
	settings := adminpages.NewSettings(frames, adminpages.Facts{Version: s.Version, Database: s.DB.Name(), Config: s.Config, Fresh: s.Fresh}, time.Now)
	connect := adminpages.NewConnect(frames, s.Directory, syncer, s.Gateway, s.Keys, s.Config.PublicURL)
	serverPages := adminpages.NewServers(frames, s.Directory, syncer, s.Calls, s.Projects, guards)
	wizard := adminpages.NewServerWizard(frames, s.Directory, syncer, s.Projects, s.Catalog, ring)
	projectSettings := adminpages.NewProjectSettings(frames, s.Directory, syncer, s.Projects, s.People, s.Keys)
	files := adminpages.NewImportExport(frames, s.Projects, ring)
	catalogPages, catalogUse := adminpages.NewCatalog(frames, s.CatalogStore), adminpages.NewCatalogUse(frames, s.Directory, s.Catalog, s.Projects, syncer)
	connections := adminpages.NewConnections(frames, s.Connections)
	connectionPages := adminpages.NewConnectionPages(frames, s.Directory, s.Connections, s.Projects, s.Audit, s.Config.PublicURL, time.Now)
	connectionAPI := api.NewConnections(s.Connections, s.Config.PublicURL, adminpages.StartConnectionPath)
	callback, clientDocument := oauth.NewCallback(s.Connections, connections), oauth.NewClientDocument(s.ClientDocument)
	return append(devTable(s, assets), []route{
		{anyone, "/v1/mcp/:projectSlug/request", endpoint.Request, project},
		{anyone, "/v1/mcp/:projectSlug/sse", endpoint.SSE, project},

		{anyone, "/.well-known/oauth-protected-resource/v1/mcp/:projectSlug/:endpoint", metadata.ProtectedResource, open},
		{anyone, "/.well-known/oauth-authorization-server", metadata.AuthorizationServer, open},
		{get, "/oauth/authorize", authorize.Show, visitor},
		{post, "/oauth/authorize", authorize.Decide, person},
		{get, "/authorize", authorize.Show, visitor}, // these names are what clients of MCP 2025-03-26 guess
		{anyone, "/oauth/token", token.Issue, open},
		{anyone, "/token", token.Issue, open},
		{anyone, "/oauth/register", register.Create, open},
		{anyone, "/register", register.Create, open},
		{anyone, "/oauth/revoke", token.Revoke, open},
		{get, "/oauth/grants", grants.List, person},
		{post, "/oauth/grants/:id/revoke", grants.Withdraw, person},
		{anyone, oauthclient.DocumentPath, clientDocument.Serve, open},
		{get, oauthclient.CallbackPath, callback.Serve, visitor},
		{get, oauthclient.CallbackPath + "/:issuerId", callback.Serve, visitor},

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

		{get, "/admin/projects/:projectSlug/activity", activity.Page, viewer},
		{get, "/admin/projects/:projectSlug/activity/live", activity.Live, viewer},
		{get, "/admin/projects/:projectSlug/activity/export", activity.Export, viewer},
		{get, "/admin/projects/:projectSlug/activity/:id", activity.Call, viewer},

		{get, "/", home.Page, browse},
		{get, "/registry", registryPages.List, browse},
		{get, "/registry/:publisher/:server", registryPages.Page, browse},
		{get, "/templates", templatePages.List, browse},
		{get, "/templates/:slug", templatePages.Page, browse},
		{get, "/sitemap.xml", feeds.Sitemap, browse},
		{get, "/sitemap/:part.xml", feeds.SitemapPart, browse},
		{get, "/feed.atom", feeds.Atom, browse},
		{get, "/robots.txt", feeds.Robots, open},
		{get, "/setup", setup.Show, visitor},
		{post, "/setup", setup.Create, visitor},
		{get, loginPath, login.Show, visitor},
		{post, loginPath, login.SignIn, visitor},
		{get, "/login/sso", signOn.Start, visitor},
		{get, "/login/callback", signOn.Finish, visitor},
		{get, stepUpPath, stepUp.Show, person},
		{post, stepUpPath, stepUp.Prove, person},
		{post, "/logout", login.SignOut, person},
		{get, "/admin/account", account.Show, person},
		{post, "/admin/account/password", account.ChangePassword, person},
		{post, "/admin/account/sessions/:id/end", account.EndSession, person},
		{post, "/admin/account/sign-out-everywhere", account.SignOutEverywhere, person},

		{get, "/admin/people", peoplePages.List, viewer},
		{get, "/admin/people/new", peoplePages.New, admin},
		{post, "/admin/people", peoplePages.Create, careful},
		{get, "/admin/people/:id", peoplePages.Show, viewer},
		{post, "/admin/people/:id", peoplePages.Update, careful},
		{post, "/admin/people/:id/password", peoplePages.SetPassword, careful},
		{post, "/admin/people/:id/disable", peoplePages.Disable, careful},
		{post, "/admin/people/:id/enable", peoplePages.Enable, careful},
		{post, "/admin/people/:id/delete", peoplePages.Delete, careful},
		{get, "/admin/projects/:projectSlug/tools", toolPages.List, viewer},
		{post, "/admin/projects/:projectSlug/tools", toolPages.SwitchMany, admin},
		{get, "/admin/projects/:projectSlug/tools/review", toolPages.Review, admin},
		{post, "/admin/projects/:projectSlug/tools/review", toolPages.ApproveMany, admin},
		{post, "/admin/undo", resume.Undo, admin},
		{get, "/admin/projects/:projectSlug/tools/:name", toolPages.Show, viewer},
		{post, "/admin/projects/:projectSlug/tools/:name/enabled", toolPages.Switch, admin},
		{post, "/admin/projects/:projectSlug/tools/:name/approve", toolPages.Approve, admin},
		{post, "/admin/projects/:projectSlug/tools/:name/try", toolPages.Try, admin},
		{get, "/admin/projects/:projectSlug/code-mode", codePages.Show, viewer},
		{post, "/admin/projects/:projectSlug/code-mode", codePages.Save, admin},
		{get, "/admin/projects/:projectSlug/code-mode/declarations", codePages.Download, viewer},
		{get, "/admin/projects/:projectSlug/code-mode/run", codePages.RunForm, viewer},
		{post, "/admin/projects/:projectSlug/code-mode/run", codePages.Run, admin},
		{get, "/admin/projects/:projectSlug/code-mode/runs", codePages.Runs, viewer},
		{get, "/admin/projects/:projectSlug/code-mode/runs/:id", codePages.Trace, viewer},
		{get, "/admin/projects/:projectSlug/code-mode/runs/:id/kept", codePages.Kept, viewer},
		{post, "/admin/projects/:projectSlug/code-mode/runs/:id/replay", codePages.Replay, admin},
		{get, "/admin/projects/:projectSlug/keys", keyPages.List, viewer},
		{post, "/admin/projects/:projectSlug/keys", keyPages.Create, careful},
		{get, "/admin/projects/:projectSlug/keys/:id", keyPages.Show, viewer},
		{post, "/admin/projects/:projectSlug/keys/:id/rotate", keyPages.Rotate, careful},
		{post, "/admin/projects/:projectSlug/keys/:id/revoke", keyPages.Revoke, careful},
		{get, "/admin/audit", auditPages.List, viewer},
		{get, "/admin/settings", settings.Show, viewer},

		{get, "/admin/connections", connectionPages.List, viewer},
		{get, "/admin/connections/:id", connectionPages.Show, viewer},
		{get, "/admin/connections/:id/start", connections.Start, admin},
		{post, "/admin/connections/:id/client", connectionPages.SaveClient, careful},
		{post, "/admin/connections/:id/disconnect", connections.Disconnect, admin},
		{post, "/admin/connections/:id/drop-registration", connections.DropRegistration, admin},

		{get, "/me", me.Show, person},
		{get, "/admin", projectPages.List, person},
		{get, "/admin/projects", projectPages.List, person},
		{get, "/admin/projects/new", projectPages.New, viewer},
		{post, "/admin/projects", projectPages.Create, admin},
		{get, "/admin/projects/:projectSlug", connect.Show, viewer},
		{get, "/admin/projects/:projectSlug/servers", serverPages.List, viewer},
		{post, "/admin/projects/:projectSlug/servers", wizard.Add, careful},
		{get, "/admin/projects/:projectSlug/servers/new", wizard.New, viewer},
		{post, "/admin/projects/:projectSlug/servers/new", wizard.Read, admin},
		{get, "/admin/projects/:projectSlug/servers/:id", serverPages.Show, viewer},
		{get, "/admin/projects/:projectSlug/servers/:id/edit", serverPages.Edit, viewer},
		{post, "/admin/projects/:projectSlug/servers/:id/edit", serverPages.Save, admin},
		{post, "/admin/projects/:projectSlug/servers/:id/credentials", serverPages.SaveCredentials, careful},
		{get, "/admin/projects/:projectSlug/servers/:id/filters", serverPages.Filters, viewer},
		{post, "/admin/projects/:projectSlug/servers/:id/filters", serverPages.SaveFilters, admin},
		{post, "/admin/projects/:projectSlug/servers/:id/choose", serverPages.Choose, admin},
		{post, "/admin/projects/:projectSlug/servers/:id/sync", serverPages.Sync, admin},
		{post, "/admin/projects/:projectSlug/servers/:id/enable", serverPages.Enable, admin},
		{post, "/admin/projects/:projectSlug/servers/:id/delete", serverPages.Delete, admin},
		{get, "/admin/projects/:projectSlug/settings", projectSettings.Show, viewer},
		{post, "/admin/projects/:projectSlug/settings", projectSettings.Save, admin},
		{post, "/admin/projects/:projectSlug/settings/members", projectSettings.AddMember, admin},
		{post, "/admin/projects/:projectSlug/settings/members/remove", projectSettings.RemoveMember, admin},
		{post, "/admin/projects/:projectSlug/settings/delete", projectSettings.Delete, admin},
		{get, "/admin/import", files.Import, viewer},
		{post, "/admin/import", files.Plan, admin},
		{post, "/admin/import/apply", files.Apply, careful},
		{get, "/admin/export", files.Export, viewer},
		{get, "/admin/export/download", files.Download, viewer},
		{get, "/admin/catalog", catalogPages.List, viewer},
		{post, "/admin/catalog/add", catalogUse.Add, admin},
		{post, "/admin/catalog/sources", catalogPages.AddSource, admin},
		{post, "/admin/catalog/sources/:id/preview", catalogPages.Preview, admin},
		{post, "/admin/catalog/sources/:id/sync", catalogPages.SyncSource, admin},
		{post, "/admin/catalog/sources/:id/enable", catalogPages.EnableSource, admin},
		{post, "/admin/catalog/sources/:id/remove", catalogPages.RemoveSource, admin},
		{get, "/admin/catalog/:id", catalogPages.Show, viewer},
		{post, "/admin/catalog/:id/feature", catalogPages.Feature, admin},
		{post, "/admin/catalog/:id/verify", catalogPages.Verify, admin},
		{post, "/admin/catalog/:id/hide", catalogPages.Hide, admin},
		{post, "/admin/catalog/:id/edit", catalogPages.Edit, admin},
		{post, "/admin/catalog/:id/unlock", catalogPages.Unlock, admin},
		{get, "/admin/templates/:slug/use", catalogUse.Template, viewer},
		{post, "/admin/templates/:slug/use", catalogUse.Use, admin},

		{get, "/static/:hash/*", public.Static, open},
		{get, metricsPath, metrics.Show, open},
		{get, "/healthz", health.Live, open},
		{get, "/readyz", health.Ready, open},
	}...)
}

// devTable returns the routes for developing the gateway itself.
func devTable(s *services.Services, assets layout.Assets) []route {
	if !s.Dev {
		return nil
	}
	kit := public.NewKit(assets)
	return []route{
		{get, "/kit", kit.Page, open},
		{get, "/kit/live", kit.Live, open},
	}
}

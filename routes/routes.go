// Package routes maps URLs to handlers. The table is in routes.go, the guards
// are in guards.go, and the handlers are created in handlers.go.
package routes

import (
	"github.com/gofiber/fiber/v2"

	"mcpgateway/routes/api"
	"mcpgateway/routes/public"
	"mcpgateway/services/oauthclient"
	"mcpgateway/views/paths"
	"mcpgateway/web"
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

// table returns every route.
func table(h *handlers) []route {
	all := []route{
		{anyone, "/v1/mcp/:projectSlug/request", h.endpoint.Request, project},
		{anyone, "/v1/mcp/:projectSlug/sse", h.endpoint.SSE, project},
		{anyone, "/v1/mcp/:projectSlug/toolsets/:toolset/request", h.endpoint.Request, project},
		{anyone, "/v1/mcp/:projectSlug/toolsets/:toolset/sse", h.endpoint.SSE, project},

		{anyone, "/.well-known/oauth-protected-resource/v1/mcp/:projectSlug/:endpoint", h.metadata.ProtectedResource, open},
		{anyone, "/.well-known/oauth-authorization-server", h.metadata.AuthorizationServer, open},
		{get, "/oauth/authorize", h.authorize.Show, visitor},
		{post, "/oauth/authorize", h.authorize.Decide, person},
		{get, "/authorize", h.authorize.Show, visitor}, // clients of MCP 2025-03-26 guess these paths
		{anyone, "/oauth/token", h.token.Issue, open},
		{anyone, "/token", h.token.Issue, open},
		{anyone, "/oauth/register", h.register.Create, open},
		{anyone, "/register", h.register.Create, open},
		{anyone, "/oauth/revoke", h.token.Revoke, open},
		{get, "/oauth/grants", moved(paths.MyApps), person},
		{anyone, oauthclient.DocumentPath, h.clientDocument.Serve, open},
		{get, oauthclient.CallbackPath, h.callback.Serve, visitor},
		{get, oauthclient.CallbackPath + "/:issuerId", h.callback.Serve, visitor},

		{get, "/api/registry", h.registry.List, catalog},
		{get, "/api/templates", h.templates.List, catalog},
		{get, "/v0.1/servers", h.registryV01.List, catalog},
		{get, "/v0.1/servers/:name/versions", h.registryV01.Versions, catalog},
		{get, "/v0.1/servers/:name/versions/:version", h.registryV01.Version, catalog},
		{options, "/api/registry", web.PublicPreflight, catalog},
		{options, "/api/templates", web.PublicPreflight, catalog},
		{options, "/v0.1/*", web.PublicPreflight, catalog},
		{get, "/api/openapi.json", api.OpenAPI, open},

		{get, "/api/projects", h.projects.List, viewer},
		{post, "/api/projects", h.projects.Create, admin},
		{get, "/api/projects/:projectSlug", h.projects.Get, viewer},
		{patch, "/api/projects/:projectSlug", h.projects.Update, admin},
		{del, "/api/projects/:projectSlug", h.projects.Delete, admin},
		{get, "/api/projects/:projectSlug/servers", h.servers.List, viewer},
		{post, "/api/projects/:projectSlug/servers", h.servers.Create, stepUp},
		{get, "/api/servers/:id", h.servers.Get, viewer},
		{patch, "/api/servers/:id", h.servers.Update, stepUp},
		{del, "/api/servers/:id", h.servers.Delete, admin},
		{post, "/api/servers/:id/sync", h.sync.Sync, admin},
		{post, "/api/servers/:id/connection", h.connectionAPI.Create, admin},
		{del, "/api/servers/:id/connection", h.connectionAPI.Delete, admin},
		{get, "/api/projects/:projectSlug/tools", h.tools.List, viewer},
		{patch, "/api/projects/:projectSlug/tools/:name", h.tools.Set, admin},
		{get, "/api/projects/:projectSlug/keys", h.keys.List, viewer},
		{post, "/api/projects/:projectSlug/keys", h.keys.Create, stepUp},
		{post, "/api/keys/:id/rotate", h.keys.Rotate, stepUp},
		{patch, "/api/keys/:id", h.keys.Update, stepUp},
		{del, "/api/keys/:id", h.keys.Revoke, admin},
		{get, "/api/projects/:projectSlug/access", h.accessAPI.List, viewer},
		{post, "/api/projects/:projectSlug/access", h.accessAPI.Create, admin},
		{del, "/api/projects/:projectSlug/access/:id", h.accessAPI.Delete, admin},
		{get, "/api/me", h.meAPI.Show, own},
		{get, "/api/me/projects", h.meAPI.Projects, own},
		{post, "/api/me/projects/:projectSlug/keys", h.meAPI.CreateKey, ownStepUp},
		{get, "/api/me/keys", h.meAPI.Keys, own},
		{post, "/api/me/keys/:id/rotate", h.meAPI.RotateKey, ownStepUp},
		{del, "/api/me/keys/:id", h.meAPI.RevokeKey, own},
		{get, "/api/me/apps", h.meAPI.Apps, own},
		{del, "/api/me/apps/:id", h.meAPI.RemoveApp, own},
		{get, "/api/me/sessions", h.meAPI.Sessions, own},
		{del, "/api/me/sessions/:id", h.meAPI.EndSession, own},
		{get, "/api/calls", h.calls.List, viewer},
		{get, "/api/audit", h.audit.List, viewer},
		{get, "/api/people", h.people.List, viewer},
		{post, "/api/people", h.people.Create, stepUp},
		{patch, "/api/people/:id", h.people.Update, stepUp},
		{del, "/api/people/:id", h.people.Delete, stepUp},

		{get, "/admin/projects/:projectSlug/activity", h.activity.Page, viewer},
		{get, "/admin/projects/:projectSlug/activity/export", h.activity.Export, viewer},
		{get, "/admin/projects/:projectSlug/activity/:id", h.activity.Call, viewer},

		{get, "/", h.home.Page, browse},
		{get, "/registry", h.registryPages.List, browse},
		{get, "/registry/:publisher/:server", h.registryPages.Page, browse},
		{get, "/templates", h.templatePages.List, browse},
		{get, "/templates/:slug", h.templatePages.Page, browse},
		{get, "/docs", h.docs.Index, browse},
		{get, "/docs/:name", h.docs.Page, browse},
		{get, "/llms.txt", h.docs.List, browse},
		{get, "/llms-full.txt", h.docs.Full, browse},
		{get, "/sitemap.xml", h.feeds.Sitemap, browse},
		{get, "/sitemap/:part.xml", h.feeds.SitemapPart, browse},
		{get, "/feed.atom", h.feeds.Atom, browse},
		{get, "/robots.txt", h.feeds.Robots, open},
		{get, "/setup", h.setup.Show, visitor},
		{post, "/setup", h.setup.Create, visitor},
		{get, paths.Login, h.login.Show, visitor},
		{post, paths.Login, h.login.SignIn, visitor},
		{get, "/login/sso", h.signOn.Start, visitor},
		{get, "/login/callback", h.signOn.Finish, visitor},
		{get, paths.StepUp, h.stepUp.Show, person},
		{post, paths.StepUp, h.stepUp.Confirm, person},
		{post, "/logout", h.login.SignOut, person},
		{get, "/invite/:token", h.join.Show, visitor},
		{post, "/invite/:token", h.join.Accept, visitor},
		{get, "/admin/account", moved(paths.Account), person},

		{get, "/admin/people", h.peoplePages.List, viewer},
		{get, paths.Invite, h.peoplePages.New, admin},
		{get, "/admin/people/new", moved(paths.Invite), admin},
		{post, "/admin/people", h.peoplePages.Create, stepUp},
		{get, "/admin/people/:id", h.peoplePages.Show, viewer},
		{post, "/admin/people/:id", h.peoplePages.Update, stepUp},
		{post, "/admin/people/:id/invite", h.peoplePages.Invite, stepUp},
		{post, "/admin/people/:id/password", h.peoplePages.SetPassword, stepUp},
		{post, "/admin/people/:id/disable", h.peoplePages.Disable, stepUp},
		{post, "/admin/people/:id/enable", h.peoplePages.Enable, stepUp},
		{post, "/admin/people/:id/delete", h.peoplePages.Delete, stepUp},
		{get, "/admin/projects/:projectSlug/tools", h.toolPages.List, viewer},
		{post, "/admin/projects/:projectSlug/tools", h.toolPages.Bulk, admin},
		{get, "/admin/projects/:projectSlug/tools/review", h.toolPages.Review, admin},
		{post, "/admin/projects/:projectSlug/tools/review", h.toolPages.Decide, admin},
		{get, "/admin/projects/:projectSlug/tools/search", h.toolPages.Search, viewer},
		{post, "/admin/undo", h.resume.Undo, admin},
		{get, "/admin/projects/:projectSlug/tools/:name", h.playground.Show, viewer},
		{post, "/admin/projects/:projectSlug/tools/:name/enabled", h.toolPages.Switch, admin},
		{post, "/admin/projects/:projectSlug/tools/:name/approve", h.toolPages.Approve, admin},
		{post, "/admin/projects/:projectSlug/tools/:name/try", h.playground.Try, admin},
		{get, "/admin/projects/:projectSlug/code-mode", h.codePages.Workbench, viewer},
		{get, "/admin/projects/:projectSlug/code-mode/settings", h.codePages.Settings, viewer},
		{post, "/admin/projects/:projectSlug/code-mode/settings", h.codePages.Save, admin},
		{get, "/admin/projects/:projectSlug/code-mode/declarations", h.codePages.Download, viewer},
		{get, "/admin/projects/:projectSlug/code-mode/run", h.codePages.RunURL, viewer},
		{post, "/admin/projects/:projectSlug/code-mode/run", h.codePages.Run, admin},
		{get, "/admin/projects/:projectSlug/code-mode/runs", h.codePages.Runs, viewer},
		{get, "/admin/projects/:projectSlug/code-mode/runs/:id", h.codePages.Trace, viewer},
		{get, "/admin/projects/:projectSlug/code-mode/runs/:id/kept", h.codePages.Kept, viewer},
		{post, "/admin/projects/:projectSlug/code-mode/runs/:id/replay", h.codePages.Replay, admin},
		{get, "/admin/projects/:projectSlug/keys", h.keyPages.List, viewer},
		{post, "/admin/projects/:projectSlug/keys", h.keyPages.Create, stepUp},
		{get, "/admin/projects/:projectSlug/keys/new", h.keyPages.New, viewer},
		{get, "/admin/projects/:projectSlug/keys/:id", h.keyPages.Show, viewer},
		{post, "/admin/projects/:projectSlug/keys/:id/rotate", h.keyPages.Rotate, stepUp},
		{post, "/admin/projects/:projectSlug/keys/:id/revoke", h.keyPages.Revoke, stepUp},
		{post, "/admin/projects/:projectSlug/keys/:id/done", h.keyPages.Done, admin},
		{get, "/admin/audit", h.auditPages.List, viewer},
		{get, "/admin/settings", h.settings.Show, viewer},

		{get, "/admin/connections", h.connectionPages.List, viewer},
		{get, "/admin/connections/:id", h.connectionPages.Show, viewer},
		{get, "/admin/connections/:id/start", h.connections.Start, admin},
		{post, "/admin/connections/:id/client", h.connectionPages.SaveClient, stepUp},
		{post, "/admin/connections/:id/disconnect", h.connections.Disconnect, admin},
		{post, "/admin/connections/:id/drop-registration", h.connections.DropRegistration, admin},

		{get, paths.Live, h.live.Stream, viewer},
		{get, paths.Palette, h.palette.Show, viewer},

		{get, paths.Me, h.me.Show, person},
		{get, paths.MyProjects, moved(paths.Me), person},
		{get, paths.MyProjects + "/:projectSlug", h.me.Project, person},
		{get, paths.MyApps, h.me.Apps, person},
		{post, paths.MyApps + "/:id/revoke", h.me.RemoveApp, person},
		{get, paths.Account, h.account.Show, person},
		{post, paths.Password, h.account.ChangePassword, person},
		{post, paths.Account + "/sessions/:id/end", h.account.EndSession, person},
		{post, paths.SignOutEverywhere, h.account.SignOutEverywhere, person},
		{get, "/admin", h.projectPages.List, person},
		{get, "/admin/projects", h.projectPages.List, person},
		{get, "/admin/projects/new", h.projectPages.New, viewer},
		{post, "/admin/projects", h.projectPages.Create, admin},
		{get, "/admin/projects/:projectSlug", h.overview.Show, viewer},
		{get, "/admin/projects/:projectSlug/connect", h.connect.Show, viewer},
		{get, "/admin/projects/:projectSlug/servers", h.serverPages.List, viewer},
		{post, "/admin/projects/:projectSlug/servers", h.wizard.Add, stepUp},
		{get, "/admin/projects/:projectSlug/servers/new", h.wizard.New, viewer},
		{post, "/admin/projects/:projectSlug/servers/new", h.wizard.Read, admin},
		{get, "/admin/projects/:projectSlug/servers/new/check", h.wizard.Restart, viewer},
		{post, "/admin/projects/:projectSlug/servers/new/check", h.wizard.Check, admin},
		{get, "/admin/projects/:projectSlug/servers/:id", h.serverPages.Show, viewer},
		{get, "/admin/projects/:projectSlug/servers/:id/edit", h.serverPages.Edit, viewer},
		{post, "/admin/projects/:projectSlug/servers/:id/edit", h.serverPages.Save, admin},
		{post, "/admin/projects/:projectSlug/servers/:id/credentials", h.serverPages.SaveCredentials, stepUp},
		{get, "/admin/projects/:projectSlug/servers/:id/filters", h.serverPages.Filters, viewer},
		{post, "/admin/projects/:projectSlug/servers/:id/filters", h.serverPages.SaveFilters, admin},
		{post, "/admin/projects/:projectSlug/servers/:id/choose", h.serverPages.Choose, admin},
		{post, "/admin/projects/:projectSlug/servers/:id/sync", h.serverPages.Sync, admin},
		{post, "/admin/projects/:projectSlug/servers/:id/enable", h.serverPages.Enable, admin},
		{post, "/admin/projects/:projectSlug/servers/:id/delete", h.serverPages.Delete, admin},
		{get, "/admin/projects/:projectSlug/settings", h.projectSettings.Show, viewer},
		{post, "/admin/projects/:projectSlug/settings", h.projectSettings.Save, admin},
		{post, "/admin/projects/:projectSlug/settings/delete", h.projectSettings.Delete, admin},
		{get, "/admin/projects/:projectSlug/access", h.access.Show, viewer},
		{post, "/admin/projects/:projectSlug/access", h.access.Save, admin},
		{post, "/admin/projects/:projectSlug/access/members", h.access.AddMember, admin},
		{post, "/admin/projects/:projectSlug/access/members/remove", h.access.RemoveMember, admin},
		{get, "/admin/import", h.files.Import, viewer},
		{post, "/admin/import", h.files.Plan, admin},
		{post, "/admin/import/apply", h.files.Apply, stepUp},
		{get, "/admin/export", h.files.Export, viewer},
		{get, "/admin/export/download", h.files.Download, viewer},
		{get, "/admin/catalog", h.catalogPages.List, viewer},
		{post, "/admin/catalog/add", h.catalogUse.Add, admin},
		{post, "/admin/catalog/sources", h.catalogPages.AddSource, admin},
		{post, "/admin/catalog/sources/:id/preview", h.catalogPages.Preview, admin},
		{post, "/admin/catalog/sources/:id/sync", h.catalogPages.SyncSource, admin},
		{post, "/admin/catalog/sources/:id/enable", h.catalogPages.EnableSource, admin},
		{post, "/admin/catalog/sources/:id/remove", h.catalogPages.RemoveSource, admin},
		{get, "/admin/catalog/:id", h.catalogPages.Show, viewer},
		{post, "/admin/catalog/:id/feature", h.catalogPages.Feature, admin},
		{post, "/admin/catalog/:id/verify", h.catalogPages.Verify, admin},
		{post, "/admin/catalog/:id/hide", h.catalogPages.Hide, admin},
		{post, "/admin/catalog/:id/edit", h.catalogPages.Edit, admin},
		{post, "/admin/catalog/:id/unlock", h.catalogPages.Unlock, admin},
		{get, "/admin/templates/:slug/use", h.catalogUse.Template, viewer},
		{post, "/admin/templates/:slug/use", h.catalogUse.Use, admin},

		{get, "/static/:hash/*", public.Static, open},
		{get, "/favicon.ico", public.Fixed("favicon.ico"), open},
		{get, "/apple-touch-icon.png", public.Fixed("apple-touch-icon.png"), open},
		{get, metricsPath, h.metrics.Show, open},
		{get, "/healthz", h.health.Live, open},
		{get, "/readyz", h.health.Ready, open},
	}
	if h.kit != nil {
		all = append(all, route{get, "/kit", h.kit.Page, open})
	}
	return append(all, formPages(all)...)
}

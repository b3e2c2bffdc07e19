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
	put     = fiber.MethodPut
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
		{anyone, "/.well-known/oauth-protected-resource/v1/mcp/:projectSlug/toolsets/:toolset/:endpoint", h.metadata.ProtectedResource, open},
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

		{get, "/api/projects", h.projects.List, someViewer},
		{post, "/api/projects", h.projects.Create, admin},
		{get, "/api/projects/:projectSlug", h.projects.Get, projectViewer},
		{patch, "/api/projects/:projectSlug", h.projects.Update, maintainer},
		{del, "/api/projects/:projectSlug", h.projects.Delete, admin},
		{get, "/api/projects/:projectSlug/servers", h.servers.List, projectViewer},
		{post, "/api/projects/:projectSlug/servers", h.servers.Create, carefulOne},
		{get, "/api/servers/:id", h.servers.Get, projectViewer},
		{patch, "/api/servers/:id", h.servers.Update, carefulOne},
		{del, "/api/servers/:id", h.servers.Delete, maintainer},
		{post, "/api/servers/:id/sync", h.sync.Sync, maintainer},
		{post, "/api/servers/:id/connection", h.connectionAPI.Create, maintainer},
		{del, "/api/servers/:id/connection", h.connectionAPI.Delete, maintainer},
		{get, "/api/projects/:projectSlug/tools", h.tools.List, projectViewer},
		{patch, "/api/projects/:projectSlug/tools/:name", h.tools.Set, maintainer},
		{get, "/api/projects/:projectSlug/keys", h.keys.List, projectViewer},
		{post, "/api/projects/:projectSlug/keys", h.keys.Create, carefulOne},
		{post, "/api/keys/:id/rotate", h.keys.Rotate, carefulOne},
		{del, "/api/keys/:id", h.keys.Revoke, maintainer},
		{get, "/api/calls", h.calls.List, someViewer},
		{get, "/api/audit", h.audit.List, someViewer},
		{get, "/api/people", h.people.List, viewer},
		{post, "/api/people", h.people.Create, stepUp},
		{patch, "/api/people/:id", h.people.Update, stepUp},
		{del, "/api/people/:id", h.people.Delete, stepUp},
		{get, "/api/groups", h.groups.List, viewer},
		{post, "/api/groups", h.groups.Create, stepUp},
		{get, "/api/groups/:id", h.groups.Get, viewer},
		{patch, "/api/groups/:id", h.groups.Update, stepUp},
		{del, "/api/groups/:id", h.groups.Delete, stepUp},
		{put, "/api/groups/:id/members/:personId", h.groups.AddMember, stepUp},
		{del, "/api/groups/:id/members/:personId", h.groups.RemoveMember, stepUp},

		{get, "/admin/projects/:projectSlug/activity", h.activity.Page, projectViewer},
		{get, "/admin/projects/:projectSlug/activity/export", h.activity.Export, projectViewer},
		{get, "/admin/projects/:projectSlug/activity/:id", h.activity.Call, projectViewer},

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
		{get, paths.Groups, h.groupPages.List, viewer},
		{get, paths.NewGroup, h.groupPages.New, admin},
		{post, paths.Groups, h.groupPages.Create, stepUp},
		{get, paths.Groups + "/:id", h.groupPages.Show, viewer},
		{post, paths.Groups + "/:id", h.groupPages.Update, stepUp},
		{post, paths.Groups + "/:id/members", h.groupPages.AddMember, stepUp},
		{post, paths.Groups + "/:id/members/remove", h.groupPages.RemoveMember, stepUp},
		{post, paths.Groups + "/:id/delete", h.groupPages.Delete, stepUp},
		{get, "/admin/projects/:projectSlug/tools", h.toolPages.List, projectViewer},
		{post, "/admin/projects/:projectSlug/tools", h.toolPages.Bulk, maintainer},
		{get, "/admin/projects/:projectSlug/tools/review", h.toolPages.Review, maintainer},
		{post, "/admin/projects/:projectSlug/tools/review", h.toolPages.Decide, maintainer},
		{get, "/admin/projects/:projectSlug/tools/search", h.toolPages.Search, projectViewer},
		{post, "/admin/undo", h.resume.Undo, someAdmin},
		{get, "/admin/projects/:projectSlug/tools/:name", h.playground.Show, projectViewer},
		{post, "/admin/projects/:projectSlug/tools/:name/enabled", h.toolPages.Switch, maintainer},
		{post, "/admin/projects/:projectSlug/tools/:name/approve", h.toolPages.Approve, maintainer},
		{post, "/admin/projects/:projectSlug/tools/:name/try", h.playground.Try, maintainer},
		{get, "/admin/projects/:projectSlug/code-mode", h.codePages.Workbench, projectViewer},
		{get, "/admin/projects/:projectSlug/code-mode/settings", h.codePages.Settings, projectViewer},
		{post, "/admin/projects/:projectSlug/code-mode/settings", h.codePages.Save, maintainer},
		{get, "/admin/projects/:projectSlug/code-mode/declarations", h.codePages.Download, projectViewer},
		{get, "/admin/projects/:projectSlug/code-mode/run", h.codePages.RunURL, projectViewer},
		{post, "/admin/projects/:projectSlug/code-mode/run", h.codePages.Run, maintainer},
		{get, "/admin/projects/:projectSlug/code-mode/runs", h.codePages.Runs, projectViewer},
		{get, "/admin/projects/:projectSlug/code-mode/runs/:id", h.codePages.Trace, projectViewer},
		{get, "/admin/projects/:projectSlug/code-mode/runs/:id/kept", h.codePages.Kept, projectViewer},
		{post, "/admin/projects/:projectSlug/code-mode/runs/:id/replay", h.codePages.Replay, maintainer},
		{get, "/admin/projects/:projectSlug/keys", h.keyPages.List, projectViewer},
		{post, "/admin/projects/:projectSlug/keys", h.keyPages.Create, carefulOne},
		{get, "/admin/projects/:projectSlug/keys/new", h.keyPages.New, projectViewer},
		{get, "/admin/projects/:projectSlug/keys/:id", h.keyPages.Show, projectViewer},
		{post, "/admin/projects/:projectSlug/keys/:id/rotate", h.keyPages.Rotate, carefulOne},
		{post, "/admin/projects/:projectSlug/keys/:id/revoke", h.keyPages.Revoke, carefulOne},
		{post, "/admin/projects/:projectSlug/keys/:id/done", h.keyPages.Done, maintainer},
		{get, "/admin/audit", h.auditPages.List, someViewer},
		{get, "/admin/settings", h.settings.Show, viewer},

		{get, "/admin/connections", h.connectionPages.List, someViewer},
		{get, "/admin/connections/:id", h.connectionPages.Show, projectViewer},
		{get, "/admin/connections/:id/start", h.connections.Start, maintainer},
		{post, "/admin/connections/:id/client", h.connectionPages.SaveClient, carefulOne},
		{post, "/admin/connections/:id/disconnect", h.connections.Disconnect, maintainer},
		{post, "/admin/connections/:id/drop-registration", h.connections.DropRegistration, admin},

		{get, paths.Live, h.live.Stream, someViewer},
		{get, paths.Palette, h.palette.Show, someViewer},

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
		{get, "/admin/projects/:projectSlug", h.overview.Show, projectViewer},
		{get, "/admin/projects/:projectSlug/connect", h.connect.Show, projectViewer},
		{get, "/admin/projects/:projectSlug/servers", h.serverPages.List, projectViewer},
		{post, "/admin/projects/:projectSlug/servers", h.wizard.Add, carefulOne},
		{get, "/admin/projects/:projectSlug/servers/new", h.wizard.New, projectViewer},
		{post, "/admin/projects/:projectSlug/servers/new", h.wizard.Read, maintainer},
		{get, "/admin/projects/:projectSlug/servers/new/check", h.wizard.Restart, projectViewer},
		{post, "/admin/projects/:projectSlug/servers/new/check", h.wizard.Check, maintainer},
		{get, "/admin/projects/:projectSlug/servers/:id", h.serverPages.Show, projectViewer},
		{get, "/admin/projects/:projectSlug/servers/:id/edit", h.serverPages.Edit, projectViewer},
		{post, "/admin/projects/:projectSlug/servers/:id/edit", h.serverPages.Save, maintainer},
		{post, "/admin/projects/:projectSlug/servers/:id/credentials", h.serverPages.SaveCredentials, carefulOne},
		{get, "/admin/projects/:projectSlug/servers/:id/filters", h.serverPages.Filters, projectViewer},
		{post, "/admin/projects/:projectSlug/servers/:id/filters", h.serverPages.SaveFilters, maintainer},
		{post, "/admin/projects/:projectSlug/servers/:id/choose", h.serverPages.Choose, maintainer},
		{post, "/admin/projects/:projectSlug/servers/:id/sync", h.serverPages.Sync, maintainer},
		{post, "/admin/projects/:projectSlug/servers/:id/enable", h.serverPages.Enable, maintainer},
		{post, "/admin/projects/:projectSlug/servers/:id/delete", h.serverPages.Delete, maintainer},
		{get, "/admin/projects/:projectSlug/settings", h.projectSettings.Show, projectViewer},
		{post, "/admin/projects/:projectSlug/settings", h.projectSettings.Save, maintainer},
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

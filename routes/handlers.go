package routes

import (
	"log/slog"
	"slices"
	"time"

	catalogapi "mcpgateway/routes/api/catalog"
	destinationsapi "mcpgateway/routes/api/destinations"
	doctorapi "mcpgateway/routes/api/doctor"
	"mcpgateway/routes/api/registry"
	usageapi "mcpgateway/routes/api/usage"
	"mcpgateway/routes/connect"
	"mcpgateway/routes/mcp/refusals"
	"mcpgateway/routes/mcp/resume"
	"mcpgateway/routes/mcp/session"
	"mcpgateway/web/guard"
	"mcpgateway/web/ratelimit"

	adminpages "mcpgateway/routes/admin"
	alertpages "mcpgateway/routes/admin/alerts"
	catalogpages "mcpgateway/routes/admin/catalog"
	"mcpgateway/routes/admin/code"
	"mcpgateway/routes/admin/connections"
	connectorpages "mcpgateway/routes/admin/connectors"
	destinationpages "mcpgateway/routes/admin/destinations"
	"mcpgateway/routes/admin/keys"
	"mcpgateway/routes/admin/live"
	"mcpgateway/routes/admin/observe"
	"mcpgateway/routes/admin/overview"
	"mcpgateway/routes/admin/palette"
	"mcpgateway/routes/admin/playground"
	"mcpgateway/routes/admin/projects"
	"mcpgateway/routes/admin/recipes"
	registrypages "mcpgateway/routes/admin/registries"
	"mcpgateway/routes/admin/servers"
	"mcpgateway/routes/admin/settings"
	"mcpgateway/routes/admin/signin"
	"mcpgateway/routes/admin/tools"
	"mcpgateway/routes/admin/toolsets"
	usagepages "mcpgateway/routes/admin/usage"
	"mcpgateway/routes/api"
	"mcpgateway/routes/frame"
	"mcpgateway/routes/mcp"
	"mcpgateway/routes/mcp/card"
	"mcpgateway/routes/me"
	myconnections "mcpgateway/routes/me/connections"
	"mcpgateway/routes/me/security"
	"mcpgateway/routes/oauth"
	"mcpgateway/routes/public"
	"mcpgateway/services"
	"mcpgateway/services/activity/usage"
	"mcpgateway/services/invitations"
	"mcpgateway/services/page"
	"mcpgateway/views/paths"
	"mcpgateway/web"
)

// handlers are the handlers of the routes, by audience.
type handlers struct {
	endpoint *mcp.Endpoint
	refusals *refusals.Refusals

	oauthHandlers
	apiHandlers
	publicHandlers
	signinHandlers
	adminHandlers
	kit *public.Kit // nil unless the gateway runs in development mode
}

// oauthHandlers implement OAuth for clients and for connections to servers.
type oauthHandlers struct {
	metadata       *oauth.Metadata
	cards          *card.Cards
	authorize      *oauth.Authorize
	token          *oauth.Token
	register       *oauth.Register
	clientDocument *oauth.ClientDocument
	callback       *oauth.Callback
}

// apiHandlers implement the API.
type apiHandlers struct {
	health        *api.Health
	metrics       *api.Metrics
	registry      *registry.Registry
	templates     *registry.Templates
	registryV01   *registry.V01
	registryViews *registry.Views
	catalogAPI    catalogapi.Handlers
	destinations  *destinationsapi.Handlers
	projects      *api.Projects
	toolsets      *api.Toolsets
	recipes       *api.Recipes
	servers       *api.Servers
	sync          *api.ServerSync
	runners       *api.Runners
	tools         *api.Tools
	keys          *api.Keys
	connectors    *api.Connectors
	connector     *connect.Handler
	calls         *api.Calls
	usage         *usageapi.Usage
	doctor        *doctorapi.Doctor
	audit         *api.Audit
	people        *api.People
	invitations   *api.Invitations
	alertsAPI     *api.Alerts
	groups        *api.Groups
	accessAPI     *api.Access
	meAPI         *api.Me
	connectionAPI *api.Connections

	myConnectionAPI     *api.MyConnections
	serverConnectionAPI *api.ServerConnections
}

// publicHandlers serve the public pages.
type publicHandlers struct {
	home          *public.Home
	docs          *public.Docs
	feeds         *public.Feeds
	icons         *public.Icons
	registryPages *public.Registry
	templatePages *public.Templates
}

// signinHandlers sign users in and out.
type signinHandlers struct {
	setup   *signin.Setup
	login   *signin.Login
	signOn  *signin.SingleSignOn
	stepUp  *signin.StepUp
	second  *signin.SecondStep
	account *signin.Account
	join    *signin.Join
	reset   *signin.Reset
	resume  *signin.Resume
}

// adminHandlers serve the administration.
type adminHandlers struct {
	me               *me.Me
	security         *security.Security
	myConnections    *myconnections.Connections
	projectPages     *projects.Projects
	overview         *overview.Overview
	connect          *projects.Connect
	projectSettings  *projects.Settings
	access           *projects.Access
	toolsetPages     *toolsets.Toolsets
	recipePages      *recipes.Pages
	connectorPages   *connectorpages.Connectors
	keyPages         *keys.Keys
	serverPages      *servers.Servers
	wizard           *servers.Wizard
	catalogUse       *servers.FromCatalog
	catalogRequests  *catalogpages.Requests
	registryAdmin    *registrypages.Registries
	destinationPages *destinationpages.Destinations
	connections      *connections.Connections
	connectionPages  *connections.Pages
	toolPages        *tools.Tools
	playground       *playground.Playground
	codePages        *code.Pages
	activity         *observe.Activity
	usagePages       *usagepages.Usage
	auditPages       *observe.Audit
	peoplePages      *settings.People
	groupPages       *settings.Groups
	settings         *settings.Settings
	files            *settings.ImportExport
	catalogPages     *catalogpages.Catalog
	catalogRows      *catalogpages.Rows
	catalogImport    *catalogpages.Import
	catalogChecks    *catalogpages.Checks
	palette          *palette.Palette
	live             *live.Live
	alertPages       *alertpages.Alerts
}

// newHandlers creates the handlers from the services.
func newHandlers(s *services.Services, names *web.HostPolicy, guards *guard.Guards, pages *adminpages.ProjectPages, log *slog.Logger) *handlers {
	frames := pages.Pages
	h := &handlers{
		endpoint: mcp.NewEndpoint(mcp.Options{
			Views: s.Views, Auth: s.ProjectAuth, Gateway: s.Gateway, Sessions: session.NewSessions(s.Config.Keys, s.EndedSessions, time.Now, log), Levels: s.LogLevels,
			Names: names, Failures: ratelimit.NewFailureLimit(time.Now), WrongKeys: ratelimit.NewAddressLimit(wrongKeysPerSecond, wrongKeysBurst, time.Now), Limits: s.CallLimits,
			Subscriptions: s.Subscriptions, Resume: resume.New(s.Config.Keys, s.Finished, s.Background), Results: s.Results, MaxStreams: s.Config.MaxStreams, PublicURL: s.Config.PublicURL.String(), Instance: s.Instance,
		}),
		refusals:    refusals.New(s.Refused, s.Views, s.Probes, names),
		apiHandlers: newAPIHandlers(s, names), publicHandlers: newPublicHandlers(s, frames), signinHandlers: newSigninHandlers(s, guards, frames),
		adminHandlers: newAdminHandlers(s, guards, pages),
	}
	h.oauthHandlers = newOAuthHandlers(s, frames, h.connections, h.myConnections)
	guards.SetDialog(h.stepUp.Dialog)
	h.live = live.New(live.Options{
		Assets: frames.Assets, Directory: s.Directory, Guards: guards, People: s.People,
		Topics: slices.Concat(pages.Navigation.Topics(), h.keyPages.Topics(), h.connectorPages.Topics(), h.serverPages.Topics(), h.activity.Topics(), h.projectPages.Topics(), h.overview.Topics()),
	})
	if s.Dev {
		h.kit = public.NewKit(frames.Assets)
	}
	s.Metrics.Streams("mcp", h.endpoint.OpenStreams)
	s.Metrics.Resume(h.endpoint.Resume.Held)
	s.Metrics.Streams("pages", h.live.OpenStreams)
	return h
}

// newOAuthHandlers creates the handlers of OAuth. shared and own receive the
// outcome of connections to servers.
func newOAuthHandlers(s *services.Services, frames *frame.Pages, shared *connections.Connections, own *myconnections.Connections) oauthHandlers {
	return oauthHandlers{
		cards:    card.New(s.Config.PublicURL, s.Version, s.Views),
		metadata: oauth.NewMetadata(s.Config.PublicURL, s.Views, s.OAuth), authorize: oauth.NewAuthorize(s.OAuth, s.Views, frames.Assets, paths.Login),
		token: oauth.NewToken(s.OAuth, ratelimit.NewFailureLimit(time.Now)), register: oauth.NewRegister(s.OAuth),
		clientDocument: oauth.NewClientDocument(s.ClientDocument), callback: oauth.NewCallback(s.Connections, shared, own),
	}
}

func newAPIHandlers(s *services.Services, names *web.HostPolicy) apiHandlers {
	servers := api.NewServers(s.Projects, s.Syncer, s.Revisions, s.Runners)
	return apiHandlers{
		health: api.NewHealth(s.Ready), metrics: api.NewMetrics(s.Metrics, metricsAccess(s)),
		registry: registry.New(s.Catalog), templates: registry.NewTemplates(s.Catalog), registryV01: registry.NewV01(s.Catalog),
		destinations: destinationsapi.New(s.Destinations, s.Deliveries),
		catalogAPI: catalogapi.Handlers{
			Sources: catalogapi.NewSources(s.CatalogStore), Requests: catalogapi.NewRequests(s.Requests, s.Approvals, s.Own, s.Directory),
			Views: catalogapi.NewViews(s.Registries, s.Config.PublicURL), Keys: catalogapi.NewKeys(s.Registries),
			Checks: catalogapi.NewChecks(s.CatalogChecks),
		},
		registryViews: registry.NewViews(registry.ViewOptions{
			Catalog: s.Catalog, Store: s.Registries, Tokens: s.OAuth, Failures: ratelimit.NewFailureLimit(time.Now), Public: s.Config.PublicURL,
		}),
		projects: api.NewProjects(s.Projects, s.Toolsets), toolsets: api.NewToolsets(s.Directory, s.Toolsets, s.Config.PublicURL), recipes: api.NewRecipes(s.Directory, s.Recipes, s.ToolStates), servers: servers, sync: api.NewServerSync(s.Syncer, servers), tools: api.NewTools(s.Directory, s.ToolStates),
		keys: api.NewKeys(s.Keys, s.Projects), calls: api.NewCalls(s.Calls, s.Directory, page.NewCursors(s.Config.Keys)),
		audit: api.NewAudit(s.Audit, s.Directory, page.NewCursors(s.Config.Keys)), people: api.NewPeople(s.People), invitations: api.NewInvitations(newLinks(s)), alertsAPI: api.NewAlerts(s.Alerts), groups: api.NewGroups(s.Groups),
		accessAPI: api.NewAccess(s.Grants, s.Projects), meAPI: api.NewMe(s.Own, s.People, s.OAuth, s.Config.PublicURL),
		runners:       api.NewRunners(s.Operations, s.Runners, s.Directory),
		connectionAPI: api.NewConnections(s.Connections, s.Config.PublicURL, paths.StartConnection),

		myConnectionAPI: api.NewMyConnections(s.OwnAccounts), serverConnectionAPI: api.NewServerConnections(s.Projects, s.OwnAccounts),

		usage:  usageapi.New(usageapi.Options{Store: s.Usage, Directory: s.Directory, Builtins: s.Gateway, Names: usageNames(s), Now: time.Now}),
		doctor: doctorapi.New(s.Doctor, s.Refused, s.Views),

		connectors: api.NewConnectors(s.Connectors, s.ConnectorHub, s.Projects),
		connector: connect.New(connect.Options{
			Store: s.Connectors, Hub: s.ConnectorHub, Names: names, Failures: ratelimit.NewFailureLimit(time.Now), Draining: s.Draining,
			HTTPS: s.Config.PublicURL.Scheme == "https", Tasks: s.Background,
		}),
	}
}

// newLinks returns the links with which people set their passwords.
func newLinks(s *services.Services) *invitations.Links {
	at := func(path func(token string) string) func(string) string {
		return func(token string) string { return s.Config.PublicURL.JoinPath(path(token)).String() }
	}
	return invitations.New(invitations.Options{Users: s.People, Mail: s.Mail, Invite: at(paths.Join), Reset: at(paths.Reset)})
}

// usageNames returns the names of callers for each response.
func usageNames(s *services.Services) func() usage.Names {
	return func() usage.Names { return observe.UsageNames(s.Keys, s.People) }
}

func newPublicHandlers(s *services.Services, frames *frame.Pages) publicHandlers {
	pages := public.NewPages(frames, s.Config.PublicURL, s.Catalog, frame.NewIcons(s.Catalog, s.CatalogIcons))
	return publicHandlers{
		icons: public.NewIcons(s.CatalogIcons),
		home:  public.NewHome(pages, s.Catalog, s.RunsPrograms), docs: public.NewDocs(pages, s.Catalog), feeds: public.NewFeeds(pages, s.Catalog),
		registryPages: public.NewRegistry(public.RegistryOptions{
			Pages: pages, Catalog: s.Catalog, Directory: s.Directory, RunsPrograms: s.RunsPrograms, OwnProjects: s.Own.Projects, Requests: s.Requests,
			Checks: s.Catalog, Report: s.Config.CatalogReport,
		}),
		templatePages: public.NewTemplates(pages, s.Catalog),
	}
}

func newSigninHandlers(s *services.Services, guards *guard.Guards, frames *frame.Pages) signinHandlers {
	provider, resume := identityProvider(s), signin.NewResume(guards, s.KeptForms)
	return signinHandlers{
		setup: signin.NewSetup(frames, s.People, s.Demo, guards), login: signin.NewLogin(frames, s.People, s.Factors, guards, resume, provider),
		signOn:  signin.NewSingleSignOn(frames, s.SingleSignOn, guards, resume, provider),
		stepUp:  signin.NewStepUp(frames, s.People, s.Factors, guards, resume, provider),
		second:  signin.NewSecondStep(frames, s.People, s.Factors, guards, resume),
		account: signin.NewAccount(frames, s.People, guards, time.Now), join: signin.NewJoin(frames, s.People, guards, provider), reset: signin.NewReset(frames, s.People, guards), resume: resume,
	}
}

func newAdminHandlers(s *services.Services, guards *guard.Guards, pages *adminpages.ProjectPages) adminHandlers {
	frames := pages.Pages
	sealer, public, cursors := s.Config.Keys, s.Config.PublicURL, page.NewCursors(s.Config.Keys)
	return adminHandlers{
		me:            me.New(me.Options{Pages: pages, Own: s.Own, Views: s.Views, Grants: s.OAuth, Calls: s.Traffic, CatalogRequests: s.Requests, Catalog: s.Catalog, Seal: sealer, Public: public, Now: time.Now}),
		myConnections: myconnections.New(myconnections.Options{Pages: frames, Store: s.OwnAccounts, Tickets: s.Tickets, Seal: sealer, Now: time.Now}),
		security:      security.New(frames, s.People, s.Factors, sealer, time.Now),
		projectPages:  projects.New(pages, s.Traffic, s.Keys, s.Projects, public),
		overview: overview.New(overview.Options{
			Pages: pages, Traffic: s.Traffic, Calls: s.Calls, Keys: s.Keys, People: s.People, Checklist: s.Checklist, Toolsets: s.Toolsets, Public: public, Now: time.Now,
		}),
		connect:         projects.NewConnect(projects.ConnectOptions{Pages: pages, Gateway: s.Gateway, Keys: s.Keys, Doctor: s.Doctor, Refused: s.Refused, Endpoints: s.Views, Public: public}),
		projectSettings: projects.NewSettings(pages, s.Projects, s.Keys, s.Quotas, s.People),
		access: projects.NewAccess(projects.AccessOptions{
			Pages: pages, Store: s.Projects, People: s.People, Groups: s.Groups, Grants: s.Grants, Keys: s.Keys, Rights: s.Rights, Views: s.Views, Search: s.ToolSearch,
		}),
		toolsetPages: toolsets.New(pages, s.Toolsets, public, time.Now),
		connectorPages: connectorpages.New(connectorpages.Options{
			Pages: pages, Store: s.Connectors, Connected: s.ConnectorHub.IsConnected, Seal: sealer, Public: public, Now: time.Now,
		}),
		keyPages: keys.New(keys.Options{Pages: pages, Keys: s.Keys, Index: s.KeyIndex, Calls: s.Calls, Traffic: s.Traffic, Seal: sealer, Public: public, Now: time.Now}),
		serverPages: servers.New(servers.Options{
			Pages: pages, Reader: s.Syncer, Calls: s.Calls, Traffic: s.Traffic, History: s.History, Store: s.Projects, StepUp: guards,
			Callers: func() *observe.Callers { return observe.NewCallers(s.Keys, s.People) }, People: s.OwnAccounts, Learned: s.Revisions, Programs: s.Runners, Operations: s.Operations,
			Icons: frame.NewIcons(s.Catalog, s.CatalogIcons),
		}),
		wizard:          servers.NewWizard(pages, s.Syncer, s.Projects, s.Catalog, sealer, public),
		catalogUse:      servers.NewFromCatalog(pages, s.Catalog, s.Projects, s.Syncer),
		connections:     connections.New(frames, s.Connections),
		connectionPages: connections.NewPages(pages, s.Connections, s.OwnAccounts, s.Projects, s.Audit, public, time.Now),
		toolPages:       tools.New(pages, s.ToolStates, s.ToolSearch, s.Traffic, s.Gateway, guards, time.Now),
		playground:      playground.New(pages, s.Gateway, s.Traffic, s.Projects, s.ToolStates, guards),
		codePages: code.New(code.Options{
			Pages: pages, Store: s.Projects, Declarations: s.Declarations, Unchecked: s.Arguments.UncheckedReason, Runner: s.Gateway,
			CanTypecheck: s.Runner.CanTypecheck(), Traces: s.CodeRuns, Keys: s.Keys, People: s.People, Now: time.Now,
		}),
		recipePages: recipes.New(recipes.Options{
			Pages: pages, Store: s.Recipes, Tools: s.ToolStates, Traces: s.CodeRuns, Keys: s.Keys, People: s.People, Now: time.Now,
		}),
		activity:    observe.NewActivity(observe.ActivityOptions{Pages: pages, Calls: s.Calls, Traffic: s.Traffic, Keys: s.Keys, People: s.People, Cursors: cursors}),
		usagePages:  usagepages.New(usagepages.Options{Pages: pages, Store: s.Usage, Builtins: s.Gateway, Names: usageNames(s), Now: time.Now}),
		auditPages:  observe.NewAudit(pages, s.Audit, cursors),
		peoplePages: settings.NewPeople(settings.PeopleOptions{Pages: frames, People: s.People, Links: newLinks(s), Groups: s.Groups, Factors: s.Factors, Provider: identityProvider(s), Public: public, Seal: sealer, Now: time.Now}),
		groupPages:  settings.NewGroups(frames, s.Groups, s.People, time.Now),
		settings:    settings.New(frames, settings.RuntimeInfo{Version: s.Version, Database: s.DB.Name(), Config: s.Config, Fresh: s.Fresh, TestMail: s.TestMail.Send}, time.Now),
		alertPages: alertpages.New(alertpages.Options{
			Pages: frames, Store: s.Alerts, MailOn: s.Mail.On(), Recipients: s.Config.AlertEmail, Now: time.Now,
		}),
		files:        settings.NewImportExport(frames, s.Projects, sealer),
		catalogPages: catalogpages.New(frames, s.Catalog, s.CatalogStore, s.People),
		catalogRequests: catalogpages.NewRequests(catalogpages.RequestsOptions{
			Pages: pages, Catalog: s.Catalog, Store: s.Requests, Approvals: s.Approvals, Lists: s.CatalogBulk.Lists, Callers: func() *observe.Callers { return observe.NewCallers(s.Keys, s.People) }, Now: time.Now,
		}),
		palette:          palette.New(pages, s.Catalog, s.Keys, s.People),
		catalogRows:      catalogpages.NewRows(catalogpages.RowsOptions{Pages: frames, Catalog: s.Catalog, Store: s.CatalogStore, Bulk: s.CatalogBulk, Undo: guards}),
		destinationPages: destinationpages.New(destinationpages.Options{Pages: frames, Store: s.Destinations, Deliveries: s.Deliveries, Seal: sealer, Now: time.Now}),
		registryAdmin:    registrypages.New(registrypages.Options{Pages: frames, Catalog: s.Catalog, Store: s.Registries, Seal: sealer, Public: public, Now: time.Now}),
		catalogChecks:    catalogpages.NewChecks(s.CatalogStore, s.CatalogChecks),
		catalogImport:    catalogpages.NewImport(frames, s.CatalogStore, sealer),
	}
}

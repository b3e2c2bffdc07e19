// Package services creates and connects all services of the product.
package services

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/argon2"
	"gorm.io/gorm"

	"mcpgateway/migrations"
	"mcpgateway/models"
	"mcpgateway/services/access"
	"mcpgateway/services/access/callrate"
	"mcpgateway/services/access/factors"
	"mcpgateway/services/access/grants"
	"mcpgateway/services/access/groups"
	"mcpgateway/services/access/keys"
	"mcpgateway/services/access/oidc"
	"mcpgateway/services/access/passwords"
	"mcpgateway/services/access/personal"
	"mcpgateway/services/access/quotas"
	"mcpgateway/services/access/rights"
	"mcpgateway/services/access/storedforms"
	"mcpgateway/services/activity"
	"mcpgateway/services/activity/refused"
	"mcpgateway/services/activity/traffic"
	"mcpgateway/services/activity/usage"
	"mcpgateway/services/alerts"
	"mcpgateway/services/artifacts"
	"mcpgateway/services/background"
	"mcpgateway/services/backups"
	"mcpgateway/services/catalog"
	"mcpgateway/services/catalog/bulk"
	"mcpgateway/services/catalog/health"
	"mcpgateway/services/catalog/icons"
	"mcpgateway/services/catalog/published"
	"mcpgateway/services/catalog/registries"
	"mcpgateway/services/catalog/requests"
	"mcpgateway/services/catalog/schedule"
	"mcpgateway/services/checklist"
	"mcpgateway/services/codemode"
	"mcpgateway/services/config"
	"mcpgateway/services/connections"
	"mcpgateway/services/doctor"
	"mcpgateway/services/egress"
	"mcpgateway/services/gateway"
	"mcpgateway/services/gateway/connecting"
	"mcpgateway/services/gateway/subscriptions"
	"mcpgateway/services/gateway/tasks"
	"mcpgateway/services/inventory"
	"mcpgateway/services/inventory/history"
	"mcpgateway/services/locks"
	"mcpgateway/services/mail"
	"mcpgateway/services/mail/trial"
	"mcpgateway/services/membudget"
	"mcpgateway/services/metrics"
	"mcpgateway/services/notify"
	"mcpgateway/services/oauthclient"
	"mcpgateway/services/oauthclient/clientdocument"
	"mcpgateway/services/oauthserver"
	"mcpgateway/services/outbox"
	"mcpgateway/services/outbox/delivery"
	"mcpgateway/services/outbox/destinations"
	"mcpgateway/services/outbox/sources"
	"mcpgateway/services/page"
	"mcpgateway/services/projects"
	"mcpgateway/services/projects/toolsets"
	"mcpgateway/services/projects/toolstate"
	"mcpgateway/services/recipes"
	"mcpgateway/services/revisions"
	"mcpgateway/services/runners"
	"mcpgateway/services/runners/connectors"
	"mcpgateway/services/runners/operations"
	"mcpgateway/services/runners/rows"
	"mcpgateway/services/schema"
	"mcpgateway/services/secrets"
	"mcpgateway/services/sessions"
	"mcpgateway/services/toolsearch"
	"mcpgateway/services/toolsearch/embeddings"
	"mcpgateway/services/toolset"
	"mcpgateway/services/toolset/moves"
	"mcpgateway/services/toolset/override"
	"mcpgateway/services/toolset/views"
	"mcpgateway/services/tracing"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/credentials"
	"mcpgateway/services/upstream/pool"
)

// Services are the running product without its HTTP interfaces.
type Services struct {
	DB       *gorm.DB
	Config   *config.Config
	Version  string // of the program
	Instance string // this gateway's name in Gateway-Hops
	Audit    *activity.Audit
	Denials  *activity.Denials
	Events   *outbox.Events // for destinations outside the gateway
	// Destinations receive Events from Deliveries.
	Destinations *destinations.Store
	Deliveries   *delivery.Deliveries
	Projects     *projects.Store
	ToolStates   *toolstate.Store
	Toolsets     *toolsets.Store
	Recipes      *recipes.Store
	Keys         *keys.Store
	KeyIndex     *keys.Index
	ProjectAuth  *access.ProjectAuth
	Grants       *grants.Store // who may use projects and toolsets
	Own          *personal.Own
	CallLimits   *callrate.Limits
	Quotas       *quotas.Quotas
	People       *access.Users
	Groups       *groups.Store
	Factors      *factors.Store
	KeptForms    *storedforms.Store
	// SingleSignOn is nil if it is not configured.
	SingleSignOn *oidc.SignOn
	Catalog      *catalog.Catalog
	CatalogStore *catalog.Store
	// Registries are the views of the catalog for editors, and their keys.
	Registries *registries.Store
	// Requests are those of people for servers of the catalog, which Approvals add.
	Requests        *requests.Store
	Approvals       *requests.Approvals
	OAuth           *oauthserver.Server
	CatalogBulk     *bulk.Bulk
	catalogSchedule *schedule.Schedule
	// CatalogIcons are nil if they are turned off.
	CatalogIcons  *icons.Icons
	CatalogChecks *health.Checker
	// Connections are the gateway's own accounts at upstream servers. Waiting
	// reports those with a pending authorization.
	Connections    *oauthclient.Connections
	Waiting        *oauthclient.PendingAuth
	calling        *connecting.Waiting
	OwnAccounts    *connections.Store   // the users' own accounts at upstream servers
	Tickets        *connections.Tickets // of the links to connect an own account
	ClientDocument *clientdocument.Document
	Directory      *toolset.Directory
	// Views decide what callers see of the projects in Directory.
	Views  *views.Views
	Rights *rights.Index
	Syncer *inventory.Syncer
	// Runners are the connections to the runners of programs, and Rows which
	// servers their files declare.
	Runners *runners.Runners
	Rows    *rows.Store
	// Connectors are the runners on other computers, and ConnectorHub has their
	// connections.
	Connectors   *connectors.Store
	ConnectorHub *connectors.Hub
	// Operations restart and stop programs for people.
	Operations *operations.Operations
	History    *history.Store
	Gateway    *gateway.Gateway
	Results    *membudget.Budget // of large results

	Subscriptions *subscriptions.Subscriptions
	EndedSessions *sessions.Ended
	LogLevels     *sessions.Levels
	Revisions     *revisions.Store
	Finished      *sessions.Finished // results whose clients were not connected
	Artifacts     *artifacts.Store   // values of callers and results that were too large
	Calls         *activity.Calls
	Traffic       *traffic.Store
	Usage         *usage.Store
	Refused       *refused.Log // requests to projects' endpoints
	Probes        *doctor.Probes
	Doctor        *doctor.Doctor
	Checklist     *checklist.Store
	Metrics       *metrics.Metrics
	Mail          *mail.Mailer
	TestMail      *trial.Sender
	Alerts        *alerts.Store
	FiringAlerts  *alerts.Current // in memory
	alerts        *alerts.Evaluator
	Tracer        *tracing.Tracer // nil if no collector is configured

	Declarations *codemode.Declarations
	Arguments    *schema.Validator
	Runner       *codemode.Runner
	CodeRuns     *codemode.Traces

	// Background starts the goroutines of the process and counts their panics.
	Background *background.Tasks

	// Dev adds pages for developing the gateway itself.
	Dev bool

	// Demo loads the demo project. It is nil if there is none.
	Demo Demo

	groupIndex *groups.Index
	forwardKey []byte // random; of hashes of forwarded headers
	tokenIndex *oauthserver.TokenIndex
	locks      *locks.Locks
	clients    *egress.Clients
	tasks      *tasks.Store // of clients, at upstream servers
	ToolSearch *toolsearch.Searcher
	backups    *backups.Schedule      // nil without a folder
	embeddings *embeddings.Embeddings // of tools, for ToolSearch; off without an endpoint
	pool       *pool.Pool
	probes     *pool.Pool // of CatalogChecks; has no credentials
	feed       *notify.Feed
	sources    *sources.Sources // of events
	log        *slog.Logger
	draining   atomic.Bool
}

// Demo is the demo project. Its servers run in the serving process.
type Demo interface {
	// Offered reports whether the demo project is available and not yet loaded.
	Offered(ctx context.Context) (bool, error)
	// Load creates the project, syncs its tools and returns its slug.
	Load(ctx context.Context) (slug string, err error)
}

// New opens the database, applies pending migrations and creates all services.
// Run must be called next. Close releases what New opened.
func New(ctx context.Context, c *config.Config, version string, log *slog.Logger) (*Services, error) {
	return NewWithAccess(ctx, c, version, log, AccessParts{Hasher: passwords.New(argon2.IDKey), Now: now})
}

// AccessParts are the parts of access control that tests replace.
type AccessParts struct {
	Hasher *passwords.Hasher
	Now    func() time.Time // the clock of sessions, keys, tokens and groups; UTC, in milliseconds
}

// NewWithAccess is like New with other parts of access control, for tests.
func NewWithAccess(ctx context.Context, c *config.Config, version string, log *slog.Logger, parts AccessParts) (*Services, error) {
	db, err := models.Open(ctx, c.DatabaseURL)
	if err != nil {
		return nil, err
	}
	s, err := wire(ctx, db, c, version, log, parts)
	if err != nil {
		return nil, errors.Join(err, closeDB(db))
	}
	return s, nil
}

// wire creates all services in the order of their dependencies.
func wire(ctx context.Context, db *gorm.DB, c *config.Config, version string, log *slog.Logger, parts AccessParts) (*Services, error) {
	pool, err := db.DB()
	if err != nil {
		return nil, err
	}
	if _, err := migrations.Up(ctx, pool, db.Name()); err != nil {
		return nil, err
	}
	s := &Services{forwardKey: []byte(rand.Text()), DB: db, Config: c, Version: version, log: log, Background: background.New(log)}
	guard, resolver := egress.NewGuard(c.EgressAllow), secrets.NewResolver(c.Keys, c.Environment)
	s.clients = egress.NewClients(guard, egress.WithTasks(s.Background))
	s.Mail = mail.New(mail.Options{Server: c.Mail, Dial: s.clients.DialMail, Name: c.PublicURL.Hostname(), Now: parts.Now, Log: log})
	if err := s.wireStore(ctx, guard, resolver); err != nil {
		return nil, err
	}
	s.wireOutbox(checkURL(guard, c))
	s.wireAccess(parts)
	s.wireDoctor()
	s.wireCatalog()
	s.wireRequests()
	s.wireConnections(resolver)
	s.wireRunners(parts.Now)
	s.wireUpstreams(resolver)
	s.wireCode()
	s.wireAlerts(parts.Now)
	if err := s.wireGateway(ctx, resolver); err != nil {
		return nil, err
	}
	return s, nil
}

// wireStore creates the services that only use the database.
func (s *Services) wireStore(ctx context.Context, guard *egress.Guard, resolver *secrets.Resolver) (err error) {
	db, c := s.DB, s.Config
	if s.Instance, err = c.Keys.Name("gateway hops", c.PublicURL.String()); err != nil {
		return err
	}
	if s.feed, err = notify.NewFeed(db, c.DatabaseURL, s.log); err != nil {
		return err
	}
	s.Audit = activity.NewKeyedAudit(db, c.Keys, now)
	if c.Backup.Dir != "" {
		s.backups = backups.New(db, backups.Options(c.Backup), now, s.log)
	}
	s.Events = outbox.New(db, now)
	s.Audit.UseEvents(s.Events)
	s.Denials = activity.NewDenials(db, s.Audit, now, s.log)
	s.Calls = activity.NewCalls(db, now, s.log)
	s.Traffic = traffic.New(db, now)
	s.Usage = usage.New(db, now)
	s.Refused = refused.New(db, now, s.log)
	s.tasks = tasks.NewStore(db, now)
	s.Checklist = checklist.New(db, now)
	s.EndedSessions = sessions.NewEnded(db, s.feed, sessions.MaxEnded, now)
	s.LogLevels = sessions.NewLevels(db, s.feed, sessions.MaxLevels, now)
	s.Artifacts = artifacts.NewStore(db, c.Keys, now)
	s.Finished = sessions.NewFinished(db, s.feed, c.Keys, now, s.log)
	var options []projects.Option
	if !c.LoopbackListener {
		options = append(options, projects.Exposed())
	}
	s.Projects = projects.NewStore(db, resolver, checkURL(guard, c), s.Audit, s.feed, now, options...)
	s.ToolStates = toolstate.NewStore(db, s.Audit, s.feed)
	s.Toolsets = toolsets.NewStore(db, s.Audit, s.feed, now)
	s.Recipes = recipes.NewStore(db, s.Audit, s.feed, now)
	if err := s.Projects.SealAddresses(ctx); err != nil {
		return err
	}
	s.locks, err = locks.Open(ctx, db, c.DatabaseURL, s.Background)
	return err
}

// wireAccess creates the services for authentication and access control.
func (s *Services) wireAccess(parts AccessParts) {
	db, c, now := s.DB, s.Config, parts.Now
	s.KeyIndex = keys.NewIndex(db, now)
	memberships := groups.NewMemberships(c.SingleSignOn.GroupsMaxAge)
	s.groupIndex = groups.NewIndex(db, memberships, now)
	s.Rights = rights.NewIndex(db, s.groupIndex)
	s.tokenIndex = oauthserver.NewTokenIndex(db, now)
	s.Keys = keys.New(db, s.Audit, s.feed, now)
	s.ProjectAuth = access.NewProjectAuth(s.KeyIndex, s.tokenIndex, s.feed.CaughtUpAt, c.MaxStaleness, time.Now)
	s.OAuth = oauthserver.New(oauthserver.Options{
		DB: db, Issuer: c.PublicURL, Audit: s.Audit, Feed: s.feed, Rights: s.Rights, Sealer: c.Keys, Documents: s.clients.MCP().Transport, Now: now,
	})
	s.CallLimits = callrate.New(now)
	s.Quotas = quotas.New(db, quotas.MaxCounters, now, s.log)
	s.Quotas.Report(s.sources.Quota)
	s.Groups = groups.NewStore(db, s.Audit, s.feed, memberships, now)
	s.People = access.NewUsers(db, s.Audit, s.feed, c.Keys, parts.Hasher, memberships, now)
	s.Factors = factors.New(factors.Options{
		DB: db, Audit: s.Audit, Feed: s.feed, Keys: c.Keys, PublicURL: c.PublicURL, Require: factors.Requirement(c.SecondFactor), Now: now,
	})
	s.People.UseFactors(s.Factors)
	s.Grants = grants.New(db, s.Audit, s.feed, s.People, now)
	s.KeptForms = storedforms.New(db, s.People, c.Keys, now)
	if sso := c.SingleSignOn; sso.Configured() {
		provider := oidc.NewProvider(oidc.Options{
			Issuer: sso.Issuer, ClientID: sso.ClientID, ClientSecret: sso.ClientSecret, RedirectURL: c.PublicURL.String() + "/login/callback",
			Scopes: sso.Scopes, GroupsClaim: sso.GroupsClaim,
		}, s.clients.MCP(), now)
		users := access.NewIdentities(s.People, s.Groups, sso.AllowedDomains, sso.DefaultRole)
		s.SingleSignOn = oidc.NewSignOn(oidc.SignOnOptions{DB: db, Users: users, Provider: provider, Sealer: c.Keys, Groups: s.Groups, Now: now})
	}
}

// wireDoctor creates the test of how clients reach the gateway.
func (s *Services) wireDoctor() {
	s.Probes = doctor.NewProbes(s.Config.Keys, now)
	s.Doctor = doctor.New(doctor.Options{
		DB: s.DB, Audit: s.Audit, Client: s.clients.Own(s.Config.PublicURL), Public: s.Config.PublicURL, Probes: s.Probes, Keys: s.Keys, OAuth: s.OAuth, Log: s.log, Now: now,
	})
}

// wireCatalog creates the public catalog of servers and templates.
func (s *Services) wireCatalog() {
	c := s.Config
	own := func(ctx context.Context) []*models.CatalogEntry { // the projects are wired later
		return published.New(s.Directory, s.Views, s.ProjectAuth, c.PublicURL).Rows(ctx)
	}
	s.Catalog = catalog.New(s.DB, page.NewCursors(c.Keys), c.Keys.ActiveKID(), s.log, s.Background, catalog.WithOwn(own))
	s.Registries = registries.New(s.DB, s.Catalog, s.Audit, now)
	s.CatalogStore = catalog.NewStore(s.DB, s.clients.Catalog(), s.Audit, s.feed, now)
	s.CatalogBulk = bulk.New(s.DB, s.CatalogStore, now)
	s.catalogSchedule = schedule.New(s.DB, s.CatalogStore, now, s.log)
	if c.CatalogIcons {
		s.CatalogIcons = icons.New(icons.Options{DB: s.DB, Client: s.clients.Catalog(), Feed: s.feed, Now: now, Log: s.log, Tasks: s.Background})
	}
	s.probes = pool.New(s.clients.MCP(), s.Version, pool.WithTasks(s.Background), pool.WithInstance(s.Instance))
	s.CatalogChecks = health.New(health.Options{DB: s.DB, Client: s.probes, Audit: s.Audit, Feed: s.feed, Now: now, Log: s.log})
}

// wireConnections creates the gateway's own accounts at upstream servers.
func (s *Services) wireConnections(resolver *secrets.Resolver) {
	s.ClientDocument = clientdocument.New(s.Config.PublicURL, nil, now)
	s.Connections = oauthclient.New(oauthclient.Settings{
		DB: s.DB, Locks: s.locks, HTTP: s.clients.MCP(), Keys: s.Config.Keys, Audit: s.Audit, Feed: s.feed,
		Document: s.ClientDocument, PublicURL: s.Config.PublicURL, Now: now, Log: s.log, Tasks: s.Background,
		ClientSecret: func(server models.Server) (secrets.Value, error) {
			return resolver.Resolve(server.OAuthClientSecret, projects.ClientSecretRow(server.ID))
		},
		PrivateKey: func(server models.Server) (secrets.Value, error) {
			return resolver.Resolve(server.OAuthPrivateKey, projects.PrivateKeyRow(server.ID))
		},
		Address:  func(server models.Server) (string, error) { return projects.Address(server, resolver.Resolve) },
		ClientOf: func(server models.Server) *http.Client { return s.httpClientOf(server, resolver) },
		Enabled:  s.Rights.IsEnabled,
		Ended:    s.accountEnded,
		Stored:   s.sources.Connection,
	})
	s.Waiting = oauthclient.NewWaiting(s.Connections)
	s.Tickets = connections.NewTickets(s.Config.Keys, s.Config.PublicURL, now)
	s.calling = connecting.NewWaiting(s.Waiting, s.Connections, s.Tickets)
}

// httpClientOf returns the HTTP client of a server with its own TLS settings, and
// nil for others, whose connections with former settings it closes.
func (s *Services) httpClientOf(row models.Server, resolver *secrets.Resolver) *http.Client {
	if !credentials.HasTLS(&row) {
		s.clients.Forget(row.ID)
		return nil
	}
	return s.clients.Server(row.ID, row.URL, credentials.TLS(row, resolver, projects.TLSKeyRow(row.ID)))
}

// wireUpstreams creates the clients of upstream servers and the snapshots of
// their tools.
func (s *Services) wireUpstreams(resolver *secrets.Resolver) {
	s.History = history.New(s.DB, now, s.log)
	s.History.Report(s.sources.Server)
	s.Revisions = revisions.New(s.DB, s.feed, now, s.log, s.Background)
	s.pool = pool.New(s.clients.MCP(), s.Version, pool.WithTasks(s.Background), pool.WithInstance(s.Instance), pool.WithTurns(s.History.Note), pool.WithRevisions(s.Revisions),
		pool.WithNamed(func(t *upstream.Target, method string, params []byte) bool {
			return s.Gateway.Named(t, method, params) // set after the pool is created and before its first call
		}))
	target := func(row models.Server) *upstream.Target {
		t := credentials.NewConnectedTarget(row, resolver, credentials.Rows{Bearer: projects.BearerRow, Header: projects.HeaderRow}, s.Connections)
		t.HTTP, t.Forwarding = s.httpClientOf(row, resolver), upstream.NewForwarding(row.ForwardHeaders, s.forwardKey)
		t.Address = func() (string, error) { return projects.Address(row, resolver.Resolve) }
		t.Secrets = override.Secrets(row.ToolOverrides, resolver, t.Secrets)
		if row.IsProgram() {
			s.Runners.Complete(t, row)
		}
		if own := t.Own; own != nil {
			t.Own = func(userID string) *upstream.Target {
				t := own(userID)
				t.Secrets = override.Secrets(row.ToolOverrides, resolver, t.Secrets)
				return t
			}
		}
		return t
	}
	s.Directory = toolset.NewDirectory(s.DB, target)
	s.Own = personal.New(s.Directory, s.Rights, s.Keys)
	s.Views = views.New(s.Directory, s.Rights, s.KeyIndex)
	s.OwnAccounts = connections.NewStore(connections.Options{
		DB: s.DB, Accounts: s.Connections, Projects: s.Own, Directory: s.Directory, Views: s.Views, PublicURL: s.Config.PublicURL,
	})
	s.Subscriptions = subscriptions.New(s.Views, s.pool, sessions.NewResources(s.DB, s.feed, now), s.Background)
	s.Arguments = schema.NewValidator()
	s.Syncer = inventory.NewSyncer(inventory.Options{
		DB: s.DB, Pool: s.pool, Target: target, Feed: s.feed, Locks: s.locks, Programs: s.Runners, Now: now, Log: s.log, Tasks: s.Background,
		Redefined: s.sources.Definitions,
		Unchecked: s.Arguments.UncheckedReason, ResourceUpdated: s.Subscriptions.ResourceUpdated, Observed: s.History.Note, Listed: s.Subscriptions.Listed,
		Readers:  connections.NewReaders(s.DB, s.Audit, s.feed),
		Changing: moves.New(s.Directory, s.Toolsets, s.log).Sync,
	})
	s.wireSearch()
}

// wireSearch creates the search of tools.
func (s *Services) wireSearch() {
	endpoint := s.Config.Embeddings
	s.embeddings = embeddings.New(embeddings.Options{
		URL: endpoint.URL, Model: endpoint.Model, Key: endpoint.Key, Client: s.clients.MCP(),
		DB: s.DB, Feed: s.feed, Projects: s.Directory, Now: now, Log: s.log, Tasks: s.Background,
	})
	options := toolsearch.Options{Cursors: page.NewCursors(s.Config.Keys), Waiting: s.calling, Outages: s.pool, Log: s.log, Tasks: s.Background}
	if s.embeddings.On() {
		options.Meanings = s.embeddings
	}
	s.ToolSearch = toolsearch.NewSearcher(options)
}

// wireCode creates the runner of Code Mode.
func (s *Services) wireCode() {
	s.CodeRuns = codemode.NewTraces(s.DB, s.log)
	s.Declarations = codemode.NewDeclarations(s.ToolSearch)
	s.Runner = codemode.NewRunner(codemode.Options{
		TSC: s.Config.TSC, Fetch: s.clients.Fetch(), Validate: s.Arguments, Traces: s.CodeRuns, Log: s.log, Tasks: s.Background,
	})
}

// wireGateway creates the service for MCP clients.
func (s *Services) wireGateway(ctx context.Context, resolver *secrets.Resolver) error {
	s.Results = membudget.New(s.Config.ResultMemory)
	s.Metrics = s.newMetrics(s.Version)
	upstreams, err := s.trace(ctx, s.Version)
	if err != nil {
		return err
	}
	s.Gateway = gateway.New(gateway.Options{
		Upstreams: upstreams, Views: s.Views, Search: s.ToolSearch, Declarations: s.Declarations, Runner: s.Runner, Limits: s.CallLimits, Quotas: s.Quotas, Artifacts: s.Artifacts,
		Arguments: s.Arguments, Proposals: s.Recipes, Calls: s.Metrics.Calls(s.Calls), Results: s.Results, Waiting: s.calling, Outages: s.pool, FirstReads: s.Syncer,
		Connecting: connecting.New(s.calling, s.Tickets, s.Config.Keys, now),
		TaskRows:   s.tasks, TaskStreams: s.pool,
		Tokens: s.Config.Keys, References: resolver, Version: s.Version, Instance: s.Instance, Log: s.log, Tasks: s.Background,
	})
	return nil
}

// now is the clock for stored times. It has milliseconds, the precision that
// both databases store.
func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

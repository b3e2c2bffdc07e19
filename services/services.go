// Package services wires what the product does. It is the only place that
// knows how the parts fit together.
package services

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/argon2"
	"gorm.io/gorm"

	"mcpgateway/migrations"
	"mcpgateway/models"
	"mcpgateway/services/access"
	"mcpgateway/services/access/keys"
	"mcpgateway/services/access/oidc"
	"mcpgateway/services/access/passwords"
	"mcpgateway/services/activity"
	"mcpgateway/services/background"
	"mcpgateway/services/catalog"
	"mcpgateway/services/codemode"
	"mcpgateway/services/config"
	"mcpgateway/services/egress"
	"mcpgateway/services/fault"
	"mcpgateway/services/gateway"
	"mcpgateway/services/gateway/subscriptions"
	"mcpgateway/services/locks"
	"mcpgateway/services/membudget"
	"mcpgateway/services/metrics"
	"mcpgateway/services/notify"
	"mcpgateway/services/oauthclient"
	"mcpgateway/services/oauthserver"
	"mcpgateway/services/page"
	"mcpgateway/services/projects"
	"mcpgateway/services/secrets"
	"mcpgateway/services/sessions"
	"mcpgateway/services/toolsearch"
	"mcpgateway/services/toolset"
	"mcpgateway/services/tracing"
	"mcpgateway/services/upstream"
)

// saveUseInterval is how often the moments of last use of keys are stored.
const saveUseInterval = time.Minute

// Services are the running product, without any way to reach it.
type Services struct {
	DB          *gorm.DB
	Config      *config.Config
	Version     string // of the program
	Instance    string // the name of this gateway among gateways
	Audit       *activity.Audit
	Denials     *activity.Denials
	Projects    *projects.Store
	Keys        *keys.Store
	ProjectAuth *access.ProjectAuth
	CallLimits  *access.CallLimits
	People      *access.People
	KeptForms   *access.KeptForms
	// SingleSignOn is nil when it is not configured.
	SingleSignOn *access.SingleSignOn
	Catalog      *catalog.Catalog
	CatalogStore *catalog.Store
	OAuth        *oauthserver.Server
	// Connections are the gateway's own accounts at upstream servers; Waiting
	// says which of them need a person.
	Connections    *oauthclient.Connections
	Waiting        *oauthclient.Waiting
	ClientDocument *oauthclient.ClientDocument
	Directory      *toolset.Directory
	Syncer         *upstream.Syncer
	Gateway        *gateway.Gateway
	Results        *membudget.Budget // of large results

	Subscriptions *subscriptions.Subscriptions
	EndedSessions *sessions.Ended
	LogLevels     *sessions.Levels
	Calls         *activity.Calls
	Metrics       *metrics.Metrics
	Tracer        *tracing.Tracer // nil when no collector is configured

	Declarations *codemode.Declarations
	Arguments    *codemode.ArgumentValidator
	Runner       *codemode.Runner
	CodeRuns     *codemode.Traces

	// Background starts the goroutines of the process and counts their panics.
	Background *background.Tasks

	// Dev adds the pages for developing the gateway itself.
	Dev bool

	// Demo loads the demo project; nil where there is none to load.
	Demo Demo

	tokenIndex *oauthserver.TokenIndex
	locks      *locks.Locks
	keyIndex   *keys.Index
	clients    *egress.Clients
	search     *toolsearch.Searcher
	pool       *upstream.Pool
	feed       *notify.Feed
	log        *slog.Logger
	draining   atomic.Bool
}

// Demo is the demo project, whose servers run in the process that serves.
type Demo interface {
	// Offered reports whether the demo project can be loaded and is not there.
	Offered(ctx context.Context) (bool, error)
	// Load creates it, reads its tools and returns its slug.
	Load(ctx context.Context) (slug string, err error)
}

// New opens the database, applies pending migrations and wires every service.
// Nothing runs yet; Close ends what New began.
func New(ctx context.Context, c *config.Config, version string, log *slog.Logger) (*Services, error) {
	db, err := models.Open(ctx, c.DatabaseURL)
	if err != nil {
		return nil, err
	}
	s, err := wire(ctx, db, c, version, log)
	if err != nil {
		return nil, errors.Join(err, closeDB(db))
	}
	return s, nil
}

func wire(ctx context.Context, db *gorm.DB, c *config.Config, version string, log *slog.Logger) (*Services, error) {
	pool, err := db.DB()
	if err != nil {
		return nil, err
	}
	if _, err := migrations.Up(ctx, pool, db.Name()); err != nil {
		return nil, err
	}
	feed, err := notify.NewFeed(db, c.DatabaseURL, log)
	if err != nil {
		return nil, err
	}
	guard := egress.NewGuard(c.EgressAllow)
	resolver := secrets.NewResolver(c.Keys, c.Environment)
	s := &Services{DB: db, Config: c, Version: version, feed: feed, log: log, Background: background.New(log)}
	s.clients = egress.NewClients(guard, egress.WithTasks(s.Background))
	s.pool = upstream.NewPool(s.clients.MCP(), version, upstream.WithTasks(s.Background))
	if s.Instance, err = c.Keys.Name("gateway hops", c.PublicURL.String()); err != nil {
		return nil, err
	}
	s.pool.Identify(s.Instance)
	s.Results = membudget.New(c.ResultMemory)
	s.Audit = activity.NewKeyedAudit(db, c.Keys, now)
	s.Denials = activity.NewDenials(db, s.Audit, now, log)
	s.Projects = projects.NewStore(db, resolver, checkURL(guard, c), s.Audit, feed, now)
	if err := s.Projects.SealAddresses(ctx); err != nil {
		return nil, err
	}
	if err := s.connect(ctx, resolver); err != nil {
		return nil, err
	}
	target := func(row models.Server) *upstream.Target {
		t := upstream.NewConnectedTarget(row, resolver, upstream.SecretRows{Bearer: projects.BearerRow, Header: projects.HeaderRow}, s.Connections)
		t.Address = func() (string, error) { return projects.Address(row, resolver.Resolve) }
		return t
	}
	s.keyIndex = keys.NewIndex(db, now)
	s.tokenIndex = oauthserver.NewTokenIndex(db, now)
	s.Keys = keys.New(db, s.Audit, feed, now)
	s.ProjectAuth = access.NewProjectAuth(s.keyIndex, s.tokenIndex, feed.Fresh, c.MaxStaleness, now)
	s.OAuth = oauthserver.New(oauthserver.Options{DB: db, Issuer: c.PublicURL, Audit: s.Audit, Feed: feed, Sealer: c.Keys, Documents: s.clients.MCP().Transport, Now: now})
	s.CallLimits = access.NewCallLimits(now)
	s.People = access.NewPeople(db, s.Audit, feed, c.Keys, passwords.New(argon2.IDKey), now)
	s.KeptForms = access.NewKeptForms(db, s.People, c.Keys, now)
	if sso := c.SingleSignOn; sso.Configured() {
		provider := oidc.NewProvider(oidc.Options{
			Issuer: sso.Issuer, ClientID: sso.ClientID, ClientSecret: sso.ClientSecret, RedirectURL: c.PublicURL.String() + "/login/callback",
		}, s.clients.MCP(), now)
		s.SingleSignOn = access.NewSingleSignOn(s.People, provider, c.Keys, sso.AllowedDomains)
	}
	s.Catalog = catalog.New(db, page.NewCursors(c.Keys), c.Keys.ActiveKID(), log)
	s.Catalog.UseTasks(s.Background)
	s.CatalogStore = catalog.NewStore(db, s.clients.Catalog(), s.Audit, feed, now)
	s.Directory = toolset.NewDirectory(db, target)
	s.Syncer = upstream.NewSyncer(db, s.pool, target, upstream.Definitions{Hash: toolset.HashDefinition, Problems: toolset.DefinitionProblems}, feed, now, log)
	s.Syncer.OneAtATime(s.locks)
	s.Calls = activity.NewCalls(db, now, log)
	s.search = toolsearch.NewSearcher(page.NewCursors(c.Keys), log)
	s.search.UseTasks(s.Background)
	s.search.Explain(s.Waiting, s.pool)
	s.Subscriptions = subscriptions.New(s.Directory, s.pool, sessions.NewResources(db, feed, now))
	s.Subscriptions.UseTasks(s.Background)
	s.Syncer.OnResourceUpdated(s.Subscriptions.ResourceUpdated)
	s.Syncer.OnListed(s.Subscriptions.Listed)
	s.EndedSessions = sessions.NewEnded(db, feed, sessions.MaxEnded, now)
	s.LogLevels = sessions.NewLevels(db, feed, sessions.MaxLevels, now)
	s.CodeRuns = codemode.NewTraces(db, log)
	s.Declarations = codemode.NewDeclarations(s.search)
	s.Arguments = codemode.NewArgumentValidator()
	s.Runner = codemode.NewRunner(codemode.Options{
		TSC: c.TSC, Fetch: s.clients.Fetch(), Validate: s.Arguments, Traces: s.CodeRuns, Log: log, Tasks: s.Background,
	})
	s.Metrics = s.newMetrics(version)
	upstreams, err := s.trace(ctx, version)
	if err != nil {
		return nil, err
	}
	s.Gateway = gateway.New(gateway.Options{
		Upstreams: upstreams, Projects: s.Directory, Search: s.search, Declarations: s.Declarations, Runner: s.Runner, Limits: s.CallLimits,
		Calls: s.Metrics.Calls(s.Calls), Results: s.Results, Waiting: s.Waiting, Outages: s.pool, Tokens: c.Keys, Version: version, Instance: s.Instance, Log: log, Tasks: s.Background,
	})
	s.pool.OnElicitationComplete(s.Gateway.ElicitationCompleted)
	return s, nil
}

// checkURL refuses upstream addresses that could never be called, so that the
// mistake shows when it is saved and not at the first call.
func checkURL(guard *egress.Guard, c *config.Config) func(string) error {
	return func(raw string) error {
		if err := egress.CheckURL(raw); err != nil {
			return fault.Invalid("%s", fault.From(err).Message)
		}
		u, err := url.Parse(raw)
		if err != nil {
			return fault.Invalid("this is not a URL")
		}
		if isOwnOrigin(u, c.PublicURL, c.Addr) {
			return fault.Invalid("this is the address of this gateway itself: a project of it cannot be a server of another one, so add the servers of that project here")
		}
		// Names are judged when they are dialled.
		if addr, err := netip.ParseAddr(u.Hostname()); err == nil {
			if err := guard.Check(addr); err != nil {
				return fault.Invalid("%v", err)
			}
		}
		return nil
	}
}

// now is the clock of what is stored, as fine as both databases keep it.
func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

// Run loads what requests are answered from and then keeps it true until the
// context ends: it hears of changes, also from upstream servers, syncs these
// and stores when keys were used. ready is called once requests can be served.
func (s *Services) Run(ctx context.Context, ready func()) error {
	s.feed.Subscribe(s.Directory.Changed)
	s.feed.Subscribe(s.keyIndex.Changed)
	s.feed.Subscribe(s.tokenIndex.Changed)
	s.feed.Subscribe(s.Connections.Changed)
	s.feed.Subscribe(s.Waiting.Changed)
	s.feed.Subscribe(s.Syncer.Changed)
	s.feed.Subscribe(s.forget)
	s.feed.Subscribe(s.Subscriptions.Changed)
	s.feed.Subscribe(s.EndedSessions.Changed)
	s.feed.Subscribe(s.LogLevels.Changed)
	s.feed.Subscribe(s.Catalog.Changed)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var running sync.WaitGroup
	defer running.Wait()
	feedEnd := make(chan error, 1)
	running.Go(s.Background.Loop(ctx, "change feed", func(ctx context.Context) { feedEnd <- s.feed.Run(ctx) }))
	for _, load := range []func(context.Context) error{s.Directory.Load, s.keyIndex.Load, s.Waiting.Load, s.EndedSessions.Load, s.LogLevels.Load, s.loadBuiltinCatalog, s.Catalog.Load, s.Syncer.Plan} {
		if err := load(ctx); err != nil {
			cancel()
			return err
		}
	}
	if err := s.keepReserve(ctx); err != nil {
		s.log.Warn("disk reserve not filled", "error", err)
	}
	sweeps := s.sweeps() // before others work with the services
	ready()
	for name, run := range map[string]func(context.Context){
		"syncs": s.Syncer.Run, "connections": s.Connections.Run, "use of keys": s.saveUse,
		"log of calls": s.Calls.Run, "traces of code": s.CodeRuns.Run, "catalog": s.Catalog.Run,
	} {
		running.Go(s.Background.Loop(ctx, name, run))
	}
	for _, sweep := range sweeps {
		name := "sweep " + sweep.name
		running.Go(s.Background.Loop(ctx, name, func(ctx context.Context) { s.locks.Own(ctx, name, sweep.run) }))
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-feedEnd:
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("the change feed ended: %w", err)
	}
}

// loadBuiltinCatalog puts the catalog that comes along into the database, where
// it is wanted and not there yet.
func (s *Services) loadBuiltinCatalog(ctx context.Context) error {
	if !s.Config.BuiltinCatalog {
		return nil
	}
	return s.CatalogStore.LoadDefaults(ctx)
}

// forget ends the upstream sessions of servers that are off and drops the
// search index of a project that is gone.
func (s *Services) forget(_ context.Context, topic notify.Topic) error {
	projectID, ok := topic.ToolsetOf()
	if !ok {
		return nil
	}
	project := s.Directory.ProjectByID(projectID)
	if project == nil {
		s.search.Forget(projectID)
		s.Declarations.Forget(projectID)
		s.Gateway.Forget(projectID)
		return nil
	}
	for _, server := range project.Servers {
		if !server.Config.Enabled {
			s.pool.Drop(server.Config.ID)
		}
	}
	return nil
}

func (s *Services) saveUse(ctx context.Context) {
	tick := time.NewTicker(saveUseInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			if err := s.keyIndex.SaveUse(last); err != nil {
				s.log.Warn("the last use of keys was not stored", "error", err)
			}
			return
		case <-tick.C:
			if err := s.keyIndex.SaveUse(ctx); err != nil && ctx.Err() == nil {
				s.log.Warn("the last use of keys was not stored", "error", err)
			}
		}
	}
}

// Fresh returns when this process was last known to have heard of every change.
func (s *Services) Fresh() time.Time { return s.feed.Fresh() }

// Drain makes Ready fail, so that balancers send no new requests.
func (s *Services) Drain() { s.draining.Store(true) }

// Draining reports whether Drain was called.
func (s *Services) Draining() bool { return s.draining.Load() }

// Ready returns why requests cannot be served, or nil: the process is not
// ending, the database answers, its schema is the one this program knows, and
// the catalog is there. That it is ending, which is nothing wrong, is a fault.
func (s *Services) Ready(ctx context.Context) error {
	if s.draining.Load() {
		return fault.New(fault.KindUnavailable, fault.CodeUnavailable, "not ready")
	}
	pool, err := s.DB.DB()
	if err != nil {
		return err
	}
	steps, err := migrations.Status(ctx, pool, s.DB.Name())
	if err != nil {
		return err
	}
	for _, step := range steps {
		if !step.Applied {
			return fmt.Errorf("migration %s is not applied", step.Name)
		}
	}
	if !s.Catalog.Loaded() {
		return errors.New("the catalog is not loaded yet")
	}
	return nil
}

// Close ends upstream sessions and closes the database.
func (s *Services) Close() error {
	s.Runner.Close()
	s.Subscriptions.Close()
	s.pool.Close()
	s.Connections.Close()
	s.endTrace()
	s.clients.Close()
	return errors.Join(s.locks.Close(), closeDB(s.DB))
}

func closeDB(db *gorm.DB) error {
	pool, err := db.DB()
	if err != nil {
		return err
	}
	return pool.Close()
}

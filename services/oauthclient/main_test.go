package oauthclient_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/activity"
	"mcpgateway/services/egress"
	"mcpgateway/services/fault"
	"mcpgateway/services/locks"
	"mcpgateway/services/notify"
	"mcpgateway/services/oauthclient"
	"mcpgateway/services/oauthclient/accounts"
	"mcpgateway/services/secrets"
)

// clock is a manual clock.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// wallClock returns the real time with the precision of databases.
func wallClock() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

// document is a client metadata document. It is eligible if why is empty.
type document struct{ why string }

func (d document) URL() string                             { return "https://gateway.example.com/oauth/client-metadata.json" }
func (d document) IneligibleReason(context.Context) string { return d.why }

// world holds the connections of one gateway process and its database.
type world struct {
	*oauthclient.Connections
	*clock
	db   *gorm.DB
	feed *notify.Feed
	log  *logged
}

// logged is a concurrency-safe log buffer.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

const (
	gatewayURL = "https://gateway.example.com"
	session    = "session-of-the-admin"
	serverID   = "s"
)

// options configure a world.
type options struct {
	now      func() time.Time
	document document
	timeout  time.Duration
	secret   string // of the static client
	key      string // of client credentials, in PEM format
	secretOf func() string
	guard    *egress.Guard
	enabled  func(userID string) bool
	ended    func(serverID, userID string)
}

func keys() (*secrets.KeyRing, error) {
	return secrets.ParseKeyRing("test:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")
}

// join opens the database as an additional gateway process.
func join(t testing.TB, dsn string, o options) *world {
	t.Helper()
	w, closed, err := open(context.Background(), dsn, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := closed(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func open(ctx context.Context, dsn string, o options) (w *world, closed func() error, err error) {
	w = &world{clock: newClock(), log: &logged{}}
	if o.now == nil {
		o.now = w.clock.Now
	}
	if w.db, err = models.Open(ctx, dsn); err != nil {
		return nil, nil, err
	}
	pool, err := w.db.DB()
	if err != nil {
		return nil, nil, err
	}
	log := slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if w.feed, err = notify.NewFeed(w.db, dsn, log); err != nil {
		return nil, nil, err
	}
	held, err := locks.Open(ctx, w.db, dsn, nil)
	if err != nil {
		return nil, nil, err
	}
	if o.guard == nil {
		o.guard = egress.NewGuard(egress.DefaultAllow(true))
	}
	clients := egress.NewClients(o.guard)
	public, err := url.Parse(gatewayURL)
	if err != nil {
		return nil, nil, err
	}
	ring, err := keys()
	if err != nil {
		return nil, nil, err
	}
	w.Connections = oauthclient.New(oauthclient.Settings{
		DB: w.db, Locks: held, HTTP: clients.MCP(), Keys: ring, Audit: activity.NewAudit(w.db, o.now), Feed: w.feed, Document: o.document, PublicURL: public,
		ClientSecret: func(models.Server) (secrets.Value, error) {
			if o.secretOf != nil {
				return secrets.NewValue(o.secretOf()), nil
			}
			return secrets.NewValue(o.secret), nil
		},
		PrivateKey: func(models.Server) (secrets.Value, error) { return secrets.NewValue(o.key), nil },
		Now:        o.now, Log: log, RequestTimeout: o.timeout, Enabled: o.enabled, Ended: o.ended,
	})
	w.feed.Subscribe(w.Changed)
	return w, func() error {
		w.Close()
		clients.Close()
		return errors.Join(held.Close(), pool.Close())
	}, nil
}

// newWorld returns the connections of a database with one server at the URL.
func newWorld(t testing.TB, dsn, serverURL string, o options) *world {
	t.Helper()
	w := join(t, dsn, o)
	project := &models.Project{ID: "p", Slug: "demo", Name: "demo", AuthMode: models.AuthAPIKey, ToolExposure: models.ExposeFull}
	server := &models.Server{
		ID: serverID, ProjectID: "p", Alias: "up", AliasFold: "up", URL: serverURL, AuthType: models.UpstreamAuthOAuth, Enabled: true,
		Transport: models.TransportAuto, SessionMode: models.SessionShared, DefinitionPolicy: models.PolicyFollow, ConfigVersion: 1,
	}
	if err := errors.Join(w.db.Create(project).Error, w.db.Create(server).Error); err != nil {
		t.Fatal(err)
	}
	return w
}

// each runs f on both kinds of database.
func each(t *testing.T, f func(t *testing.T, p *provider, w *world)) {
	t.Helper()
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		p := newProvider(t)
		f(t, p, newWorld(t, dsn, p.mcp(), options{document: document{why: "test"}}))
	})
}

// onSQLite returns the world of each on SQLite only.
func onSQLite(t *testing.T, p *provider, o options) *world {
	t.Helper()
	return newWorld(t, modelstest.SQLite(t), p.mcp(), o)
}

func (w *world) server(t testing.TB) models.Server {
	t.Helper()
	var s models.Server
	if err := w.db.First(&s, "id = ?", serverID).Error; err != nil {
		t.Fatal(err)
	}
	return s
}

// begin starts an authorization and returns its URL.
func (w *world) begin(t testing.TB) *url.URL {
	t.Helper()
	at, err := w.Start(t.Context(), oauthclient.Start{ServerID: serverID, SessionID: session})
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, at)
}

func parse(t testing.TB, raw string) *url.URL {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// visit opens an authorization URL in a browser whose user approves, and
// returns the resulting callback.
func visit(t testing.TB, at *url.URL) oauthclient.Callback {
	t.Helper()
	browser := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := browser.Get(at.String())
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	back, err := resp.Location()
	if err != nil {
		t.Fatalf("HTTP %d: %v", resp.StatusCode, err)
	}
	return callback(back)
}

func callback(back *url.URL) oauthclient.Callback {
	q := back.Query()
	id := strings.TrimPrefix(strings.TrimPrefix(back.Path, oauthclient.CallbackPath), "/")
	return oauthclient.Callback{
		SessionID: session, IssuerID: id, State: q.Get("state"), Code: q.Get("code"), Issuer: q.Get("iss"), HasIssuer: q.Has("iss"),
		Error: q.Get("error"), Description: q.Get("error_description"),
	}
}

// connect authorizes the server.
func (w *world) connect(t testing.TB) {
	t.Helper()
	done, err := w.Finish(t.Context(), visit(t, w.begin(t)))
	if err != nil || done.AuthorizeURL != "" || done.ServerID != serverID || done.ProjectID != "p" {
		t.Fatalf("%+v, %v", done, err)
	}
}

func (w *world) status(t testing.TB) oauthclient.Status {
	t.Helper()
	s, err := w.Status(t.Context(), serverID)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (w *world) wantState(t testing.TB, state oauthclient.State, reason string) oauthclient.Status {
	t.Helper()
	s := w.status(t)
	if s.State != state || s.Reason != reason {
		t.Fatalf("state = %s (%s), want %s (%s): %s %s", s.State, s.Reason, state, reason, s.ErrorCode, s.ErrorText)
	}
	return s
}

// token returns the access token for a call.
func (w *world) token(t testing.TB) string {
	t.Helper()
	v, err := w.Token(t.Context(), w.server(t), "")
	if err != nil {
		t.Fatal(err)
	}
	return v.Reveal()
}

func want(t testing.TB, err error, code fault.Code) *fault.Fault {
	t.Helper()
	var f *fault.Fault
	if !errors.As(err, &f) || f.Code != code {
		t.Fatalf("got error %v, want fault %s", err, code)
	}
	return f
}

// audited returns the actions in the audit log, oldest first.
func (w *world) audited(t testing.TB) []string {
	t.Helper()
	var actions []string
	if err := w.db.Model(&models.AuditEntry{}).Order("seq").Pluck("action", &actions).Error; err != nil {
		t.Fatal(err)
	}
	return actions
}

// eventually polls until holds returns true.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("timeout waiting for: %s", what)
		}
		<-tick.C
	}
}

// refreshTokenOf returns the stored refresh token.
func refreshTokenOf(t testing.TB, w *world) string {
	t.Helper()
	var row models.Connection
	if err := w.db.First(&row, "server_id = ?", serverID).Error; err != nil {
		t.Fatal(err)
	}
	ring, err := keys()
	if err != nil {
		t.Fatal(err)
	}
	v, err := ring.Open(row.RefreshToken, accounts.ID{ServerID: serverID}.RefreshTokenRow())
	if err != nil {
		t.Fatal(err)
	}
	return v.Reveal()
}

// freePort returns an unused local TCP port.
func freePort(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

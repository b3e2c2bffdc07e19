package oauthserver_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/access/rights"
	"mcpgateway/services/activity"
	"mcpgateway/services/background/leaktest"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
	"mcpgateway/services/oauthserver"
	"mcpgateway/services/secrets"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const (
	issuer   = "https://gateway.example"
	callback = "http://127.0.0.1:4711/callback"
	verifier = "a-verifier-of-the-tests-with-more-than-43-characters"
)

// clock is a clock controlled by the test.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

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

// world is a gateway process.
type world struct {
	*clock
	*oauthserver.Server
	db     *gorm.DB
	feed   *notify.Feed
	index  *oauthserver.TokenIndex
	rights storedRights
	docs   roundTrip
}

// roundTrip responds to requests for client metadata documents.
type roundTrip func(*http.Request) (*http.Response, error)

// join opens the database as another process.
func join(t *testing.T, dsn string, c *clock) *world {
	t.Helper()
	db := modelstest.Open(t, dsn)
	feed, err := notify.NewFeed(db, dsn, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	keys, err := secrets.ParseKeyRing("test:" + "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{clock: c, db: db, feed: feed, index: oauthserver.NewTokenIndex(db, c.Now), rights: storedRights{t, modelstest.Open(t, dsn)}}
	feed.Subscribe(w.index.Changed)
	public, err := url.Parse(issuer)
	if err != nil {
		t.Fatal(err)
	}
	w.Server = oauthserver.New(oauthserver.Options{
		DB: db, Issuer: public, Audit: activity.NewAudit(db, c.Now), Feed: feed, Rights: w.rights, Sealer: keys, Documents: w, Now: c.Now,
	})
	return w
}

// RoundTrip implements the network of client metadata documents.
func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	if w.docs == nil {
		return nil, errors.New("no network")
	}
	return w.docs(r)
}

// newWorld returns a process with the users ann (admin), bob and cy (members),
// and the projects oa and ob (oauth), members (oauth, for its member bob) and
// key (api_key).
func newWorld(t *testing.T, dsn string) *world {
	t.Helper()
	w := join(t, dsn, &clock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)})
	for id, role := range map[string]models.Role{"ann": models.RoleAdmin, "bob": models.RoleMember, "cy": models.RoleMember} {
		w.create(t, &models.User{ID: id, Email: id + "@example.com", EmailFold: id + "@example.com", Name: id, Role: role, CreatedAt: w.Now()})
	}
	for slug, p := range map[string]models.Project{
		"oa": {AuthMode: models.AuthOAuth}, "ob": {AuthMode: models.AuthOAuth}, "key": {AuthMode: models.AuthAPIKey},
		"members": {AuthMode: models.AuthOAuth, OAuthAccess: models.OAuthMembers},
	} {
		p.ID, p.Slug, p.Name, p.ToolExposure = "id-"+slug, slug, "Project "+slug, models.ExposeFull
		w.create(t, &p)
	}
	w.create(t, &models.ProjectMember{ProjectID: "id-members", UserID: "bob", CreatedAt: w.Now()})
	return w
}

func (w *world) create(t *testing.T, row any) {
	t.Helper()
	if err := w.db.Create(row).Error; err != nil {
		t.Fatal(err)
	}
}

func each(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	modelstest.EachDSN(t, func(t *testing.T, dsn string) { f(t, newWorld(t, dsn)) })
}

func onSQLite(t *testing.T) *world {
	t.Helper()
	return newWorld(t, modelstest.SQLite(t))
}

// register returns the id of a new public client with the callback.
func (w *world) register(t *testing.T, redirects ...string) string {
	t.Helper()
	if len(redirects) == 0 {
		redirects = []string{callback}
	}
	id := "gwc_" + strings.ReplaceAll(t.Name(), "/", "_") + redirects[0]
	w.create(t, &models.OAuthClient{
		ID: id, Kind: models.ClientRegistered, Name: "Test client", RedirectURIs: redirects, AuthMethod: models.AuthMethodNone, SecretHash: []byte{}, CreatedAt: w.Now(),
	})
	return id
}

func challenge(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// query returns a valid authorization request with changes; "" removes.
func query(client string, changes ...string) url.Values {
	q := url.Values{
		"client_id": {client}, "redirect_uri": {callback}, "response_type": {"code"}, "state": {"st"}, "scope": {"mcp:read mcp:call"},
		"code_challenge": {challenge(verifier)}, "code_challenge_method": {"S256"}, "resource": {issuer + "/v1/mcp/oa/request"},
	}
	change(q, changes)
	return q
}

func change(form url.Values, changes []string) {
	for i := 0; i+1 < len(changes); i += 2 {
		form.Set(changes[i], changes[i+1])
		if changes[i+1] == "" {
			form.Del(changes[i])
		}
	}
}

func person(id string) *oauthserver.User {
	return &oauthserver.User{ID: id, SessionID: "browser of " + id}
}

// code returns a code that the user granted the client.
func (w *world) code(t *testing.T, who, client string, changes ...string) string {
	t.Helper()
	consent, err := w.Authorize(t.Context(), query(client, changes...), person(who))
	if err != nil {
		t.Fatal(err)
	}
	to, err := w.Decide(t.Context(), *person(who), consent.Sealed, consent.Projects[0].ID, true)
	if err != nil {
		t.Fatal(err)
	}
	return answerOf(t, to).Get("code")
}

// answerOf returns the parameters of a response to a client.
func answerOf(t *testing.T, to string) url.Values {
	t.Helper()
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query()
}

// exchange sends a code to the token endpoint.
func (w *world) exchange(ctx context.Context, client, code string, changes ...string) (oauthserver.Tokens, error) {
	form := url.Values{
		"grant_type": {"authorization_code"}, "client_id": {client}, "code": {code}, "redirect_uri": {callback},
		"code_verifier": {verifier}, "resource": {issuer + "/v1/mcp/oa/request"},
	}
	change(form, changes)
	return w.Token(ctx, form, "")
}

func (w *world) refresh(ctx context.Context, client, token string, changes ...string) (oauthserver.Tokens, error) {
	form := url.Values{"grant_type": {"refresh_token"}, "client_id": {client}, "refresh_token": {token}}
	change(form, changes)
	return w.Token(ctx, form, "")
}

// grant returns the first tokens of a user's consent in project oa.
func (w *world) grant(t *testing.T, who, client string, changes ...string) oauthserver.Tokens {
	t.Helper()
	tokens, err := w.exchange(t.Context(), client, w.code(t, who, client, changes...), "resource", "")
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

// opens reports whether an access token is valid for the project.
func (w *world) opens(t *testing.T, token secrets.Value, slug string) bool {
	t.Helper()
	var project models.Project
	if err := w.db.First(&project, "slug = ?", slug).Error; err != nil {
		t.Fatal(err)
	}
	holder, ok, err := w.index.Find(t.Context(), project.ID, "", token.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	if ok != (holder.UserID != "") {
		t.Fatalf("Find() = %+v, %v", holder, ok)
	}
	// What the user may use is decided by views.Views, from the same rights.
	return ok && !w.rights.Held(&project, holder.UserID).None()
}

// storedRights are the rights in the database, read by another connection.
type storedRights struct {
	t  *testing.T
	db *gorm.DB
}

func (s storedRights) Held(project *models.Project, userID string) rights.Held {
	x := rights.NewIndex(s.db, nil)
	if err := x.Load(context.WithoutCancel(s.t.Context())); err != nil {
		s.t.Error(err)
	}
	return x.Held(project, userID)
}

// refused fails the test unless err is a Refusal with the code.
func refused(t *testing.T, err error, code oauthserver.ErrorCode) {
	t.Helper()
	var refusal *oauthserver.ProtocolError
	if !errors.As(err, &refusal) || refusal.Code != code {
		t.Fatalf("got error %v, want refusal %s", err, code)
	}
}

// denied fails the test unless err is a Denial with the code.
func denied(t *testing.T, err error, code oauthserver.ErrorCode, state string) {
	t.Helper()
	var denial *oauthserver.AuthorizeError
	if !errors.As(err, &denial) {
		t.Fatalf("got error %v, want denial %s", err, code)
	}
	answer := answerOf(t, denial.URL)
	if answer.Get("error") != string(code) || answer.Get("iss") != issuer || answer.Get("state") != state || answer.Has("code") || !strings.HasPrefix(denial.URL, callback+"?") {
		t.Fatalf("denial URL %s, want %s", denial.URL, code)
	}
}

// failed fails the test unless err is a fault with the code.
func failed(t *testing.T, err error, code fault.Code) {
	t.Helper()
	if !fault.Is(err, code) {
		t.Fatalf("got error %v, want fault %s", err, code)
	}
}

// actions returns the actions in the audit log, oldest first.
func (w *world) actions(t *testing.T) []string {
	t.Helper()
	var actions []string
	if err := w.db.Model(&models.AuditEntry{}).Order("seq").Pluck("action", &actions).Error; err != nil {
		t.Fatal(err)
	}
	return actions
}

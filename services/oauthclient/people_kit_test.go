package oauthclient_test

import (
	"fmt"
	"net/url"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/egress"
	"mcpgateway/services/fault"
	"mcpgateway/services/oauthclient"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/credentials"
	"mcpgateway/services/upstream/pool"
)

// ends records the accounts whose upstream sessions ended.
type ends struct {
	mu  sync.Mutex
	all []string
}

func (e *ends) note(serverID, userID string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, serverID+"/"+userID)
}

// take returns the accounts since the last call, each once.
func (e *ends) take() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := e.all
	e.all = nil
	slices.Sort(all)
	return slices.Compact(all)
}

// personalWorld returns a world whose server is personal, with the users ann and
// ben.
func personalWorld(t testing.TB, dsn, serverURL string, o options) *world {
	t.Helper()
	w := newWorld(t, dsn, serverURL, o)
	w.configure(t, map[string]any{"connection": models.ConnectionPersonal})
	w.users(t, "ann", "ben")
	return w
}

func (w *world) users(t testing.TB, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if err := w.db.Create(&models.User{ID: id, Email: id + "@example.com", EmailFold: id + "@example.com", Role: models.RoleMember, CreatedAt: w.Now()}).Error; err != nil {
			t.Fatal(err)
		}
	}
}

// configure changes columns of the server.
func (w *world) configure(t testing.TB, columns map[string]any) {
	t.Helper()
	if err := w.db.Model(&models.Server{}).Where("id = ?", serverID).Updates(columns).Error; err != nil {
		t.Fatal(err)
	}
}

// eachPersonal runs f on both kinds of database.
func eachPersonal(t *testing.T, o options, f func(t *testing.T, p *provider, w *world, dsn string)) {
	t.Helper()
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		p := newProvider(t)
		f(t, p, personalWorld(t, dsn, p.mcp(), o), dsn)
	})
}

// beginAs starts the authorization of a user's own account.
func (w *world) beginAs(t testing.TB, server, user string) *url.URL {
	t.Helper()
	at, err := w.Start(t.Context(), oauthclient.Start{ServerID: server, SessionID: "session-" + user, UserID: user, Inventory: true})
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, at)
}

// visitAs opens an authorization URL as a person.
func visitAs(t testing.TB, at *url.URL, user string) oauthclient.Callback {
	t.Helper()
	q := at.Query()
	q.Set("person", user)
	at.RawQuery = q.Encode()
	cb := visit(t, at)
	cb.SessionID, cb.UserID = "session-"+user, user
	return cb
}

func (w *world) connectAs(t testing.TB, users ...string) {
	t.Helper()
	for _, user := range users {
		done, err := w.Finish(t.Context(), visitAs(t, w.beginAs(t, serverID, user), user))
		if err != nil || done.UserID != user {
			t.Fatalf("%s: %+v, %v", user, done, err)
		}
	}
}

func (w *world) tokenOf(t testing.TB, user string) string {
	t.Helper()
	v, err := w.Token(t.Context(), w.server(t), user)
	if err != nil {
		t.Fatal(err)
	}
	return v.Reveal()
}

// wantConnect checks that a user must connect.
func (w *world) wantConnect(t testing.TB, user string, reason upstream.Reason) {
	t.Helper()
	for what, err := range map[string]error{
		"Token":  func() error { _, err := w.Token(t.Context(), w.server(t), user); return err }(),
		"Usable": w.Usable(t.Context(), w.server(t), user),
	} {
		if f := want(t, err, fault.CodeConnectionRequired); f.Reason != string(reason) {
			t.Errorf("%s: reason %q, want %q", what, f.Reason, reason)
		}
	}
}

func (w *world) statusOf(t testing.TB, user string) oauthclient.PersonalStatus {
	t.Helper()
	all, err := w.PersonalStatuses(t.Context(), user)
	if err != nil || len(all) != 1 {
		t.Fatalf("%+v, %v", all, err)
	}
	return all[0]
}

// through returns a pool and the target of a user's own account.
func (w *world) throughAs(t *testing.T, user string) (*pool.Pool, *upstream.Target) {
	t.Helper()
	clients := egress.NewClients(egress.NewGuard(egress.DefaultAllow(true)))
	pool := pool.New(clients.MCP(), "test")
	t.Cleanup(func() { pool.Close(); clients.Close() })
	return pool, credentials.NewConnectedTarget(w.server(t), noSecrets{}, credentials.Rows{}, w).For(user)
}

func wantEnds(t *testing.T, e *ends, accounts ...string) {
	t.Helper()
	if d := cmp.Diff(accounts, e.take()); d != "" {
		t.Errorf("ended sessions (-want +got):\n%s", d)
	}
}

func count(t testing.TB, w *world, model any) (n int64) {
	t.Helper()
	if err := w.db.Model(model).Count(&n).Error; err != nil {
		t.Fatal(fmt.Errorf("count: %w", err))
	}
	return n
}

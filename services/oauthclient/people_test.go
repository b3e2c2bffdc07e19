package oauthclient_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/egress"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
	"mcpgateway/services/oauthclient"
	"mcpgateway/services/oauthclient/accounts"
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

// TestPeopleNeverShareTokens uses the expired tokens of two people concurrently
// in two processes. Each is refreshed once, and everyone gets their own.
func TestPeopleNeverShareTokens(t *testing.T) {
	t.Parallel()
	eachPersonal(t, options{}, func(t *testing.T, p *provider, w *world, dsn string) {
		people := []string{"ann", "ben"}
		for _, user := range people {
			w.wantConnect(t, user, upstream.ReasonNotConnected)
		}
		w.connectAs(t, people...)
		_, err := w.Token(t.Context(), w.server(t), "")
		want(t, err, fault.CodePersonRequired)
		if v := w.server(t).ConfigVersion; v != 1 {
			t.Errorf("ConfigVersion = %d: all people's sessions ended", v)
		}
		processes := []*world{w, join(t, dsn, options{now: w.Now})}
		w.Advance(2 * time.Hour)
		var all sync.WaitGroup
		server := w.server(t)
		for i := range 60 {
			all.Go(func() {
				user := people[i/2%2]
				v, err := processes[i%2].Token(t.Context(), server, user)
				if owner := get(p, func() string { return p.owner[v.Reveal()] }); err != nil || owner != user {
					t.Errorf("%s got the token of %q, %v", user, owner, err)
				}
			})
		}
		all.Wait()
		if n := p.grants("refresh_token"); n != len(people) {
			t.Errorf("%d refreshes for %d people", n, len(people))
		}
		w.checkNoPlaintext(t, p)
		entries := []models.AuditEntry{}
		if err := w.db.Order("seq").Find(&entries, "action = ?", "connection.connected").Error; err != nil || len(entries) != 2 {
			t.Fatal(len(entries), err)
		}
		if d := entries[1].Detail; d["person"] != "ben@example.com" || d["personId"] != "ben" {
			t.Errorf("audit detail %v", d)
		}
	})
}

// TestSealOfAnotherPerson copies sealed columns to another person and to other
// columns.
func TestSealOfAnotherPerson(t *testing.T) {
	t.Parallel()
	eachPersonal(t, options{}, func(t *testing.T, p *provider, w *world, _ string) {
		w.connectAs(t, "ann", "ben")
		own := map[string]string{"ann": w.tokenOf(t, "ann"), "ben": w.tokenOf(t, "ben")}
		var ann models.PersonalConnection
		if err := w.db.First(&ann, "user_id = 'ann'").Error; err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			user string
			set  map[string]any
		}{
			{"ben", map[string]any{"access_token": ann.AccessToken}},
			{"ann", map[string]any{"access_token": ann.RefreshToken}},
			{"ben", map[string]any{"headers": models.StringMap{"X-Key": ann.AccessToken}}},
		} {
			err := w.db.Transaction(func(tx *gorm.DB) error {
				return tx.Model(&models.PersonalConnection{}).Where("user_id = ?", c.user).Updates(c.set).Error
			})
			if err != nil {
				t.Fatal(err)
			}
			_ = w.Changed(t.Context(), notify.PersonalConnection(serverID, c.user))
			if v, err := w.Token(t.Context(), w.server(t), c.user); err == nil {
				t.Errorf("%s with %v: Token() = own %t", c.user, c.set, v.Reveal() == own[c.user])
			}
		}
		shared := models.Connection{ServerID: serverID, State: "connected", ServerURL: p.mcp(), AccessToken: ann.AccessToken, CreatedAt: w.Now(), UpdatedAt: w.Now()}
		if err := w.db.Create(&shared).Error; err != nil {
			t.Fatal(err)
		}
		w.configure(t, map[string]any{"connection": models.ConnectionShared})
		if _, err := w.Token(t.Context(), w.server(t), ""); err == nil {
			t.Error("a person's token was used as the shared one")
		}
	})
}

// through returns a pool and the target of a user's own account.
func (w *world) throughAs(t *testing.T, user string) (*pool.Pool, *upstream.Target) {
	t.Helper()
	clients := egress.NewClients(egress.NewGuard(egress.DefaultAllow(true)))
	pool := pool.New(clients.MCP(), "test")
	t.Cleanup(func() { pool.Close(); clients.Close() })
	return pool, credentials.NewConnectedTarget(w.server(t), noSecrets{}, credentials.Rows{}, w).For(user)
}

// TestPersonalTokenRevokedEarly rejects a person's tokens before they expire. The
// first time, a refresh repairs the call. Then the person must connect again, and
// the others need not.
func TestPersonalTokenRevokedEarly(t *testing.T) {
	t.Parallel()
	eachPersonal(t, options{}, func(t *testing.T, p *provider, w *world, _ string) {
		w.connectAs(t, "ann", "ben")
		anns, ann := w.throughAs(t, "ann")
		bens, ben := w.throughAs(t, "ben")
		for _, user := range []string{"ann", "ben"} {
			w.tokenOf(t, user)
		}
		if err := errors.Join(call(t, anns, ann), call(t, bens, ben)); err != nil {
			t.Fatal(err)
		}
		revoke := func() {
			p.set(func() {
				for token := range p.access {
					if p.owner[token] == "ann" {
						delete(p.access, token)
					}
				}
			})
		}
		revoke()
		if err := call(t, anns, ann); err != nil {
			t.Fatalf("a renewal doesn't repair the call: %v", err)
		}
		if n := p.grants("refresh_token"); n != 1 {
			t.Fatalf("%d refreshes", n)
		}
		w.Advance(59 * time.Second) // within the minute of the early renewal
		revoke()
		if f := want(t, call(t, anns, ann), fault.CodeConnectionRequired); f.Reason != string(upstream.ReasonRevoked) {
			t.Errorf("reason %q", f.Reason)
		}
		if s := w.statusOf(t, "ann"); s.State != oauthclient.NeedsReauth || s.Reason != oauthclient.ReasonTokenRefused || !strings.HasSuffix(s.ErrorText, "Connect it again.") {
			t.Errorf("%+v", s)
		}
		sent := p.count("POST /mcp")
		w.Advance(time.Minute - time.Millisecond)
		w.wantConnect(t, "ann", upstream.ReasonRevoked)
		want(t, call(t, anns, ann), fault.CodeConnectionRequired)
		if n := p.count("POST /mcp"); n != sent || p.grants("refresh_token") != 1 {
			t.Errorf("%d requests in the pause, %d refreshes", n-sent, p.grants("refresh_token"))
		}
		if err := call(t, bens, ben); err != nil {
			t.Error(err)
		}
		// The one try fails, and then succeeds.
		w.Advance(time.Millisecond)
		sent = p.count("POST /mcp")
		want(t, call(t, anns, ann), fault.CodeConnectionRequired)
		want(t, call(t, anns, ann), fault.CodeConnectionRequired)
		if n := p.count("POST /mcp") - sent; n != 1 {
			t.Errorf("%d requests, want one try", n)
		}
		w.Advance(time.Minute)
		p.set(func() {
			for token, owner := range p.owner {
				p.access[token] = p.access[token] || owner == "ann" && strings.HasPrefix(token, "access-")
			}
		})
		if err := errors.Join(call(t, anns, ann), call(t, anns, ann)); err != nil {
			t.Error(err)
		}
		if s := w.statusOf(t, "ann"); s.State != oauthclient.Connected {
			t.Errorf("%+v", s)
		}
		if n := p.grants("refresh_token"); n != 1 {
			t.Errorf("%d refreshes", n)
		}
	})
}

// TestRejectedRefreshRequiresPerson revokes the grant, so that the early renewal
// fails.
func TestRejectedRefreshRequiresPerson(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	w := personalWorld(t, modelstest.SQLite(t), p.mcp(), options{})
	w.connectAs(t, "ann")
	through, ann := w.throughAs(t, "ann")
	p.set(func() { clear(p.access); clear(p.refresh) })
	want(t, call(t, through, ann), fault.CodeConnectionRequired)
	if s := w.statusOf(t, "ann"); s.State != oauthclient.NeedsReauth || s.Reason != "invalid_grant" {
		t.Errorf("%+v", s)
	}
	w.connectAs(t, "ann")
	if err := call(t, through, ann); err != nil {
		t.Error(err)
	}
	// Missing scopes need no new account: other calls succeed.
	p.set(func() {
		p.serve = func(rw http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/mcp" {
				rw.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="write"`)
				rw.WriteHeader(403)
			}
			return r.URL.Path == "/mcp"
		}
	})
	want(t, call(t, through, ann), fault.CodeUpstreamUnauthorized)
	if s := w.statusOf(t, "ann"); s.State != oauthclient.Connected || !cmp.Equal(s.ScopesNeeded, []string{"write"}) {
		t.Errorf("%+v", s)
	}
	p.set(func() { p.serve = nil })
	if q := w.beginAs(t, serverID, "ann").Query(); !strings.Contains(q.Get("scope"), "write") {
		t.Errorf("the next authorization requests %q", q.Get("scope"))
	}
}

// TestCallbackOfAnotherPerson finishes a person's authorization as another person.
func TestCallbackOfAnotherPerson(t *testing.T) {
	t.Parallel()
	eachPersonal(t, options{}, func(t *testing.T, p *provider, w *world, _ string) {
		cb := visitAs(t, w.beginAs(t, serverID, "ann"), "ann")
		for name, other := range map[string]oauthclient.Callback{
			"another person":                     {SessionID: "session-ben", UserID: "ben"},
			"another person in the session":      {SessionID: "session-ann", UserID: "ben"},
			"another session of the person":      {SessionID: "session-2", UserID: "ann"},
			"nobody":                             {SessionID: "session-ann"},
			"another person, with their flow":    {SessionID: "session-ben", UserID: "ben", IssuerID: "x"},
			"the person's session as a stranger": {SessionID: "session-ann", UserID: "ANN"},
		} {
			forged := cb
			forged.SessionID, forged.UserID = other.SessionID, other.UserID
			_, err := w.Finish(t.Context(), forged)
			t.Log(name)
			want(t, err, fault.CodeForbidden)
		}
		var rows int64
		if err := w.db.Model(&models.PersonalConnection{}).Count(&rows).Error; err != nil || rows != 0 || p.grants("authorization_code") != 0 {
			t.Fatalf("%d connections, %d codes sent, %v", rows, p.grants("authorization_code"), err)
		}
		if _, err := w.Finish(t.Context(), cb); err != nil {
			t.Fatal(err)
		}
		if s := w.statusOf(t, "ann"); s.State != oauthclient.Connected || !s.Inventory || s.ConnectedAt == nil || s.Kind != models.KindOAuth {
			t.Errorf("%+v", s)
		}
		w.wantConnect(t, "ben", upstream.ReasonNotConnected)
		_, err := w.Start(t.Context(), oauthclient.Start{ServerID: serverID, SessionID: session})
		want(t, err, fault.CodeConflict)
		w.configure(t, map[string]any{"connection": models.ConnectionShared})
		_, err = w.Start(t.Context(), oauthclient.Start{ServerID: serverID, SessionID: session, UserID: "ann"})
		want(t, err, fault.CodeConflict)
	})
}

// TestOneAccountDisconnects disconnects one person: their tokens are revoked and
// their sessions end in every process, and a refresh ends none.
func TestOneAccountDisconnects(t *testing.T) {
	t.Parallel()
	here, there := &ends{}, &ends{}
	eachPersonal(t, options{ended: here.note}, func(t *testing.T, p *provider, w *world, dsn string) {
		other := join(t, dsn, options{now: w.Now, ended: there.note})
		told := func(user string) { // the other process's change feed
			if err := other.Changed(t.Context(), notify.PersonalConnection(serverID, user)); err != nil {
				t.Fatal(err)
			}
		}
		w.connectAs(t, "ann", "ben")
		for _, user := range []string{"ann", "ben"} {
			w.tokenOf(t, user)
			other.tokenOf(t, user)
		}
		here.take()
		w.Advance(2 * time.Hour)
		w.tokenOf(t, "ann")
		told("ann")
		if got := append(here.take(), there.take()...); len(got) != 0 {
			t.Errorf("a refresh ended the sessions of %v", got)
		}
		revoked, err := w.Disconnect(t.Context(), serverID, "ann")
		if err != nil || !revoked {
			t.Fatal(revoked, err)
		}
		told("ann")
		wantEnds(t, here, "s/ann")
		wantEnds(t, there, "s/ann")
		for _, one := range []*world{w, other} {
			one.wantConnect(t, "ann", upstream.ReasonNotConnected)
			one.tokenOf(t, "ben")
		}
		if n := get(p, func() (n int) {
			for token, owner := range p.owner {
				if _, live := p.refresh[token]; owner == "ann" && (live || p.access[token]) && strings.HasPrefix(token, "refresh") {
					n++
				}
			}
			return n
		}); n > 1 { // the used refresh token stays at the provider
			t.Errorf("%d refresh tokens are still valid", n)
		}
		if all, err := w.StatusesOf(t.Context(), serverID); err != nil || len(all) != 1 || all[0].UserID != "ben" {
			t.Errorf("%+v, %v", all, err)
		}
		w.connectAs(t, "ann")
		told("ann")
		wantEnds(t, here, "s/ann")
		wantEnds(t, there, "s/ann")
		w.connectAs(t, "ben") // another account: the row existed before
		told("ben")
		wantEnds(t, there, "s/ben")
		_, err = w.Disconnect(t.Context(), serverID, "nobody")
		want(t, err, fault.CodeNotFound)
		if v := w.server(t).ConfigVersion; v != 1 {
			t.Errorf("ConfigVersion = %d", v)
		}
	})
}

func wantEnds(t *testing.T, e *ends, accounts ...string) {
	t.Helper()
	if d := cmp.Diff(accounts, e.take()); d != "" {
		t.Errorf("ended sessions (-want +got):\n%s", d)
	}
}

// TestBackgroundRefreshOnlyInUse refreshes in the background only what was used
// in the last 24 hours.
func TestBackgroundRefreshOnlyInUse(t *testing.T) {
	t.Parallel()
	eachPersonal(t, options{}, func(t *testing.T, p *provider, w *world, _ string) {
		p.set(func() { p.life = 100 * 3600 })
		w.users(t, "cat")
		w.connectAs(t, "ann", "ben", "cat")
		used := func(user string) *time.Time { return w.statusOf(t, user).UsedAt }
		w.tokenOf(t, "ben")
		w.SaveUses(t.Context())
		first := w.Now()
		if at := used("ben"); at == nil || !at.Equal(first) || used("ann") != nil {
			t.Fatalf("used at %v and %v", at, used("ann"))
		}
		w.Advance(time.Hour - time.Millisecond)
		w.tokenOf(t, "ben")
		w.SaveUses(t.Context())
		if at := used("ben"); !at.Equal(first) {
			t.Errorf("stored twice within an hour: %v", at)
		}
		w.Advance(81*time.Hour - w.Now().Sub(first)) // every token is due
		for _, user := range []string{"ann", "cat"} {
			at := w.Now().Add(-24 * time.Hour) // just too long ago
			if user == "ann" {
				at = at.Add(time.Millisecond)
			}
			if err := w.db.Model(&models.PersonalConnection{}).Where("user_id = ?", user).UpdateColumn("used_at", at).Error; err != nil {
				t.Fatal(err)
			}
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); w.Run(ctx) }()
		refreshed := func() (users []string) {
			if err := w.db.Model(&models.PersonalConnection{}).Where("refreshed_at IS NOT NULL").Order("user_id").Pluck("user_id", &users).Error; err != nil {
				t.Error(err)
			}
			return users
		}
		eventually(t, "one refresh", func() bool { return len(refreshed()) > 0 })
		stop()
		<-ended
		if d := cmp.Diff([]string{"ann"}, refreshed()); d != "" {
			t.Errorf("refreshed (-want +got):\n%s", d)
		}
		// An unused one is refreshed by its next use.
		w.Advance(40 * time.Hour)
		token := w.tokenOf(t, "ben")
		if owner := get(p, func() string { return p.owner[token] }); owner != "ben" {
			t.Errorf("token of %q", owner)
		}
	})
}

// TestDisabledPerson disables a person: their account is unusable at once, and
// deleted after 30 days.
func TestDisabledPerson(t *testing.T) {
	t.Parallel()
	var disabled sync.Map
	o := options{enabled: func(id string) bool { _, is := disabled.Load(id); return !is }}
	eachPersonal(t, o, func(t *testing.T, p *provider, w *world, _ string) {
		disabled.Clear()
		w.connectAs(t, "ann", "ben")
		w.tokenOf(t, "ann")
		disabled.Store("ann", true)
		if err := w.db.Model(&models.User{}).Where("id = 'ann'").Update("disabled_at", w.Now()).Error; err != nil {
			t.Fatal(err)
		}
		w.wantConnect(t, "ann", upstream.ReasonNotConnected)
		w.tokenOf(t, "ben")
		for _, c := range []struct {
			wait time.Duration
			left int64
		}{{30*24*time.Hour - time.Millisecond, 2}, {time.Millisecond, 1}} {
			w.Advance(c.wait)
			if err := w.SweepDisabled(t.Context()); err != nil {
				t.Fatal(err)
			}
			var rows int64
			if err := w.db.Model(&models.PersonalConnection{}).Count(&rows).Error; err != nil || rows != c.left {
				t.Errorf("%d connections, want %d: %v", rows, c.left, err)
			}
		}
		if actions := w.audited(t); actions[len(actions)-1] != "connection.disconnected" {
			t.Errorf("audit %v", actions)
		}
		disabled.Clear()
		w.wantConnect(t, "ann", upstream.ReasonNotConnected)
		if err := w.db.Delete(&models.User{ID: "ben"}).Error; err != nil {
			t.Fatal(err)
		}
		if all, err := w.PersonalStatuses(t.Context(), "ben"); err != nil || len(all) != 0 {
			t.Errorf("%+v, %v", all, err)
		}
	})
}

// TestChangeOfConnectionMode deletes the accounts of the other kind.
func TestChangeOfConnectionMode(t *testing.T) {
	t.Parallel()
	eachPersonal(t, options{}, func(t *testing.T, p *provider, w *world, _ string) {
		change := func(to models.ConnectionMode, personal bool, topics ...notify.Topic) {
			t.Helper()
			err := w.db.Transaction(func(tx *gorm.DB) error {
				got, err := accounts.Delete(tx, serverID, personal)
				if d := cmp.Diff(topics, got); d != "" {
					t.Errorf("topics (-want +got):\n%s", d)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			w.configure(t, map[string]any{"connection": to})
			for _, topic := range topics {
				_ = w.Changed(t.Context(), topic)
			}
		}
		w.connectAs(t, "ann", "ben")
		w.tokenOf(t, "ann")
		cb := visitAs(t, w.beginAs(t, serverID, "ann"), "ann")
		change(models.ConnectionShared, true, notify.PersonalConnection(serverID, "ann"), notify.PersonalConnection(serverID, "ben"))
		_, err := w.Finish(t.Context(), cb)
		want(t, err, fault.CodeInvalidParameter)
		want(t, func() error { _, err := w.Token(t.Context(), w.server(t), "ann"); return err }(), fault.CodeConflict)
		w.connect(t)
		w.token(t)
		change(models.ConnectionPersonal, false, notify.Connection(serverID))
		w.wantConnect(t, "ann", upstream.ReasonNotConnected)
		if all, err := w.Statuses(t.Context()); err != nil || len(all) != 0 {
			t.Errorf("shared statuses %v, %v", all, err)
		}
		_, err = w.Status(t.Context(), serverID)
		want(t, err, fault.CodeConflict)
		if n := count(t, w, &models.Connection{}) + count(t, w, &models.PersonalConnection{}); n != 0 {
			t.Errorf("%d connections are left", n)
		}
	})
}

// TestManyFlows starts as many authorizations as one account may have: those of
// others stay.
func TestManyFlows(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	w := personalWorld(t, modelstest.SQLite(t), p.mcp(), options{})
	cb := visitAs(t, w.beginAs(t, serverID, "ben"), "ben")
	for range 22 {
		w.beginAs(t, serverID, "ann")
	}
	if n := count(t, w, &models.ConnectionFlow{}); n != 21 {
		t.Errorf("%d flows, want 20 and another person's", n)
	}
	if _, err := w.Finish(t.Context(), cb); err != nil {
		t.Error(err)
	}
}

// TestRetiredRegistrationIsKept refreshes a person's token with a registration
// that was replaced.
func TestRetiredRegistrationIsKept(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	w := personalWorld(t, modelstest.SQLite(t), p.mcp(), options{})
	w.connectAs(t, "ann")
	for range 2 { // the second drop deletes unused ones
		if err := w.DropRegistration(t.Context(), serverID); err != nil {
			t.Fatal(err)
		}
		w.connectAs(t, "ben")
	}
	w.Advance(2 * time.Hour)
	w.tokenOf(t, "ann")
}

// TestRefreshSurvivesConcurrentChange changes a connection during its refresh:
// the new refresh token isn't lost.
func TestRefreshSurvivesConcurrentChange(t *testing.T) {
	t.Parallel()
	eachPersonal(t, options{}, func(t *testing.T, p *provider, w *world, _ string) {
		w.connectAs(t, "ann")
		p.set(func() {
			p.token = func(http.ResponseWriter, url.Values) bool {
				err := w.db.Model(&models.PersonalConnection{}).Where("user_id = 'ann'").Updates(map[string]any{"scopes_needed": models.StringList{"write"}, "version": 1 << 50}).Error
				if err != nil {
					t.Error(err)
				}
				return false
			}
		})
		w.Advance(2 * time.Hour)
		w.tokenOf(t, "ann")
		p.set(func() { p.token = nil })
		if s := w.statusOf(t, "ann"); !cmp.Equal(s.ScopesNeeded, []string{"write"}) {
			t.Errorf("%+v", s)
		}
		w.Advance(2 * time.Hour)
		w.tokenOf(t, "ann")
		if n := p.grants("refresh_token"); n != 2 {
			t.Errorf("%d refreshes", n)
		}
	})
}

func count(t testing.TB, w *world, model any) (n int64) {
	t.Helper()
	if err := w.db.Model(model).Count(&n).Error; err != nil {
		t.Fatal(fmt.Errorf("count: %w", err))
	}
	return n
}

func BenchmarkCredentials(b *testing.B) {
	p := newProvider(b)
	w := personalWorld(b, modelstest.SQLite(b), p.mcp(), options{})
	w.connectAs(b, "ann")
	server := w.server(b)
	w.tokenOf(b, "ann")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := w.Credentials(b.Context(), server, "ann"); err != nil {
			b.Fatal(err)
		}
	}
}

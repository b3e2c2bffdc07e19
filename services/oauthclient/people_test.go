package oauthclient_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
	"mcpgateway/services/oauthclient"
	"mcpgateway/services/oauthclient/accounts"
	"mcpgateway/services/upstream"
)

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

package oauthclient_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/fault"
	"mcpgateway/services/oauthclient"
	"mcpgateway/services/upstream"
)

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

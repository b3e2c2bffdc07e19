package oauthserver_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/oauthserver"
)

// fillUnused stores n unused clients, one per millisecond, named by their
// order.
func (w *world) fillUnused(t *testing.T, n int) {
	t.Helper()
	const batch = 500
	for from := 0; from < n; from += batch {
		rows := make([]models.OAuthClient, min(batch, n-from))
		for i := range rows {
			rows[i] = models.OAuthClient{
				ID: fmt.Sprintf("gwc_%05d", from+i), Kind: models.ClientRegistered, RedirectURIs: models.StringList{callback}, AuthMethod: models.AuthMethodNone,
				SecretHash: []byte{}, CreatedAt: w.Now().Add(time.Duration(from+i) * time.Millisecond),
			}
		}
		w.create(t, &rows)
	}
}

func (w *world) unused(t *testing.T) (n int64, oldest string) {
	t.Helper()
	unused := w.db.Model(&models.OAuthClient{}).Where("last_used_at IS NULL")
	if err := unused.Count(&n).Error; err != nil {
		t.Fatal(err)
	}
	if err := unused.Order("created_at, id").Limit(1).Pluck("id", &oldest).Error; err != nil {
		t.Fatal(err)
	}
	return n, oldest
}

func TestOldestUnusedClientIsEvicted(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		used := w.register(t)
		w.grant(t, "bob", used)
		w.fillUnused(t, oauthserver.MaxUnusedClients-1)
		register := func(n int) error {
			_, err := w.Register(t.Context(), []byte(`{"redirect_uris":["https://c.example/cb"]}`), fmt.Sprintf("192.0.2.%d", n))
			return err
		}
		const later = time.Minute // after the first of those
		w.Advance(later)
		if err := register(1); err != nil {
			t.Fatalf("last free slot: %v", err)
		}
		err := register(2)
		failed(t, err, fault.CodeUnavailable)
		if fault.From(err).RetryAfter <= 0 {
			t.Error("no Retry-After")
		}
		w.Advance(oauthserver.UnusedClientGrace - later)
		failed(t, register(3), fault.CodeUnavailable)
		w.Advance(time.Millisecond)
		if err := register(4); err != nil {
			t.Fatalf("after the grace period of the oldest: %v", err)
		}
		if n, oldest := w.unused(t); n != oauthserver.MaxUnusedClients || oldest != "gwc_00001" {
			t.Errorf("%d unused clients, the oldest is %s", n, oldest)
		}
		failed(t, register(5), fault.CodeUnavailable)
		w.Advance(2 * time.Millisecond)
		for n := range 2 {
			if err := register(6 + n); err != nil {
				t.Fatal(err)
			}
		}
		if n, oldest := w.unused(t); n != oauthserver.MaxUnusedClients || oldest != "gwc_00003" {
			t.Errorf("%d unused clients, the oldest is %s", n, oldest)
		}
		var kept int64
		if err := w.db.Model(&models.OAuthClient{}).Where("id = ?", used).Count(&kept).Error; err != nil || kept != 1 {
			t.Errorf("used client was deleted: %v", err)
		}
	})
}

func TestRegistrationIsRecordedAtConsent(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		client := w.register(t)
		if _, err := w.Register(t.Context(), []byte(`{"redirect_uris":["https://c.example/cb"]}`), "192.0.2.1"); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]string{}, w.actions(t)); d != "" {
			t.Errorf("after the registration (-want +got):\n%s", d)
		}
		w.grant(t, "bob", client)
		w.grant(t, "bob", client)
		if d := cmp.Diff([]string{"client.registered", "oauth.consented", "oauth.consented"}, w.actions(t)); d != "" {
			t.Errorf("after two consents (-want +got):\n%s", d)
		}
	})
}

func TestRegistrationsPerNetworkAreLimited(t *testing.T) {
	for name, tt := range map[string]struct {
		limit   int
		address func(n int) string // in networks below their own limit
		other   string
	}{
		"/64":  {oauthserver.RegistrationsPerHour, func(n int) string { return fmt.Sprintf("2001:db8::%x", n) }, "2001:db8:0:1::1"},
		"/56":  {oauthserver.RegistrationsPer56, func(n int) string { return fmt.Sprintf("2001:db8:0:%x::1", n) }, "2001:db8:0:100::1"},
		"/48":  {oauthserver.RegistrationsPer48, func(n int) string { return fmt.Sprintf("2001:db8:0:%x00::1", n) }, "2001:db8:1::1"},
		"IPv4": {oauthserver.RegistrationsPerHour, func(int) string { return "192.0.2.1" }, "192.0.2.2"},
	} {
		t.Run(name, func(t *testing.T) {
			w := onSQLite(t)
			register := func(ip string) error {
				_, err := w.Register(t.Context(), []byte(`{"redirect_uris":["https://c.example/cb"]}`), ip)
				return err
			}
			for n := range tt.limit {
				if err := register(tt.address(n)); err != nil {
					t.Fatalf("registration %d: %v", n+1, err)
				}
			}
			err := register(tt.address(tt.limit))
			failed(t, err, fault.CodeRateLimited)
			if wait := fault.From(err).RetryAfter; wait <= 0 || wait > time.Hour {
				t.Errorf("RetryAfter = %s", wait)
			}
			if err := register(tt.other); err != nil {
				t.Errorf("other network: %v", err)
			}
			w.Advance(time.Hour)
			if err := register(tt.address(0)); err != nil {
				t.Errorf("an hour later: %v", err)
			}
		})
	}
}

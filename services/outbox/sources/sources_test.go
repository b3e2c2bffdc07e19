package sources_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/access/quotas"
	"mcpgateway/services/oauthclient"
	"mcpgateway/services/oauthclient/accounts"
	"mcpgateway/services/outbox"
	"mcpgateway/services/outbox/sources"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// world is a database with a server, and the sources of two replicas.
type world struct {
	*testing.T
	db       *gorm.DB
	now      time.Time
	events   *outbox.Events
	replicas []*sources.Sources
}

func each(t *testing.T, f func(w *world)) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		w := &world{T: t, db: db, now: noon}
		clock := func() time.Time { return w.now }
		w.events = outbox.New(db, clock)
		w.replicas = []*sources.Sources{sources.New(db, w.events, clock), sources.New(db, w.events, clock)}
		server := models.Server{ID: "s", ProjectID: "p", Alias: "github", AliasFold: "github", URL: "https://a.example", Transport: models.TransportAuto, AuthType: models.UpstreamAuthNone, SessionMode: models.SessionShared, DefinitionPolicy: models.PolicyFollow, TimeoutMS: 1000, MaxConcurrent: 1, ConfigVersion: 1}
		for _, row := range []any{
			&models.Project{ID: "p", Slug: "work", AuthMode: models.AuthNone, ToolExposure: models.ExposeFull}, &server,
			&models.Destination{ID: "d", Name: "d", Kind: models.DestinationWebhook, Active: true},
		} {
			if err := db.Create(row).Error; err != nil {
				t.Fatal(err)
			}
		}
		f(w)
	})
}

// both calls do with both replicas.
func (w *world) both(do func(s *sources.Sources) error) {
	w.Helper()
	for _, s := range w.replicas {
		if err := do(s); err != nil {
			w.Fatal(err)
		}
	}
}

// raised returns the kinds of the events since the last call.
func (w *world) raised() string {
	w.Helper()
	var rows []models.OutboxEvent
	if err := w.db.Order("seq").Find(&rows).Error; err != nil {
		w.Fatal(err)
	}
	var kinds []string
	for _, row := range rows {
		if row.Project != "work" || !strings.Contains(row.Body, `"message":"`) {
			w.Errorf("event %+v", row)
		}
		kinds = append(kinds, row.Kind)
	}
	w.db.Exec("DELETE FROM outbox")
	return strings.Join(kinds, " ")
}

func TestServerStates(t *testing.T) {
	each(t, func(w *world) {
		for _, tt := range []struct {
			state models.ServerStateKind
			want  string
		}{
			{models.ServerUp, ""}, {models.ServerDown, "server.down"}, {models.ServerUnset, ""}, {models.ServerDown, ""}, {models.ServerUp, "server.up"}, {models.ServerDown, "server.down"},
		} {
			w.both(func(s *sources.Sources) error {
				return s.Server(t.Context(), models.ServerState{ServerID: "s", At: noon, State: tt.state, Cause: "refused"})
			})
			if got := w.raised(); got != tt.want {
				t.Errorf("%s: %q, want %q", tt.state, got, tt.want)
			}
		}
		w.both(func(s *sources.Sources) error {
			return s.Server(t.Context(), models.ServerState{ServerID: "gone", State: models.ServerDown})
		})
		if got := w.raised(); got != "" {
			t.Errorf("a deleted server: %q", got)
		}
	})
}

func TestConnectionStates(t *testing.T) {
	each(t, func(w *world) {
		for _, tt := range []struct {
			state oauthclient.State
			want  string
		}{
			{oauthclient.Connected, ""}, {oauthclient.Degraded, ""}, {oauthclient.NeedsReauth, "connection.reconnect_needed"}, {oauthclient.Degraded, ""},
			{oauthclient.IssuerChanged, ""}, {oauthclient.Connected, "connection.restored"},
		} {
			for _, user := range []string{"", "u"} {
				w.both(func(s *sources.Sources) error {
					return w.db.Transaction(func(tx *gorm.DB) error {
						return s.Connection(tx, accounts.ID{ServerID: "s", UserID: user}, tt.state, "invalid_grant")
					})
				})
				if got := w.raised(); got != tt.want {
					t.Errorf("%s: %q, want %q", tt.state, got, tt.want)
				}
			}
		}
	})
}

func TestDefinitions(t *testing.T) {
	each(t, func(w *world) {
		err := w.db.Transaction(func(tx *gorm.DB) error { return w.replicas[0].Definitions(tx, "s", []string{"a", "b"}) })
		if got := w.raised(); err != nil || got != "tool.definition_changed tool.definition_changed" {
			t.Errorf("%v, %q", err, got)
		}
	})
}

func TestQuotaIsReportedOncePerDay(t *testing.T) {
	each(t, func(w *world) {
		for _, tt := range []struct{ day, want string }{{"2026-03-01", "quota.exceeded"}, {"2026-03-01", ""}, {"2026-03-02", "quota.exceeded"}} {
			e := quotas.Exceeded{ProjectID: "p", Subject: `["key","*","k"]`, ID: "k", Limit: models.Limit{Per: models.PerKey, Match: "*", PerDay: 5}, Day: tt.day}
			w.both(func(s *sources.Sources) error { return s.Quota(t.Context(), e) })
			if got := w.raised(); got != tt.want {
				t.Errorf("%s: %q, want %q", tt.day, got, tt.want)
			}
		}
	})
}

func TestKeysAreReportedOnce(t *testing.T) {
	each(t, func(w *world) {
		expires := noon.Add(30 * 24 * time.Hour)
		for i, revoked := range []*time.Time{nil, &noon} {
			if err := w.db.Create(&models.Key{ID: fmt.Sprint(i), ProjectID: "p", Name: "ci", Hash: []byte{byte(i)}, CreatedAt: noon, ExpiresAt: &expires, RevokedAt: revoked}).Error; err != nil {
				t.Fatal(err)
			}
		}
		for _, tt := range []struct {
			before time.Duration
			want   string
		}{
			{sources.ExpiringBefore + time.Millisecond, ""}, {sources.ExpiringBefore, "key.expiring"}, {sources.ExpiringBefore - time.Minute, ""},
			{time.Millisecond, ""}, {0, "key.expired"}, {-time.Minute, ""},
		} {
			w.now = expires.Add(-tt.before)
			w.both(func(s *sources.Sources) error { return s.Keys(t.Context()) })
			if got := w.raised(); got != tt.want {
				t.Errorf("%s before: %q, want %q", tt.before, got, tt.want)
			}
		}
	})
}

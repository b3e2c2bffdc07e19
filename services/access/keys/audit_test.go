package keys_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/access/accesstest"
	"mcpgateway/services/access/keys"
	"mcpgateway/services/activity"
)

func TestKeyChangesAreAudited(t *testing.T) {
	accesstest.Each(t, func(t *testing.T, w *accesstest.World) {
		ctx := activity.WithActor(t.Context(), activity.Actor{Kind: activity.ActorToken, Name: "administration token", RequestID: "r"})
		row, first, err := w.Keys.Create(ctx, "p", "ci", 0)
		if err != nil {
			t.Fatal(err)
		}
		next, second, err := w.Keys.Rotate(ctx, "p", row.ID, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		unnamed, third, err := w.Keys.Create(ctx, "p", "", 0)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second one changes nothing and isn't recorded
			if err := w.Keys.Revoke(ctx, "p", unnamed.ID); err != nil {
				t.Fatal(err)
			}
		}
		if _, _, err := w.Keys.Rotate(ctx, "p", unnamed.ID, 0); err == nil {
			t.Fatal("revoked key was rotated")
		}
		var rows []models.AuditEntry
		if err := w.DB.Order("seq").Find(&rows).Error; err != nil {
			t.Fatal(err)
		}
		type line struct{ Action, Object, ID, Project, Actor, Request, Successor, Grace string }
		var got []line
		for _, r := range rows {
			got = append(got, line{r.Action, r.Object, r.ObjectID, r.Project, r.ActorName, r.RequestID, r.Detail["successor"], r.Detail["grace"]})
			for _, key := range []string{first.Reveal(), second.Reveal(), third.Reveal()} {
				if strings.Contains(strings.Join([]string{r.Object, r.ObjectID, r.Detail["successor"]}, " "), key[8:]) {
					t.Error("audit log contains a key")
				}
			}
		}
		const actor = "administration token"
		want := []line{
			{"key.created", "ci", row.ID, "p", actor, "r", "", ""}, {"key.rotated", "ci", row.ID, "p", actor, "r", next.ID, "1h0m0s"},
			{"key.created", unnamed.Prefix + "…", unnamed.ID, "p", actor, "r", "", ""}, {"key.revoked", unnamed.Prefix + "…", unnamed.ID, "p", actor, "r", "", ""},
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}

// failingAudit is an audit log whose writes fail.
type failingAudit struct{}

var errDeaf = errors.New("the log is full")

func (failingAudit) Record(*gorm.DB, activity.Entry) error { return errDeaf }

func TestFailedAuditRollsBack(t *testing.T) {
	w := accesstest.OnSQLite(t)
	id, key := w.Create(t, 0)
	store := keys.New(w.DB, failingAudit{}, w.Feed, w.Now)
	if err := store.Revoke(t.Context(), "p", id); !errors.Is(err, errDeaf) {
		t.Errorf("got %v", err)
	}
	if _, text, err := store.Create(t.Context(), "p", "", 0); !errors.Is(err, errDeaf) || !text.IsZero() {
		t.Errorf("got %v", err)
	}
	rows, err := w.Keys.List(t.Context(), "p")
	if err != nil || len(rows) != 1 || !w.Admits(t, key) {
		t.Errorf("%d keys, %v", len(rows), err)
	}
}

func TestRotatedKeySuccessorHasFullLifetime(t *testing.T) {
	accesstest.Each(t, func(t *testing.T, w *accesstest.World) {
		for _, lifetime := range []time.Duration{0, 24 * time.Hour} {
			id, _ := w.Create(t, lifetime)
			for round := range 3 { // the same key, repeatedly within its grace
				next, _, err := w.Keys.Rotate(t.Context(), "p", id, time.Hour)
				if err != nil {
					t.Fatal(err)
				}
				w.Advance(time.Minute)
				if lifetime == 0 {
					if next.ExpiresAt != nil {
						t.Errorf("round %d: successor of key without expiry expires %s", round, next.ExpiresAt)
					}
					continue
				}
				if next.ExpiresAt == nil || !next.ExpiresAt.Equal(next.CreatedAt.Add(lifetime)) {
					t.Errorf("round %d: successor = %+v", round, next)
				}
			}
		}
	})
}

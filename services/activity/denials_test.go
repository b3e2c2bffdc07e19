package activity_test

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/activity"
)

func TestDenialsAreRecordedOncePerMinute(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		now := noon
		clock := func() time.Time { return now }
		d := activity.NewDenials(db, activity.NewAudit(db, clock), clock, slog.New(slog.DiscardHandler))
		deny := func(person, route string) {
			ctx := activity.WithActor(t.Context(), activity.Actor{Kind: activity.ActorUser, ID: person, Name: person + "@example.com", RequestID: "r"})
			d.Record(ctx, route, "viewer")
		}
		count := func() (n int64) {
			t.Helper()
			if err := db.Model(&models.AuditEntry{}).Count(&n).Error; err != nil {
				t.Fatal(err)
			}
			return n
		}
		for i, step := range []struct {
			after         time.Duration
			person, route string
			rows          int64
		}{
			{0, "a", "POST /x", 1}, {0, "a", "POST /x", 1}, {0, "a", "GET /x", 2}, {0, "b", "POST /x", 3},
			{activity.DenialInterval - 1, "a", "POST /x", 3}, {1, "a", "POST /x", 4},
		} {
			now = now.Add(step.after)
			deny(step.person, step.route)
			if n := count(); n != step.rows {
				t.Errorf("step %d: %d rows, want %d", i, n, step.rows)
			}
		}
		var row models.AuditEntry
		if err := db.Order("seq").First(&row).Error; err != nil {
			t.Fatal(err)
		}
		if got, want := fmt.Sprint(row.ActorID, row.ActorName, " ", row.Action, " ", row.Object, " ", row.Detail["role"], " ", row.RequestID), "aa@example.com access.denied POST /x viewer r"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

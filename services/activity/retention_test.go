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

const day = 24 * time.Hour

// sweptAt sweeps the call log at a time.
func sweptAt(t *testing.T, db *gorm.DB, now time.Time) {
	t.Helper()
	c := activity.NewCalls(db, func() time.Time { return now }, slog.New(slog.DiscardHandler))
	if err := c.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestRetentionOfProjects sweeps the log just before, at and after the age at
// which each project's calls and payloads are deleted.
func TestRetentionOfProjects(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		for id, kept := range map[string][2]int{"short": {1, 0}, "p": {7, 3}, "long": {365, 30}} {
			row := models.Project{ID: id, Slug: id, AuthMode: models.AuthNone, ToolExposure: models.ExposeFull, RetentionCalls: kept[0], RetentionPayloads: kept[1]}
			if err := db.Create(&row).Error; err != nil {
				t.Fatal(err)
			}
		}
		record(t, db, func(c *activity.Calls) {
			for _, id := range []string{"short", "p", "long", "deleted"} {
				one := about(0, id)
				one.ProjectID = id
				c.Record(one)
			}
		})
		left := func(model any) (ids string) {
			var found []string
			if err := db.Model(model).Order("project_id").Pluck("project_id", &found).Error; err != nil {
				t.Fatal(err)
			}
			return fmt.Sprint(found)
		}
		for _, tt := range []struct {
			age             time.Duration
			calls, payloads string
		}{
			{0, "[deleted long p short]", "[deleted long p short]"},
			{time.Millisecond, "[deleted long p short]", "[long p]"},
			{day, "[deleted long p short]", "[long p]"},
			{day + time.Millisecond, "[deleted long p]", "[long p]"},
			{3 * day, "[deleted long p]", "[long p]"},
			{3*day + time.Millisecond, "[deleted long p]", "[long]"},
			{7 * day, "[deleted long p]", "[long]"},
			{7*day + time.Millisecond, "[long]", "[long]"},
			{30 * day, "[long]", "[long]"},
			{30*day + time.Millisecond, "[long]", "[]"},
			{365 * day, "[long]", "[]"},
			{365*day + time.Millisecond, "[]", "[]"},
		} {
			sweptAt(t, db, noon.Add(tt.age))
			if calls, payloads := left(&models.Call{}), left(&models.CallPayload{}); calls != tt.calls || payloads != tt.payloads {
				t.Errorf("after %v: calls %s and payloads %s, want %s and %s", tt.age, calls, payloads, tt.calls, tt.payloads)
			}
		}
	})
}

func TestPayloadsEndWithTheirCall(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		row := models.Project{ID: "p", Slug: "p", AuthMode: models.AuthNone, ToolExposure: models.ExposeFull, RetentionCalls: 1, RetentionPayloads: 30}
		if err := db.Create(&row).Error; err != nil {
			t.Fatal(err)
		}
		record(t, db, func(c *activity.Calls) { c.Record(about(0, "x")) })
		for _, tt := range []struct {
			age  time.Duration
			want int
		}{{day, 1}, {day + time.Millisecond, 0}} {
			sweptAt(t, db, noon.Add(tt.age))
			if left := kept(t, db); len(left) != tt.want {
				t.Errorf("after %v: %d payloads, want %d", tt.age, len(left), tt.want)
			}
		}
	})
}

func TestSweepRemovesAllOldCalls(t *testing.T) {
	const old = 10_001 // more than one deletion
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		project(t, db)
		err := db.Exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
			INSERT INTO calls (id, at, project_id, principal, tool, server, duration_us, request_bytes, response_bytes, outcome, code, request_id)
			SELECT '0000-' || (100000 + i), ?, 'p', '', '', '', 0, 0, 0, 'ok', '', '' FROM n`, old, noon.Add(-7*day-time.Hour)).Error
		if err != nil {
			t.Fatal(err)
		}
		c := record(t, db, func(c *activity.Calls) { c.Record(call(0, "up__a", 1, models.CallOK)) })
		if err := c.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		calls, _, err := c.List(t.Context(), activity.CallFilter{}, "", 10)
		if err != nil || ids(calls) != "up__a0" {
			t.Errorf("remaining calls = %q, %v", ids(calls), err)
		}
	})
}

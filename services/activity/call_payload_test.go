package activity_test

import (
	"context"
	"strings"
	"testing"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/activity"
)

// about returns a call with payload.
func about(minute int, arguments string) models.Call {
	c := call(minute, "up__a", 1, models.CallOK)
	c.Payload = &models.CallPayload{Arguments: arguments, Answer: `{"content":[]}`, AnswerCut: true}
	return c
}

// project stores the calls' project.
func project(t *testing.T, db *gorm.DB) {
	t.Helper()
	if err := db.Create(&models.Project{ID: "p", Slug: "p", AuthMode: models.AuthNone, ToolExposure: models.ExposeFull}).Error; err != nil {
		t.Fatal(err)
	}
}

func kept(t *testing.T, db *gorm.DB) (arguments []string) {
	t.Helper()
	if err := db.Model(&models.CallPayload{}).Order("at").Pluck("arguments", &arguments).Error; err != nil {
		t.Fatal(err)
	}
	return arguments
}

func TestPayloadsAreStored(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		long := `"` + strings.Repeat("ü", activity.MaxPayload/2-1) + `"`
		c := record(t, db, func(c *activity.Calls) {
			c.Record(about(1, `{"a":"b\u0000"}`))
			c.Record(call(2, "up__b", 1, models.CallOK))
			c.Record(about(3, long))
		})
		calls, _, err := c.List(t.Context(), activity.CallFilter{}, "", 10)
		if err != nil || len(calls) != 3 {
			t.Fatal(len(calls), err)
		}
		for i, want := range []string{long, "", `{"a":"b\u0000"}`} {
			p, err := c.Payload(t.Context(), calls[i].ID)
			switch {
			case err != nil:
				t.Error(err)
			case want == "" && p != nil:
				t.Errorf("call without payload has %+v", p)
			case want != "" && (p == nil || p.Arguments != want || p.Answer != `{"content":[]}` || p.ArgumentsCut || !p.AnswerCut || p.ProjectID != "p" || !p.At.Equal(calls[i].At)):
				t.Errorf("payload of call %d = %+v", i, p)
			}
		}
	})
}

func TestQueuedPayloadsAreLimited(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		write := func(n int) {
			c := record(t, db, func(c *activity.Calls) {
				for range n {
					c.Record(about(1, "x"))
				}
			})
			if c.Dropped() != 0 {
				t.Errorf("%d calls lost", c.Dropped())
			}
		}
		for _, n := range []int{activity.MaxPayloadsWaiting - 1, activity.MaxPayloadsWaiting, activity.MaxPayloadsWaiting + 1} {
			if err := db.Exec("DELETE FROM call_payloads").Error; err != nil {
				t.Fatal(err)
			}
			write(n)
			if got := len(kept(t, db)); got != min(n, activity.MaxPayloadsWaiting) {
				t.Errorf("%[2]d of %[1]d payloads stored", n, got)
			}
		}
	})
}

func TestPayloadsSurviveDatabaseOutage(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		if err := db.Migrator().RenameTable("call_payloads", "payloads_away"); err != nil {
			t.Fatal(err)
		}
		c := record(t, db, func(c *activity.Calls) { c.Record(about(1, "x")) })
		if calls, _, err := c.List(t.Context(), activity.CallFilter{}, "", 10); err != nil || len(calls) != 0 {
			t.Errorf("call stored without its payload: %d, %v", len(calls), err)
		}
		if err := db.Migrator().RenameTable("payloads_away", "call_payloads"); err != nil {
			t.Fatal(err)
		}
		again(t, c)
		if left := kept(t, db); len(left) != 1 {
			t.Errorf("stored payloads = %q", left)
		}
	})
}

// again runs a log until its queue is stored.
func again(t *testing.T, c *activity.Calls) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c.Run(ctx)
}

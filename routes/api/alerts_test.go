package api_test

import (
	"testing"
	"time"

	"mcpgateway/models"
)

type alertList struct {
	Firing, Recent []struct{ Rule, Object, State string }
	Rules          []alertRule
}

type alertRule struct {
	ID         string
	Enabled    bool
	Thresholds map[string]int
}

func TestAlertsAPI(t *testing.T) {
	each(t, func(t *testing.T, a *app) {
		var list alertList
		if a.admin(t, "GET", "/api/alerts", "", 200, &list); list.Firing == nil || list.Recent == nil || len(list.Rules) != 7 || list.Rules[0].Thresholds["minutes"] != 2 {
			t.Fatalf("listed %+v", list)
		}
		// A destination whose event waits for an hour.
		start := time.Now().UTC().Truncate(time.Millisecond).Add(-time.Hour)
		for _, row := range []any{
			&models.Destination{ID: "d", Name: "ops", Kind: models.DestinationWebhook, Active: true, Position: 1 << 40, CreatedAt: start, UpdatedAt: start},
			&models.OutboxEvent{Seq: 1<<40 + 1, ID: "e", Kind: "key.created", At: start, Body: "{}"},
		} {
			if err := a.Services.DB.Create(row).Error; err != nil {
				t.Fatal(err)
			}
		}
		if err := a.Services.EvaluateAlerts(t.Context()); err != nil {
			t.Fatal(err)
		}
		if a.admin(t, "GET", "/api/alerts", "", 200, &list); len(list.Firing) != 1 || list.Firing[0].Rule != "outbox_stuck" || list.Firing[0].Object != "ops" || list.Firing[0].State != "firing" {
			t.Errorf("listed %+v", list)
		}
		path := "/api/alerts/rules/outbox_stuck"
		for _, body := range []string{`{"thresholds":{"minutes":0}}`, `{"thresholds":{"minutes":1.5}}`, `{"thresholds":{"hours":1}}`, `{"enabled":"no"}`, `{"title":"x"}`} {
			a.admin(t, "PATCH", path, body, 422, nil)
		}
		a.admin(t, "PATCH", "/api/alerts/rules/none", `{"enabled":false}`, 404, nil)
		var rule alertRule
		if a.admin(t, "PATCH", path, `{"enabled":false,"thresholds":{"minutes":1440}}`, 200, &rule); rule.Enabled || rule.Thresholds["minutes"] != 1440 {
			t.Errorf("rule %+v", rule)
		}
		if err := a.Services.EvaluateAlerts(t.Context()); err != nil {
			t.Fatal(err)
		}
		if a.admin(t, "GET", "/api/alerts", "", 200, &list); len(list.Firing) != 0 || len(list.Recent) != 1 {
			t.Errorf("after the rule was turned off: %+v", list)
		}
	})
}

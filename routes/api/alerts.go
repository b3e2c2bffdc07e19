package api

import (
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/services/alerts"
	"mcpgateway/web"
)

// Alerts serves the alerts and their rules.
type Alerts struct{ store *alerts.Store }

// NewAlerts returns the handlers.
func NewAlerts(store *alerts.Store) *Alerts { return &Alerts{store: store} }

type alertRecord struct {
	ID         string            `json:"id"`
	Rule       string            `json:"rule"`
	Subject    string            `json:"subject"`
	Object     string            `json:"object"`
	Project    string            `json:"projectSlug"`
	Detail     string            `json:"detail"`
	State      models.AlertState `json:"state"`
	Since      time.Time         `json:"since"`
	FiredAt    *time.Time        `json:"firedAt"`
	ResolvedAt *time.Time        `json:"resolvedAt"`
}

type alertRuleRecord struct {
	ID         string         `json:"id"`
	Title      string         `json:"title"`
	Enabled    bool           `json:"enabled"`
	Thresholds map[string]int `json:"thresholds"`
}

func alertRuleOf(r alerts.Rule) alertRuleRecord {
	return alertRuleRecord{ID: r.ID, Title: r.Title, Enabled: r.Enabled, Thresholds: r.Values}
}

func alertsOf(rows []models.Alert) []alertRecord {
	list := make([]alertRecord, len(rows))
	for i, a := range rows {
		list[i] = alertRecord{
			ID: a.ID, Rule: a.Rule, Subject: a.Subject, Object: a.Object, Project: a.Project, Detail: a.Detail, State: a.State,
			Since: a.Since, FiredAt: a.FiredAt, ResolvedAt: a.ResolvedAt,
		}
	}
	return list
}

// List serves GET /api/alerts.
func (a *Alerts) List(c *fiber.Ctx) error {
	ctx := c.UserContext()
	firing, err := a.store.Firing(ctx)
	if err != nil {
		return err
	}
	recent, err := a.store.Recent(ctx)
	if err != nil {
		return err
	}
	rules, err := a.store.Rules(ctx)
	if err != nil {
		return err
	}
	records := make([]alertRuleRecord, len(rules))
	for i, r := range rules {
		records[i] = alertRuleOf(r)
	}
	return c.JSON(fiber.Map{"firing": alertsOf(firing), "recent": alertsOf(recent), "rules": records})
}

// UpdateRule serves PATCH /api/alerts/rules/:id.
func (a *Alerts) UpdateRule(c *fiber.Ctx) error {
	var body struct {
		Enabled    *bool          `json:"enabled"`
		Thresholds map[string]int `json:"thresholds"`
	}
	if err := web.BindJSON(c, &body); err != nil {
		return err
	}
	rule, err := a.store.ChangeRule(c.UserContext(), c.Params("id"), alerts.RuleChange{Enabled: body.Enabled, Thresholds: body.Thresholds})
	if err != nil {
		return err
	}
	return c.JSON(alertRuleOf(rule))
}

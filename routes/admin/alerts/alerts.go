// Package alerts serves the page of the alerts and their rules.
package alerts

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/frame"
	"mcpgateway/services/alerts"
	"mcpgateway/services/fault"
	"mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/web"
)

// Options configure the page.
type Options struct {
	Pages      *frame.Pages
	Store      *alerts.Store
	MailOn     bool
	Recipients []string // empty means all administrators
	Now        func() time.Time
}

// Alerts serves the page.
type Alerts struct{ Options }

// New returns the handlers.
func New(o Options) *Alerts { return &Alerts{o} }

// Show serves GET /admin/alerts.
func (a *Alerts) Show(c *fiber.Ctx) error { return a.page(c, "", nil) }

// SaveRule serves POST /admin/alerts/rules/:id.
func (a *Alerts) SaveRule(c *fiber.Ctx) error {
	id := c.Params("id")
	on := web.FormValue(c, "enabled") == "on"
	change := alerts.RuleChange{Enabled: &on, Thresholds: map[string]int{}}
	problems := map[string]string{}
	for _, rule := range alerts.Builtin() {
		for _, t := range rule.Thresholds {
			text := strings.TrimSpace(web.FormValue(c, t.Name))
			if rule.ID != id || text == "" {
				continue
			}
			n, err := strconv.Atoi(text)
			if err != nil {
				problems["thresholds."+t.Name] = "Enter a whole number."
			}
			change.Thresholds[t.Name] = n
		}
	}
	var err error
	if len(problems) > 0 {
		err = fault.Validation(problems)
	} else {
		_, err = a.Store.ChangeRule(c.UserContext(), id, change)
	}
	if err != nil {
		return a.page(c, id, err)
	}
	return frame.Done(c, paths.Alerts, "Saved. It applies within 30 seconds.")
}

// page renders the alerts. failed is the error of the form of a rule, or nil.
func (a *Alerts) page(c *fiber.Ctx, rule string, failed error) (err error) {
	p := admin.AlertsProps{Now: a.Now(), MailOn: a.MailOn, Recipients: strings.Join(a.Recipients, ", "), Failed: rule}
	if p.Errors, err = frame.Fields(c, failed); err != nil {
		return err
	}
	firing, err := a.Store.Firing(c.UserContext())
	if err != nil {
		return err
	}
	recent, err := a.Store.Recent(c.UserContext())
	if err != nil {
		return err
	}
	rules, err := a.Store.Rules(c.UserContext())
	if err != nil {
		return err
	}
	p.Firing, p.Recent = rowsOf(firing), rowsOf(recent)
	for _, r := range rules {
		shown := admin.AlertRule{ID: r.ID, Title: r.Title, Meaning: r.Meaning, Enabled: r.Enabled}
		for _, t := range r.Thresholds {
			value := strconv.Itoa(r.Of(t.Name))
			if r.ID == rule {
				value = web.FormValue(c, t.Name)
			}
			shown.Thresholds = append(shown.Thresholds, admin.AlertThreshold{Name: t.Name, Label: t.Label, Value: value, Min: t.Min, Max: t.Max})
		}
		p.Rules = append(p.Rules, shown)
	}
	p.Frame = a.Pages.Frame(c, "Alerts", layout.SectionAlerts)
	p.Banners = slices.DeleteFunc(p.Banners, func(b layout.Banner) bool { return b.LinkURL == paths.Alerts }) // the page has the list
	return web.Render(c, admin.Alerts(p))
}

func rowsOf(rows []models.Alert) []admin.AlertRow {
	list := make([]admin.AlertRow, len(rows))
	for i, a := range rows {
		list[i] = admin.AlertRow{Title: alerts.Title(a.Rule), Object: a.Object, Project: a.Project, Detail: a.Detail, URL: urlOf(&a), Since: a.Since, ResolvedAt: a.ResolvedAt}
	}
	return list
}

// urlOf returns the page on which the problem can be solved, or "".
func urlOf(a *models.Alert) string {
	switch a.Rule {
	case alerts.ServerDown:
		return paths.Server(a.Project, a.Subject)
	case alerts.ConnectionNeeded:
		return paths.Connection(a.Subject)
	case alerts.FailingCalls, alerts.SlowCalls:
		return paths.Project(a.Project) + "/activity"
	case alerts.KeyExpiring:
		return paths.Key(a.Project, a.Subject)
	}
	return ""
}

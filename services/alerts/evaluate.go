package alerts

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
	"mcpgateway/services/outbox"
)

// Interval is the time between two evaluations.
const Interval = 30 * time.Second

// maxFindings is the maximum number of findings of a rule. It limits the alerts of
// an outage of everything.
const maxFindings = 1_000

// Check returns the findings of a rule: those of objects that are not Clear.
type Check func(ctx context.Context, rule *Rule, now time.Time) ([]Finding, error)

// Events stores events for destinations. Implemented by outbox.Events.
type Events interface {
	Add(tx *gorm.DB, events ...outbox.Event) error
}

// EvaluatorOptions configure an Evaluator.
type EvaluatorOptions struct {
	Store  *Store
	Checks map[string]Check // by rule; rules without one find nothing
	Events Events
	Mail   *Announcer
	Log    *slog.Logger
}

// Evaluator evaluates the rules.
type Evaluator struct{ EvaluatorOptions }

// NewEvaluator returns the Evaluator.
func NewEvaluator(o EvaluatorOptions) *Evaluator { return &Evaluator{o} }

// Run evaluates the rules until the context ends. One replica runs it.
func (e *Evaluator) Run(ctx context.Context) {
	tick := time.NewTicker(Interval)
	defer tick.Stop()
	for {
		if err := e.Evaluate(ctx); err != nil && ctx.Err() == nil {
			e.Log.Warn("alerts not evaluated", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Evaluate evaluates all rules once and sends the mail that is due. A failed check
// leaves the alerts of its rule unchanged and doesn't stop the others; the error
// joins the failures.
func (e *Evaluator) Evaluate(ctx context.Context) error {
	rules, err := e.Store.Rules(ctx)
	if err != nil {
		return err
	}
	open, err := e.Store.list(e.Store.db.WithContext(ctx).Where("state <> ?", models.AlertResolved))
	if err != nil {
		return err
	}
	byRule := map[string]map[string]*models.Alert{}
	for i := range open {
		a := &open[i]
		if byRule[a.Rule] == nil {
			byRule[a.Rule] = map[string]*models.Alert{}
		}
		byRule[a.Rule][a.Subject] = a
	}
	var problems []error
	for i := range rules {
		problems = append(problems, e.evaluate(ctx, &rules[i], byRule[rules[i].ID]))
	}
	return errors.Join(append(problems, e.Mail.Announce(ctx))...)
}

// change is the change of an alert. alert is its row after the change.
type change struct {
	step  step
	alert models.Alert
}

// evaluate evaluates one rule. open are its alerts that aren't resolved, by
// subject.
func (e *Evaluator) evaluate(ctx context.Context, rule *Rule, open map[string]*models.Alert) error {
	now := e.Store.now()
	var findings []Finding
	if check := e.Checks[rule.ID]; check != nil && rule.Enabled {
		var err error
		if findings, err = check(ctx, rule, now); err != nil {
			return err
		}
	}
	var changes []change
	found := map[string]bool{}
	for _, f := range findings[:min(len(findings), maxFindings)] {
		found[f.Subject] = true
		if f.Since.IsZero() || f.Since.After(now) {
			f.Since = now
		}
		a := open[f.Subject]
		changes = add(changes, next(a, f.Level, f.Since, now, rule.hold()), a, &f, rule.ID, now)
	}
	for subject, a := range open {
		if found[subject] {
			continue
		}
		how := next(a, Clear, now, now, 0)
		if !rule.Enabled && a.State == models.AlertFiring {
			how = resolve
		}
		changes = add(changes, how, a, nil, rule.ID, now)
	}
	return e.store(ctx, changes)
}

// add appends the change of an alert, if there is one.
func add(changes []change, how step, a *models.Alert, f *Finding, rule string, now time.Time) []change {
	if how == stay {
		return changes
	}
	c := change{step: how}
	if a != nil {
		c.alert = *a
	} else {
		c.alert = models.Alert{ID: uuid.Must(uuid.NewV7()).String(), Rule: rule, Subject: f.Subject, Since: f.Since, State: models.AlertPending}
	}
	if f != nil && how != improve {
		c.alert.Project, c.alert.Object, c.alert.Detail = f.Project, f.Object, f.Detail
	}
	switch how {
	case fire:
		c.alert.State, c.alert.FiredAt = models.AlertFiring, &now
	case worsen:
		c.alert.ClearSince = nil
	case improve:
		c.alert.ClearSince = &now
	case resolve:
		c.alert.State, c.alert.ResolvedAt = models.AlertResolved, &now
	}
	return append(changes, c)
}

// store stores changes with their events in one transaction. Changes that another
// replica has made are left out.
func (e *Evaluator) store(ctx context.Context, changes []change) error {
	if len(changes) == 0 {
		return nil
	}
	shown := false
	err := e.Store.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		shown = false
		var events []outbox.Event
		for i := range changes {
			c := &changes[i]
			made, err := c.store(tx)
			if err != nil || !made {
				if err != nil {
					return err
				}
				continue
			}
			switch c.step {
			case fire:
				events = append(events, event(outbox.AlertFired, &c.alert))
			case resolve:
				events = append(events, event(outbox.AlertResolved, &c.alert))
			default:
				continue
			}
			shown = true
		}
		if !shown {
			return nil
		}
		if err := e.Events.Add(tx, events...); err != nil {
			return err
		}
		return notify.Touch(tx, notify.Alerts())
	})
	if err != nil {
		return fault.From(err)
	}
	if !shown {
		return nil
	}
	return e.Store.feed.Publish(ctx, notify.Alerts())
}

// store writes the change and reports whether this replica made it.
func (c *change) store(tx *gorm.DB) (made bool, err error) {
	a := &c.alert
	before := models.AlertFiring
	switch c.step {
	case forget:
		done := tx.Delete(&models.Alert{}, "id = ? AND state = ?", a.ID, models.AlertPending)
		return done.RowsAffected == 1, done.Error
	case begin:
		done := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(a)
		return done.RowsAffected == 1, done.Error
	case fire:
		done := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(a)
		if done.Error != nil || done.RowsAffected == 1 {
			return done.RowsAffected == 1, done.Error
		}
		before = models.AlertPending
	}
	done := tx.Model(&models.Alert{}).Where("id = ? AND state = ?", a.ID, before).Select("*").Omit("id", "mailed").Updates(a)
	return done.RowsAffected == 1, done.Error
}

// eventData is the data of an alert's event.
type eventData struct {
	ID         string     `json:"id"`
	Rule       string     `json:"rule"`
	Title      string     `json:"title"`
	Object     string     `json:"object"`
	Subject    string     `json:"subject"`
	Project    string     `json:"projectSlug"`
	Detail     string     `json:"detail"`
	Since      time.Time  `json:"since"`
	FiredAt    *time.Time `json:"firedAt"`
	ResolvedAt *time.Time `json:"resolvedAt"`
}

func event(kind string, a *models.Alert) outbox.Event {
	return outbox.Event{Kind: kind, Project: a.Project, Data: eventData{
		ID: a.ID, Rule: a.Rule, Title: Title(a.Rule), Object: a.Object, Subject: a.Subject, Project: a.Project, Detail: a.Detail,
		Since: a.Since, FiredAt: a.FiredAt, ResolvedAt: a.ResolvedAt,
	}}
}

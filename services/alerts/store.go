package alerts

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
)

// Limits of stored alerts.
const (
	// Retention is the maximum age of resolved alerts.
	Retention = 30 * 24 * time.Hour
	// MaxListed is the maximum number of resolved alerts in a list.
	MaxListed = 100
)

// Auditor records a change in the writer's transaction.
type Auditor interface {
	Record(tx *gorm.DB, e activity.Entry) error
}

// Publisher notifies all processes of committed changes.
type Publisher interface {
	Publish(ctx context.Context, topics ...notify.Topic) error
}

// Store has the rules and the alerts. It is safe for concurrent use.
type Store struct {
	db    *gorm.DB
	audit Auditor
	feed  Publisher
	now   func() time.Time
}

// NewStore returns the Store of the database.
func NewStore(db *gorm.DB, audit Auditor, feed Publisher, now func() time.Time) *Store {
	return &Store{db: db, audit: audit, feed: feed, now: now}
}

// Rules returns all rules with their settings.
func (s *Store) Rules(ctx context.Context) ([]Rule, error) {
	var rows []models.AlertRule
	if err := s.db.WithContext(ctx).Find(&rows).Error; err != nil {
		return nil, fault.Internal(err)
	}
	rules := Builtin()
	for _, row := range rows {
		i := slices.IndexFunc(rules, func(r Rule) bool { return r.ID == row.ID })
		if i < 0 {
			continue // of another release
		}
		if err := rules[i].apply(row); err != nil {
			return nil, fault.Internal(err)
		}
	}
	return rules, nil
}

// RuleChange are the settings of a rule to change. Nil and missing ones stay.
type RuleChange struct {
	Enabled    *bool
	Thresholds map[string]int
}

// ChangeRule changes a rule, records it and returns the rule. It returns NOT_FOUND
// for an unknown rule, and VALIDATION_FAILED for unknown thresholds and values
// outside of their limits.
func (s *Store) ChangeRule(ctx context.Context, id string, change RuleChange) (Rule, error) {
	rule, ok := builtin(id)
	if !ok {
		return Rule{}, fault.NotFound("alert rule", id)
	}
	if err := rule.check(change.Thresholds); err != nil {
		return Rule{}, err
	}
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		var rows []models.AlertRule
		if err := tx.Clauses(models.LockRow(tx)...).Limit(1).Find(&rows, "id = ?", id).Error; err != nil {
			return err
		}
		for _, row := range rows {
			if err := rule.apply(row); err != nil {
				return err
			}
		}
		before := rule.settings()
		if change.Enabled != nil {
			rule.Enabled = *change.Enabled
		}
		maps.Copy(rule.Values, change.Thresholds)
		after := rule.settings()
		if before == after {
			return nil
		}
		thresholds, err := json.Marshal(rule.Values)
		if err != nil {
			return err
		}
		row := models.AlertRule{ID: id, Enabled: rule.Enabled, Thresholds: string(thresholds), UpdatedAt: s.now()}
		if err := tx.Clauses(clause.OnConflict{UpdateAll: true}).Create(&row).Error; err != nil {
			return err
		}
		return s.audit.Record(tx, activity.Entry{Action: "alert.rule_changed", Object: rule.ID, ObjectID: rule.ID, Detail: map[string]string{"from": before, "to": after}})
	})
	if err != nil {
		return Rule{}, fault.From(err)
	}
	return rule, nil
}

// check returns VALIDATION_FAILED for thresholds that the rule doesn't have and
// values outside of their limits.
func (r *Rule) check(values map[string]int) error {
	problems := map[string]string{}
	for name, value := range values {
		i := slices.IndexFunc(r.Thresholds, func(t Threshold) bool { return t.Name == name })
		if i < 0 {
			problems["thresholds."+name] = "unknown threshold"
		} else if t := r.Thresholds[i]; value < t.Min || value > t.Max {
			problems["thresholds."+name] = fmt.Sprintf("use a number from %d to %d", t.Min, t.Max)
		}
	}
	if len(problems) > 0 {
		return fault.Validation(problems)
	}
	return nil
}

// settings describes the settings of a rule, such as "on, minutes 2".
func (r *Rule) settings() string {
	words := []string{map[bool]string{true: "on", false: "off"}[r.Enabled]}
	for _, t := range r.Thresholds {
		words = append(words, t.Name+" "+strconv.Itoa(r.Values[t.Name]))
	}
	return strings.Join(words, ", ")
}

// Firing returns the firing alerts, newest first.
func (s *Store) Firing(ctx context.Context) ([]models.Alert, error) {
	return s.list(s.db.WithContext(ctx).Where("state = ?", models.AlertFiring).Order("fired_at DESC, id DESC"))
}

// Recent returns the resolved alerts, newest first, at most MaxListed.
func (s *Store) Recent(ctx context.Context) ([]models.Alert, error) {
	return s.list(s.db.WithContext(ctx).Where("state = ?", models.AlertResolved).Order("resolved_at DESC, id DESC").Limit(MaxListed))
}

func (s *Store) list(query *gorm.DB) ([]models.Alert, error) {
	var rows []models.Alert
	if err := query.Find(&rows).Error; err != nil {
		return nil, fault.Internal(err)
	}
	return rows, nil
}

// Sweep deletes alerts that were resolved more than Retention ago. It is safe to
// run in several processes at once.
func (s *Store) Sweep(ctx context.Context) error {
	err := s.db.WithContext(ctx).Delete(&models.Alert{}, "resolved_at <= ?", s.now().Add(-Retention)).Error
	if err != nil {
		return fault.Internal(err)
	}
	return nil
}

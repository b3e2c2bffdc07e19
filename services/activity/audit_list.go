package activity

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/fault"
)

// MaxListed is the maximum number of rows that List returns.
const MaxListed = 1000

// Filter selects rows of the audit log. Empty fields match all. Times are
// compared in milliseconds: Since is inclusive, Until is exclusive.
type Filter struct {
	Actor   string // kind, id or name of the actor
	Action  string // "key.created", or "key" for every action on keys
	Object  string // name or id of the object
	Project string // slug
	// Projects are the ids of the projects whose rows are returned, none from
	// before the project was created. nil means every row.
	Projects []string
	Since    time.Time
	Until    time.Time
}

// List returns at most limit matching rows, newest first, with numbers below
// before; 0 starts with the newest. next is the before of the next page, or 0
// on the last. New rows don't shift pages. It returns INVALID_PARAMETER for a
// filter field that no row can have and for a limit outside 1 to MaxListed.
func (a *Audit) List(ctx context.Context, f Filter, before int64, limit int) (rows []models.AuditEntry, next int64, err error) {
	if limit < 1 || limit > MaxListed {
		return nil, 0, fault.Invalid("limit must be an integer from 1 to %d.", MaxListed)
	}
	query, err := a.matching(ctx, f)
	if err != nil {
		return nil, 0, err
	}
	if before > 0 {
		query = query.Where("seq < ?", before)
	}
	if err := query.Order("seq DESC").Limit(limit + 1).Find(&rows).Error; err != nil {
		return nil, 0, fault.Internal(err)
	}
	if len(rows) > limit {
		rows = rows[:limit]
		next = rows[limit-1].Seq
	}
	return rows, next, nil
}

// Between returns at most limit matching rows with numbers above after, up to and
// with through, oldest first. It returns the faults of List.
func (a *Audit) Between(ctx context.Context, f Filter, after, through int64, limit int) (rows []models.AuditEntry, err error) {
	query, err := a.matching(ctx, f)
	if err != nil {
		return nil, err
	}
	if err := query.Where("seq > ? AND seq <= ?", after, through).Order("seq").Limit(limit).Find(&rows).Error; err != nil {
		return nil, fault.Internal(err)
	}
	return rows, nil
}

// Count returns the number of matching rows, at most most. It returns the faults
// of List.
func (a *Audit) Count(ctx context.Context, f Filter, most int) (int, error) {
	query, err := a.matching(ctx, f)
	if err != nil {
		return 0, err
	}
	return countUpTo(a.db.WithContext(ctx), query.Model(&models.AuditEntry{}), most)
}

// countUpTo returns the number of rows of a query, at most most. It reads no
// further rows.
func countUpTo(db, query *gorm.DB, most int) (int, error) {
	var n int64
	if err := db.Table("(?) AS counted", query.Select("1").Limit(most)).Count(&n).Error; err != nil {
		return 0, fault.Internal(err)
	}
	return int(n), nil
}

func (a *Audit) matching(ctx context.Context, f Filter) (*gorm.DB, error) {
	query := a.db.WithContext(ctx)
	for _, field := range []struct{ name, value, condition string }{
		{"actor", f.Actor, "@value IN (actor_kind, actor_id, actor_name)"},
		{"action", f.Action, "(action = @value OR substr(action, 1, length(@prefix)) = @prefix)"},
		{"object", f.Object, "@value IN (object, object_id)"},
		{"project", f.Project, "project = @value"},
	} {
		if field.value == "" {
			continue
		}
		if utf8.RuneCountInString(field.value) > MaxField || !utf8.ValidString(field.value) || strings.ContainsRune(field.value, 0) {
			return nil, fault.Invalid("%s must be text of at most %d characters.", field.name, MaxField)
		}
		query = query.Where(field.condition, map[string]any{"value": field.value, "prefix": field.value + "."})
	}
	if f.Projects != nil {
		query = query.Where("EXISTS (SELECT 1 FROM projects p WHERE p.slug = project AND p.created_at <= at AND p.id IN ?)", f.Projects)
	}
	if !f.Since.IsZero() {
		query = query.Where("at >= ?", f.Since.UTC())
	}
	if !f.Until.IsZero() {
		query = query.Where("at < ?", f.Until.UTC())
	}
	return query, nil
}

package activity

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"mcpgateway/models"
	"mcpgateway/services/fault"
)

// MaxListed is the most rows that one call of List returns.
const MaxListed = 1000

// Filter chooses rows of the audit log; empty fields choose all. Times are
// compared as stored, in milliseconds: Since is included, Until is not.
type Filter struct {
	Actor   string // kind, id or name of the actor
	Action  string // "key.created", or "key" for every action on keys
	Object  string // name or id of what was acted on
	Project string // slug
	Since   time.Time
	Until   time.Time
}

// List returns at most limit rows that match, the newest first, beginning
// below the row number before; 0 begins with the newest of all. next is the
// before of the following page, or 0 when no row follows. Rows that are added
// meanwhile move nothing. It returns INVALID_PARAMETER for a field of the
// filter that no row can have and for a limit out of 1 to MaxListed.
func (a *Audit) List(ctx context.Context, f Filter, before int64, limit int) (rows []models.AuditEntry, next int64, err error) {
	if limit < 1 || limit > MaxListed {
		return nil, 0, fault.Invalid("limit must be a whole number from 1 to %d", MaxListed)
	}
	query := a.db.WithContext(ctx).Order("seq DESC").Limit(limit + 1)
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
			return nil, 0, fault.Invalid("%s must be at most %d characters of text", field.name, MaxField)
		}
		query = query.Where(field.condition, map[string]any{"value": field.value, "prefix": field.value + "."})
	}
	if !f.Since.IsZero() {
		query = query.Where("at >= ?", f.Since.UTC())
	}
	if !f.Until.IsZero() {
		query = query.Where("at < ?", f.Until.UTC())
	}
	if before > 0 {
		query = query.Where("seq < ?", before)
	}
	if err := query.Find(&rows).Error; err != nil {
		return nil, 0, fault.Internal(err)
	}
	if len(rows) > limit {
		rows = rows[:limit]
		next = rows[limit-1].Seq
	}
	return rows, next, nil
}

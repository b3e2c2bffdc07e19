package activity

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/fault"
)

// CallFilter selects calls. Empty fields match all.
type CallFilter struct {
	ProjectID string
	Projects  []string // ids; nil means every project
	Principal string
	Tool      string // exact
	Server    string // alias
	Outcome   models.Outcome
	Since     time.Time // inclusive
	Until     time.Time // exclusive
	// Clauses must all match.
	Clauses []CallClause
}

// Get returns a call of the project, or NOT_FOUND.
func (c *Calls) Get(ctx context.Context, projectID, id string) (models.Call, error) {
	if utf8.RuneCountInString(id) > MaxField || !utf8.ValidString(id) || strings.ContainsRune(id, 0) {
		return models.Call{}, fault.NotFound("call", "of this URL")
	}
	var call models.Call
	err := c.db.WithContext(ctx).First(&call, "id = ? AND project_id = ?", id, projectID).Error
	switch {
	case errors.Is(err, gorm.ErrRecordNotFound):
		return models.Call{}, fault.NotFound("call", id)
	case err != nil:
		return models.Call{}, fault.Internal(err)
	}
	return call, nil
}

// List returns at most limit matching calls, newest first, with ids below
// before; "" starts with the newest. next is the before of the next page, or ""
// on the last. It returns INVALID_PARAMETER for a limit outside 1 to MaxListed
// and for a text that no call can have.
func (c *Calls) List(ctx context.Context, f CallFilter, before string, limit int) (calls []models.Call, next string, err error) {
	if limit < 1 || limit > MaxListed {
		return nil, "", fault.Invalid("limit must be an integer from 1 to %d.", MaxListed)
	}
	query, err := c.matching(ctx, f)
	if err != nil {
		return nil, "", err
	}
	if before != "" {
		query = query.Where("id < ?", before)
	}
	if err := query.Order("id DESC").Limit(limit + 1).Find(&calls).Error; err != nil {
		return nil, "", fault.Internal(err)
	}
	if len(calls) > limit {
		calls = calls[:limit]
		next = calls[limit-1].ID
	}
	return calls, next, nil
}

// After returns the newest matching calls after the id, newest first and at most
// limit, for a page that follows the log. It returns the faults of List.
func (c *Calls) After(ctx context.Context, f CallFilter, after string, limit int) ([]models.Call, error) {
	query, err := c.matching(ctx, f)
	if err != nil {
		return nil, err
	}
	var calls []models.Call
	if err := query.Where("id > ?", after).Order("id DESC").Limit(limit).Find(&calls).Error; err != nil {
		return nil, fault.Internal(err)
	}
	return calls, nil
}

// Between returns at most limit matching calls with ids above after, up to and with
// through, oldest first. It returns the faults of List.
func (c *Calls) Between(ctx context.Context, f CallFilter, after, through string, limit int) (calls []models.Call, err error) {
	query, err := c.matching(ctx, f)
	if err != nil {
		return nil, err
	}
	if err := query.Where("id > ? AND id <= ?", after, through).Order("id").Limit(limit).Find(&calls).Error; err != nil {
		return nil, fault.Internal(err)
	}
	return calls, nil
}

// Count returns the number of matching calls, at most most. It returns the faults
// of List.
func (c *Calls) Count(ctx context.Context, f CallFilter, most int) (int, error) {
	query, err := c.matching(ctx, f)
	if err != nil {
		return 0, err
	}
	return countUpTo(c.db.WithContext(ctx), query, most)
}

// First returns the oldest matching call, or nil without one. It returns the
// faults of List.
func (c *Calls) First(ctx context.Context, f CallFilter) (*models.Call, error) {
	query, err := c.matching(ctx, f)
	if err != nil {
		return nil, err
	}
	var calls []models.Call
	if err := query.Order("id").Limit(1).Find(&calls).Error; err != nil {
		return nil, fault.Internal(err)
	}
	if len(calls) == 0 {
		return nil, nil
	}
	return &calls[0], nil
}

// Newest returns the id of the newest call of a project, or "0" without calls.
func (c *Calls) Newest(ctx context.Context, projectID string) (string, error) {
	var newest []string
	err := c.db.WithContext(ctx).Model(&models.Call{}).Where("project_id = ?", projectID).Order("id DESC").Limit(1).Pluck("id", &newest).Error
	if err != nil {
		return "", fault.Internal(err)
	}
	if len(newest) == 0 {
		return "0", nil
	}
	return newest[0], nil
}

func (c *Calls) matching(ctx context.Context, f CallFilter) (*gorm.DB, error) {
	return f.Where(c.db.WithContext(ctx).Model(&models.Call{}))
}

// Where adds the conditions of the filter to a query of calls. It returns
// INVALID_PARAMETER for a text that no call can have.
func (f CallFilter) Where(query *gorm.DB) (*gorm.DB, error) {
	for _, field := range []struct{ name, column, value string }{
		{"project", "project_id", f.ProjectID}, {"principal", "principal", f.Principal}, {"tool", "tool", f.Tool},
		{"server", "server", f.Server}, {"outcome", "outcome", string(f.Outcome)},
	} {
		switch {
		case field.value == "":
			continue
		case utf8.RuneCountInString(field.value) > MaxField || !utf8.ValidString(field.value) || strings.ContainsRune(field.value, 0):
			return nil, fault.Invalid("%s must be text of at most %d characters.", field.name, MaxField)
		}
		query = query.Where(field.column+" = ?", field.value)
	}
	if f.Projects != nil {
		query = query.Where("project_id IN ?", f.Projects)
	}
	if !f.Since.IsZero() {
		query = query.Where("at >= ?", f.Since.UTC()).Where("id >= ?", idsSince(f.Since))
	}
	if !f.Until.IsZero() {
		query = query.Where("at < ?", f.Until.UTC())
	}
	for _, clause := range f.Clauses {
		condition, values, err := clause.sql()
		if err != nil {
			return nil, err
		}
		query = query.Where(condition, values...)
	}
	return query, nil
}

// clockError is the tolerated backward adjustment of the clock between the
// start of a call and its write.
const clockError = time.Hour

// idsSince returns a lower bound of the ids of all calls since a time, so that
// the index of ids can be used. The time in an id (RFC 9562, section 5.7) is
// that of the write.
func idsSince(since time.Time) string {
	ms := max(0, since.Add(-clockError).UnixMilli())
	return fmt.Sprintf("%08x-%04x", ms>>16, ms&0xffff)
}

package quotas

import (
	"context"
	"encoding/json"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/fault"
)

// Used are the calls of one subject of a limit on this day.
type Used struct {
	Per   models.LimitPer
	Match string
	ID    string // of the key, user or toolset, the name of the tool, or "" for the project
	Calls int64
}

// Load reads the calls of this day, so that a restart doesn't allow them again.
// It returns a database error as a fault; requests must not be served then.
func (q *Quotas) Load(ctx context.Context) error {
	day := dayOf(q.now())
	var rows []models.QuotaUse
	if err := q.db.WithContext(ctx).Order("used DESC").Limit(q.max).Find(&rows, "day = ?", dayName(day)).Error; err != nil {
		return fault.Internal(err)
	}
	for i := range rows {
		if s, ok := subjectOf(&rows[i]); ok {
			c := q.counter(s)
			c.mu.Lock()
			c.daily, c.today = true, dayUse{day: day, seen: rows[i].Used}
			c.mu.Unlock()
		}
	}
	return nil
}

// Today returns the calls of this day that are counted against a project's
// limits, most calls first, at most max subjects. Calls of the last second may
// be missing. It returns a database error as a fault.
func (q *Quotas) Today(ctx context.Context, projectID string, max int) ([]Used, error) {
	var rows []models.QuotaUse
	err := q.db.WithContext(ctx).Order("used DESC, subject").Limit(max).Find(&rows, "project_id = ? AND day = ? AND used > 0", projectID, dayName(dayOf(q.now()))).Error
	if err != nil {
		return nil, fault.Internal(err)
	}
	used := make([]Used, 0, len(rows))
	for i := range rows {
		if s, ok := subjectOf(&rows[i]); ok {
			used = append(used, Used{s.per, s.match, s.id, rows[i].Used})
		}
	}
	return used, nil
}

// Sweep deletes the rows of days before yesterday. It returns a database error
// as a fault.
func (q *Quotas) Sweep(ctx context.Context) error {
	yesterday := dayName(dayOf(q.now().Add(-24 * time.Hour)))
	if err := q.db.WithContext(ctx).Where("day < ?", yesterday).Delete(&models.QuotaUse{}).Error; err != nil {
		return fault.Internal(err)
	}
	return nil
}

// rowKey identifies a row.
type rowKey struct{ project, subject, day string }

func (e *entry) key() rowKey { return rowKey{e.ProjectID, e.Subject, e.Day} }

// Statements with the entries as a JSON array. Rows are written in order of
// their keys, so that concurrent exchanges don't block each other.
const (
	// given reads the entries.
	given = `WITH given AS (SELECT * FROM jsonb_to_recordset(CAST(? AS jsonb)) AS g(project_id text, subject text, day text, n bigint))`
	// addPostgres adds new calls and returns the totals of all entries.
	addPostgres = given + `, added AS (INSERT INTO quota_use (project_id, subject, day, used)
	SELECT project_id, subject, day, n FROM given WHERE n <> 0 ORDER BY project_id, subject, day
	ON CONFLICT (project_id, subject, day) DO UPDATE SET used = quota_use.used + excluded.used
	RETURNING project_id, subject, day, used)
SELECT project_id, subject, day, used FROM added
UNION ALL SELECT q.project_id, q.subject, q.day, q.used FROM quota_use q JOIN given g ON q.project_id = g.project_id AND q.subject = g.subject AND q.day = g.day WHERE g.n = 0`
	totalsPostgres = given + `
SELECT q.project_id, q.subject, q.day, q.used FROM quota_use q JOIN given g ON q.project_id = g.project_id AND q.subject = g.subject AND q.day = g.day`
	// addSQLite adds new calls and returns the totals of their entries.
	addSQLite = `INSERT INTO quota_use (project_id, subject, day, used)
	SELECT value->>'project_id', value->>'subject', value->>'day', value->>'n' FROM json_each(?) WHERE value->>'n' <> 0
	ON CONFLICT (project_id, subject, day) DO UPDATE SET used = used + excluded.used
	RETURNING project_id, subject, day, used`
	totalsSQLite = `SELECT q.project_id, q.subject, q.day, q.used FROM json_each(?) g JOIN quota_use q
	ON q.project_id = g.value->>'project_id' AND q.subject = g.value->>'subject' AND q.day = g.value->>'day'`
)

// store adds the new calls of the entries and returns the totals. If the
// connection fails after the commit, the calls are counted twice: too many
// rather than too few.
func (q *Quotas) store(ctx context.Context, entries []entry) (map[rowKey]int64, error) {
	if q.db.Name() == "postgres" {
		return q.query(ctx, addPostgres, entries)
	}
	var add, read []entry // SQLite can't insert and select in one statement
	for _, e := range entries {
		if e.New != 0 {
			add = append(add, e)
		} else {
			read = append(read, e)
		}
	}
	totals, err := q.query(ctx, addSQLite, add)
	if err != nil || len(read) == 0 {
		return totals, err
	}
	more, err := q.query(ctx, totalsSQLite, read)
	if err != nil {
		return nil, err
	}
	for key, total := range more {
		totals[key] = total
	}
	return totals, nil
}

// totals returns the stored totals of the entries.
func (q *Quotas) totals(ctx context.Context, entries []entry) (map[rowKey]int64, error) {
	if q.db.Name() == "postgres" {
		return q.query(ctx, totalsPostgres, entries)
	}
	return q.query(ctx, totalsSQLite, entries)
}

func (q *Quotas) query(ctx context.Context, statement string, entries []entry) (map[rowKey]int64, error) {
	totals := make(map[rowKey]int64, len(entries))
	if len(entries) == 0 {
		return totals, nil
	}
	given, err := json.Marshal(entries)
	if err != nil {
		return nil, err
	}
	var rows []models.QuotaUse
	if err := q.db.WithContext(ctx).Raw(statement, string(given)).Scan(&rows).Error; err != nil {
		return nil, err
	}
	for _, row := range rows {
		totals[rowKey{row.ProjectID, row.Subject, row.Day}] = row.Used
	}
	return totals, nil
}

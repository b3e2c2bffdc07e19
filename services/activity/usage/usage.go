// Package usage computes the calls, failures and bytes of projects by day, tool,
// key, person and toolset. It reads the daily numbers that the call log writes
// with each batch of calls, so its cost depends on days, tools and callers and not
// on calls.
package usage

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
)

// Limits of a report.
const (
	// MaxDays is the maximum number of days of a period.
	MaxDays = 366
	// MaxRows is the maximum number of tools, keys, people and toolsets of a report,
	// each. Those with the most calls are included.
	MaxRows = 500
)

// Store reads the numbers. It is safe for concurrent use.
type Store struct {
	db  *gorm.DB
	now func() time.Time
}

// New returns a Store of the database.
func New(db *gorm.DB, now func() time.Time) *Store { return &Store{db: db, now: now} }

// Period is a range of days in UTC.
type Period struct {
	From, To time.Time // midnights; To is the last day
}

// LastDays returns the period of n days that ends today.
func LastDays(n int, now time.Time) Period {
	today := midnight(now)
	return Period{From: today.AddDate(0, 0, 1-n), To: today}
}

// Between returns the period of two days, such as 2026-11-23. It returns
// INVALID_PARAMETER for other texts and for a period that is empty or longer than
// MaxDays.
func Between(from, to string) (Period, error) {
	first, err := time.Parse(activity.UsageDayFormat, from)
	last, also := time.Parse(activity.UsageDayFormat, to)
	if err != nil || also != nil {
		return Period{}, fault.Invalid("from and to must be days such as 2027-01-31.")
	}
	p := Period{From: first, To: last}
	if n := p.Days(); n < 1 || n > MaxDays {
		return Period{}, fault.Invalid("A period must have 1 to %d days.", MaxDays)
	}
	return p, nil
}

// Days returns the number of days.
func (p Period) Days() int { return int(p.To.Sub(p.From)/(24*time.Hour)) + 1 }

// First returns the first day as a text.
func (p Period) First() string { return p.From.Format(activity.UsageDayFormat) }

// Last returns the last day as a text.
func (p Period) Last() string { return p.To.Format(activity.UsageDayFormat) }

func midnight(at time.Time) time.Time { return at.UTC().Truncate(24 * time.Hour) }

// Numbers are those of some calls.
type Numbers struct {
	Calls         int64 `json:"calls"`
	Failed        int64 `json:"failed"` // with an error, or a result with isError
	RequestBytes  int64 `json:"requestBytes"`
	ResponseBytes int64 `json:"responseBytes"`
}

func (n *Numbers) add(m Numbers) {
	n.Calls += m.Calls
	n.Failed += m.Failed
	n.RequestBytes += m.RequestBytes
	n.ResponseBytes += m.ResponseBytes
}

// Row are the numbers of one tool, caller, person or toolset.
type Row struct {
	// Name is the name of a tool, the principal of a caller, the ID of a person or
	// the slug of a toolset. An empty name stands for unknown tools, or for the
	// project's own endpoint.
	Name   string
	Server string // alias, of tools
	Numbers
}

// Day are the numbers of one day.
type Day struct {
	Day time.Time // midnight
	Numbers
}

// Report are the numbers of a period. Rows are ordered by calls, most first.
type Report struct {
	Totals   Numbers
	Days     []Day // all days, oldest first
	Tools    []Row
	Keys     []Row // and the callers without credentials
	People   []Row
	Toolsets []Row
	// Cut reports whether a list has more rows than MaxRows.
	Cut bool
}

const sums = "SUM(calls) AS calls, SUM(failed) AS failed, SUM(request_bytes) AS request_bytes, SUM(response_bytes) AS response_bytes"

// Report returns the numbers of a project in a period. Calls of the last second
// may be missing.
func (s *Store) Report(ctx context.Context, projectID string, p Period) (*Report, error) {
	r := &Report{}
	if err := s.days(ctx, r, projectID, p); err != nil {
		return nil, err
	}
	// The days of each tool and caller are summed up once for all lists.
	sum := "WITH callers AS (?)"
	callers := s.of(ctx, p).Where("project_id = ?", projectID).Select("server, tool, principal, toolset, user_id, " + sums).Group("server, tool, principal, toolset, user_id")
	lists := []struct {
		rows                   *[]Row
		columns, where, groups string
	}{
		{&r.Tools, "tool AS name, server", "1 = 1", "server, tool"},
		{&r.Keys, "principal AS name, '' AS server", "substr(principal, 1, 5) <> 'user:'", "principal"},
		{&r.People, "user_id AS name, '' AS server", "user_id <> ''", "user_id"},
		{&r.Toolsets, "toolset AS name, '' AS server", "1 = 1", "toolset"},
	}
	for i, list := range lists {
		if i > 0 {
			sum += " UNION ALL"
		}
		sum += fmt.Sprintf(" SELECT * FROM (SELECT %d AS list, %s, %s FROM callers WHERE %s GROUP BY %s ORDER BY SUM(calls) DESC, %s LIMIT %d) AS list%[1]d",
			i, list.columns, sums, list.where, list.groups, list.groups, MaxRows+1)
	}
	sum += " ORDER BY list, calls DESC, server, name"
	var found []struct {
		List int
		Row
	}
	if err := s.db.WithContext(ctx).Raw(sum, callers).Scan(&found).Error; err != nil {
		return nil, fault.Internal(err)
	}
	for _, row := range found {
		if rows := lists[row.List].rows; len(*rows) < MaxRows {
			*rows = append(*rows, row.Row)
		} else {
			r.Cut = true
		}
	}
	return r, nil
}

// days sets the days and the totals.
func (s *Store) days(ctx context.Context, r *Report, projectID string, p Period) error {
	var found []struct {
		Day string
		Numbers
	}
	if err := s.of(ctx, p).Where("project_id = ?", projectID).Select("day, " + sums).Group("day").Scan(&found).Error; err != nil {
		return fault.Internal(err)
	}
	of := map[string]Numbers{}
	for _, day := range found {
		of[day.Day] = day.Numbers
		r.Totals.add(day.Numbers)
	}
	for i := range p.Days() {
		day := p.From.AddDate(0, 0, i)
		r.Days = append(r.Days, Day{Day: day, Numbers: of[day.Format(activity.UsageDayFormat)]})
	}
	return nil
}

// Projects returns the numbers of a period by the ID of the project, for projects
// with calls.
func (s *Store) Projects(ctx context.Context, p Period) (map[string]Numbers, error) {
	var rows []struct {
		ProjectID string
		Numbers
	}
	if err := s.of(ctx, p).Select("project_id, " + sums).Group("project_id").Scan(&rows).Error; err != nil {
		return nil, fault.Internal(err)
	}
	all := make(map[string]Numbers, len(rows))
	for _, row := range rows {
		all[row.ProjectID] = row.Numbers
	}
	return all, nil
}

func (s *Store) of(ctx context.Context, p Period) *gorm.DB {
	return s.db.WithContext(ctx).Model(&models.UsageDay{}).Where("day BETWEEN ? AND ?", p.First(), p.Last())
}

// Sweep deletes the numbers of days before activity.UsageRetention. It returns a
// database error as a fault.
func (s *Store) Sweep(ctx context.Context) error {
	before := s.now().UTC().Add(-activity.UsageRetention).Format(activity.UsageDayFormat)
	if err := s.db.WithContext(ctx).Where("day < ?", before).Delete(&models.UsageDay{}).Error; err != nil {
		return fault.Internal(err)
	}
	return nil
}

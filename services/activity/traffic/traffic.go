// Package traffic computes numbers and time series of the call log: calls,
// failures, callers and latencies by period, tool, server, caller and project.
//
// The database aggregates calls into buckets and logarithmic latency classes,
// so that memory depends on the number of buckets and not of calls. Percentiles
// are those of the classes and differ from the exact ones by at most 5 %.
// Latencies are those of calls with a result. Cancelled calls are not failed.
package traffic

import (
	"context"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
)

// Limits of a query.
const (
	MaxBuckets = 1_000 // of a period
	MaxRows    = 100   // of a list
)

// Store reads the call log. It is safe for concurrent use.
type Store struct {
	db     *gorm.DB
	now    func() time.Time
	recent *recent
}

// New returns a Store of the database.
func New(db *gorm.DB, now func() time.Time) *Store {
	return &Store{db: db, now: now, recent: newRecent()}
}

// Filter selects calls. Empty fields match all.
type Filter struct {
	ProjectID string
	Server    string // alias, activity.ServerBuiltin or activity.ServerNone
	Tool      string
	Caller    string // principal
	// Clauses must all match.
	Clauses []activity.CallClause
}

// Totals are the numbers of a period.
type Totals struct {
	Calls, Failed, Callers int
	P50, P95, P99          time.Duration // 0 without results
	// Missing reports whether the period starts before the oldest stored call,
	// so that its numbers may be too low.
	Missing bool
}

// Bucket are the numbers of one step of a period.
type Bucket struct {
	Start                  time.Time
	Calls, Failed, Callers int
	P50, P95, P99          time.Duration // 0 without results
	Partial                bool          // ends in the future
	Missing                bool          // ends before the oldest stored call
}

// matching returns the query of the calls in a span.
func (s *Store) matching(ctx context.Context, f Filter, x span) (*gorm.DB, error) {
	filter := activity.CallFilter{ProjectID: f.ProjectID, Tool: f.Tool, Principal: f.Caller, Since: x.from, Until: x.to, Clauses: f.Clauses}
	if f.Server != "" {
		filter.Clauses = append([]activity.CallClause{{Field: activity.CallServer, Values: []string{f.Server}}}, filter.Clauses...)
	}
	query, err := filter.Where(s.db.WithContext(ctx).Model(&models.Call{}))
	if err == nil && x.skipFrom.Before(x.skipTo) {
		query = query.Where("(at < ? OR at >= ?)", x.skipFrom, x.skipTo)
	}
	return query, err
}

// oldest returns the time of the oldest stored call, or now without calls.
func (s *Store) oldest(ctx context.Context) (time.Time, error) {
	var calls []models.Call
	if err := s.db.WithContext(ctx).Select("at").Order("id").Limit(1).Find(&calls).Error; err != nil {
		return time.Time{}, fault.Internal(err)
	}
	if len(calls) == 0 {
		return s.now(), nil
	}
	return calls[0].At, nil
}

// bucketColumn returns the SQL of a call's position in a span.
func (s *Store) bucketColumn(x span) (column string, values []any) {
	step := int64(x.step / time.Second)
	if s.db.Name() == "sqlite" {
		return "(unixepoch(at) - ?) / ?", []any{x.from.Unix(), step}
	}
	return "CAST(floor((date_part('epoch', at) - ?) / ?) AS bigint)", []any{x.from.Unix(), step}
}

const (
	failedSQL = "outcome IN ('" + string(models.CallFailed) + "', '" + string(models.CallToolError) + "')"
	timedSQL  = "outcome IN ('" + string(models.CallOK) + "', '" + string(models.CallToolError) + "')"
	countsSQL = "COUNT(*) AS calls, SUM(CASE WHEN " + failedSQL + " THEN 1 ELSE 0 END) AS failed, SUM(CASE WHEN " + timedSQL + " THEN 1 ELSE 0 END) AS timed"
)

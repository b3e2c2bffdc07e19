package traffic

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
)

// By is a property that Top groups calls by.
type By string

// The properties. ByServer groups by activity.ServerOf with aliases in lower
// case, ByCaller by principal.
const (
	ByTool   By = "tool"
	ByServer By = "server"
	ByCaller By = "principal"
)

// column returns the SQL of the property.
func (b By) column() (string, error) {
	switch b {
	case ByTool, ByCaller:
		return string(b), nil
	case ByServer:
		return activity.ServerColumn, nil
	}
	return "", fault.Invalid("Unknown property %q.", b)
}

// Row are the numbers of a tool, server or caller.
type Row struct {
	Name          string
	Calls, Failed int
	P50, P95      time.Duration // 0 without results
	Last          time.Time     // of the newest call
}

// Top returns the rows with the most calls, most first. It returns
// INVALID_PARAMETER for a limit outside 1 to MaxRows, and the faults of Series.
func (s *Store) Top(ctx context.Context, f Filter, p Period, by By, limit int) ([]Row, error) {
	return s.ranked(ctx, f, p, by, "total", limit)
}

// Failing returns the rows with the most failed calls, most first, and then
// those with the most calls. It returns the faults of Top.
func (s *Store) Failing(ctx context.Context, f Filter, p Period, by By, limit int) ([]Row, error) {
	return s.ranked(ctx, f, p, by, "total_failed DESC, total", limit)
}

func (s *Store) ranked(ctx context.Context, f Filter, p Period, by By, order string, limit int) ([]Row, error) {
	key := keyOf("rows", f, p, fmt.Sprintf("%s %s %d", by, order, limit))
	return shared(ctx, s.recent, key, func(ctx context.Context) ([]Row, error) { return s.rank(ctx, f, p, by, order, limit) })
}

// rank returns the first rows in descending order of the columns. The database
// ranks them, because clients choose the names of unknown tools.
func (s *Store) rank(ctx context.Context, f Filter, p Period, by By, order string, limit int) ([]Row, error) {
	column, err := by.column()
	if err != nil {
		return nil, err
	}
	if err := checkList(p, limit); err != nil {
		return nil, err
	}
	query, err := s.matching(ctx, f, p.span())
	if err != nil {
		return nil, err
	}
	counted := query.Select(column + " AS name, " + classColumn() + " AS class, " + countsSQL + ", MAX(at) AS last").Group("name, class")
	summed := s.db.Table("(?) AS counted", counted).
		Select("counted.*, SUM(calls) OVER (PARTITION BY name) AS total, SUM(failed) OVER (PARTITION BY name) AS total_failed")
	placed := s.db.Table("(?) AS summed", summed).Select("summed.*, DENSE_RANK() OVER (ORDER BY " + order + " DESC, name) AS place")
	rows, err := s.db.WithContext(ctx).Table("(?) AS placed", placed).Select("name, class, calls, failed, timed, last").
		Where("place <= ?", limit).Order("place").Rows()
	if err != nil {
		return nil, fault.Internal(err)
	}
	defer rows.Close()
	var list []Row
	var histograms []histogram
	for rows.Next() {
		var name string
		var class, calls, failed, timed int
		var last moment
		if err := rows.Scan(&name, &class, &calls, &failed, &timed, &last); err != nil {
			return nil, fault.Internal(err)
		}
		n := len(list) - 1
		if n < 0 || list[n].Name != name {
			list, histograms, n = append(list, Row{Name: name}), append(histograms, histogram{}), n+1
		}
		histograms[n].add(class, calls, failed, timed)
		if last.After(list[n].Last) {
			list[n].Last = last.Time
		}
	}
	if err := rows.Err(); err != nil {
		return nil, fault.Internal(err)
	}
	for i := range list {
		h := &histograms[i]
		list[i].Calls, list[i].Failed, list[i].P50, list[i].P95 = h.calls, h.failed, h.percentile(50), h.percentile(95)
	}
	return list, nil
}

func checkList(p Period, limit int) error {
	if limit < 1 || limit > MaxRows {
		return fault.Invalid("limit must be an integer from 1 to %d.", MaxRows)
	}
	return p.check()
}

// ErrorRow is a cause of failed calls of a tool.
type ErrorRow struct {
	Code, Tool  string // Code is empty if the tool reported the error
	Calls       int
	First, Last time.Time
}

// Errors returns the causes of failed calls, most frequent first. It returns the
// faults of Top.
func (s *Store) Errors(ctx context.Context, f Filter, p Period, limit int) ([]ErrorRow, error) {
	if err := checkList(p, limit); err != nil {
		return nil, err
	}
	query, err := s.matching(ctx, f, p.span())
	if err != nil {
		return nil, err
	}
	rows, err := query.Where(failedSQL).Select("code, tool, COUNT(*) AS calls, MIN(at) AS first, MAX(at) AS last").
		Group("code, tool").Order("calls DESC, last DESC, code, tool").Limit(limit).Rows()
	if err != nil {
		return nil, fault.Internal(err)
	}
	defer rows.Close()
	var list []ErrorRow
	for rows.Next() {
		var row ErrorRow
		var first, last moment
		if err := rows.Scan(&row.Code, &row.Tool, &row.Calls, &first, &last); err != nil {
			return nil, fault.Internal(err)
		}
		row.First, row.Last = first.Time, last.Time
		list = append(list, row)
	}
	if err := rows.Err(); err != nil {
		return nil, fault.Internal(err)
	}
	return list, nil
}

// LastCall returns the time of the newest stored call of a project, or the zero
// time without calls.
func (s *Store) LastCall(ctx context.Context, projectID string) (time.Time, error) {
	var call models.Call
	err := s.db.WithContext(ctx).Select("at").Order("id DESC").Take(&call, "project_id = ?", projectID).Error
	switch {
	case errors.Is(err, gorm.ErrRecordNotFound):
		return time.Time{}, nil
	case err != nil:
		return time.Time{}, fault.Internal(err)
	}
	return call.At, nil
}

// moment is a time that SQLite returns as text.
type moment struct{ time.Time }

// Scan implements sql.Scanner.
func (m *moment) Scan(value any) (err error) {
	switch v := value.(type) {
	case time.Time:
		m.Time = v.UTC()
	case string:
		m.Time, err = time.Parse(models.SQLiteTime, v)
	case []byte:
		m.Time, err = time.Parse(models.SQLiteTime, string(v))
	default:
		err = fmt.Errorf("unsupported column type %T", value)
	}
	return err
}

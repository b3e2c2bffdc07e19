package traffic

import (
	"context"
	"time"

	"mcpgateway/services/fault"
)

const day = 24 * time.Hour

// UsePeriod is the period in which the newest call of a tool is found.
const UsePeriod = 7 * day

// useCalls is the period in which calls are counted.
const useCalls = 7 * day

// MaxTools is the maximum number of tools in a use. Those with the most calls are
// included.
const MaxTools = 10_000

// Use has the calls of a tool.
type Use struct {
	Calls int       // in the last 7 days
	Last  time.Time // newest call of the last UsePeriod; zero if there is none
}

// ToolUse returns the use of the tools of a project by their exported names, of
// all tools with calls in the last UsePeriod.
func (s *Store) ToolUse(ctx context.Context, projectID string) (map[string]Use, error) {
	return shared(ctx, s.recent, "use "+projectID, func(ctx context.Context) (map[string]Use, error) { return s.toolUse(ctx, projectID, MaxTools) })
}

func (s *Store) toolUse(ctx context.Context, projectID string, limit int) (map[string]Use, error) {
	to := s.now().UTC().Truncate(time.Second).Add(time.Second)
	query, err := s.matching(ctx, Filter{ProjectID: projectID}, span{from: to.Add(-UsePeriod), to: to, step: time.Hour})
	if err != nil {
		return nil, err
	}
	rows, err := query.Select("tool, COUNT(CASE WHEN at >= ? THEN 1 END) AS calls, MAX(at) AS last", to.Add(-useCalls)).
		Group("tool").Order("COUNT(*) DESC, tool").Limit(limit).Rows()
	if err != nil {
		return nil, fault.Internal(err)
	}
	defer rows.Close()
	all := map[string]Use{}
	for rows.Next() {
		var name string
		var calls int
		var last moment
		if err := rows.Scan(&name, &calls, &last); err != nil {
			return nil, fault.Internal(err)
		}
		all[name] = Use{Calls: calls, Last: last.Time}
	}
	if err := rows.Err(); err != nil {
		return nil, fault.Internal(err)
	}
	return all, nil
}

package traffic

import (
	"context"

	"mcpgateway/services/fault"
)

// Projects returns the buckets of a period by project, for projects with calls.
// Callers are not counted. It returns INVALID_PARAMETER for a period with more
// than MaxBuckets.
func (s *Store) Projects(ctx context.Context, p Period) (map[string][]Bucket, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	x := p.span()
	oldest, err := s.oldest(ctx)
	if err != nil {
		return nil, err
	}
	all := map[string][]Bucket{}
	err = s.eachProject(ctx, x, func(project string, bucket int, h *histogram) {
		if all[project] == nil {
			all[project] = make([]Bucket, x.buckets())
			for i := range all[project] {
				all[project][i].Start = x.start(i)
			}
			s.mark(all[project], x.step, oldest)
		}
		one := &all[project][bucket]
		counted := h.bucket(one.Start)
		counted.Partial, counted.Missing = one.Partial, one.Missing
		*one = counted
	})
	return all, err
}

// ProjectTotals returns the totals of a period by project, for projects with
// calls. Callers are not counted. It returns the faults of Projects.
func (s *Store) ProjectTotals(ctx context.Context, p Period) (map[string]Totals, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	x := p.span()
	x.step = x.to.Sub(x.from)
	oldest, err := s.oldest(ctx)
	if err != nil {
		return nil, err
	}
	all := map[string]Totals{}
	err = s.eachProject(ctx, x, func(project string, _ int, h *histogram) {
		t := h.totals(0)
		t.Missing = x.from.Before(oldest)
		all[project] = t
	})
	return all, err
}

// eachProject calls f with the histogram of every project and bucket with
// calls.
func (s *Store) eachProject(ctx context.Context, x span, f func(project string, bucket int, h *histogram)) error {
	query, err := s.matching(ctx, Filter{}, x)
	if err != nil {
		return err
	}
	column, values := s.bucketColumn(x)
	rows, err := query.Select("project_id, "+column+" AS bucket, "+classColumn()+" AS class, "+countsSQL, values...).
		Group("project_id, bucket, class").Order("project_id, bucket").Rows()
	if err != nil {
		return fault.Internal(err)
	}
	defer rows.Close()
	var (
		project string
		bucket  = -1
		h       histogram
	)
	for rows.Next() {
		var id string
		var at, class, calls, failed, timed int
		if err := rows.Scan(&id, &at, &class, &calls, &failed, &timed); err != nil {
			return fault.Internal(err)
		}
		at = min(max(0, at), x.buckets()-1)
		if bucket >= 0 && (id != project || at != bucket) {
			f(project, bucket, &h)
			h = histogram{}
		}
		project, bucket = id, at
		h.add(class, calls, failed, timed)
	}
	if err := rows.Err(); err != nil {
		return fault.Internal(err)
	}
	if bucket >= 0 {
		f(project, bucket, &h)
	}
	return nil
}

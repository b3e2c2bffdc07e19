package traffic

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"

	"mcpgateway/services/fault"
)

// Series returns the buckets of a period, oldest first. It returns
// INVALID_PARAMETER for a period with more than MaxBuckets and for a filter that
// no call can match.
func (s *Store) Series(ctx context.Context, f Filter, p Period) ([]Bucket, error) {
	r, err := s.Report(ctx, f, p, false)
	if err != nil {
		return nil, err
	}
	return r.Buckets, nil
}

// Totals returns the numbers of a period. It returns the faults of Series.
func (s *Store) Totals(ctx context.Context, f Filter, p Period) (Totals, error) {
	r, err := s.Report(ctx, f, p, false)
	if err != nil {
		return Totals{}, err
	}
	return r.Totals, nil
}

// Count returns the number of calls in a period. It returns the faults of
// Series.
func (s *Store) Count(ctx context.Context, f Filter, p Period) (int, error) {
	if err := p.check(); err != nil {
		return 0, err
	}
	key := keyOf("count", f, p, "")
	return shared(ctx, s.recent, key, func(ctx context.Context) (int, error) {
		query, err := s.matching(ctx, f, p.span())
		if err != nil {
			return 0, err
		}
		var n int64
		if err := query.Count(&n).Error; err != nil {
			return 0, fault.Internal(err)
		}
		return int(n), nil
	})
}

// Report is a period and, for comparison, the one before.
type Report struct {
	Totals, Previous Totals
	Buckets, Before  []Bucket // Before has the buckets of the period before
	// Heat is the number of calls with a result by bucket and latency class,
	// whose limits HeatLimits returns.
	Heat [][HeatClasses]int
}

// Report returns the numbers of a period. Previous and Before are set only with
// compare. The result is shared and must not be changed. It returns the faults
// of Series.
func (s *Store) Report(ctx context.Context, f Filter, p Period, compare bool) (*Report, error) {
	key := keyOf("report", f, p, fmt.Sprint(compare))
	return shared(ctx, s.recent, key, func(ctx context.Context) (*Report, error) { return s.report(ctx, f, p, compare) })
}

func (s *Store) report(ctx context.Context, f Filter, p Period, compare bool) (*Report, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	x, split := p.span(), 0
	if compare {
		x, split = p.spanWithPrevious(), p.buckets()
	}
	buckets, heat, whole, err := s.histograms(ctx, f, x, split)
	if err != nil {
		return nil, err
	}
	callers, err := s.callers(ctx, f, x, split, buckets)
	if err != nil {
		return nil, err
	}
	oldest, err := s.oldest(ctx)
	if err != nil {
		return nil, err
	}
	s.mark(buckets, x.step, oldest)
	r := &Report{Totals: whole[1].totals(callers[1]), Buckets: buckets[split:], Before: buckets[:split], Heat: heat[split:]}
	r.Totals.Missing = p.From.Before(oldest)
	if compare {
		r.Previous = whole[0].totals(callers[0])
		r.Previous.Missing = x.from.Before(oldest)
	}
	return r, nil
}

// histograms returns the numbers of all buckets, without callers, their
// distributions, and the histograms of the buckets before and after the index
// split.
func (s *Store) histograms(ctx context.Context, f Filter, x span, split int) (buckets []Bucket, heat [][HeatClasses]int, whole [2]histogram, err error) {
	query, err := s.matching(ctx, f, x)
	if err != nil {
		return nil, nil, whole, err
	}
	column, values := s.bucketColumn(x)
	query = query.Select(column+" AS bucket, "+classColumn()+" AS class, "+countsSQL, values...).Group("bucket, class").Order("bucket")
	var current histogram
	finish := func() {
		buckets, heat = append(buckets, current.bucket(x.start(len(buckets)))), append(heat, current.heat)
		current = histogram{}
	}
	err = eachRow(query, func(bucket, class, calls, failed, timed int) {
		for len(buckets) < bucket {
			finish()
		}
		current.add(class, calls, failed, timed)
		whole[half(bucket, split)].add(class, calls, failed, timed)
	})
	for len(buckets) < x.buckets() {
		finish()
	}
	return buckets, heat, whole, err
}

// half returns 0 for buckets before the split and otherwise 1.
func half(bucket, split int) int {
	if bucket < split {
		return 0
	}
	return 1
}

// eachRow calls f with the five numbers of every row.
func eachRow(query *gorm.DB, f func(a, b, c, d, e int)) error {
	rows, err := query.Rows()
	if err != nil {
		return fault.Internal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var a, b, c, d, e int
		if err := rows.Scan(&a, &b, &c, &d, &e); err != nil {
			return fault.Internal(err)
		}
		f(a, b, c, d, e)
	}
	if err := rows.Err(); err != nil {
		return fault.Internal(err)
	}
	return nil
}

// callers sets the callers of all buckets, and returns those of the buckets
// before and after the index split.
func (s *Store) callers(ctx context.Context, f Filter, x span, split int, buckets []Bucket) (whole [2]int, err error) {
	query, err := s.matching(ctx, f, x)
	if err != nil {
		return whole, err
	}
	column, values := s.bucketColumn(x)
	rows, err := query.Select("DISTINCT "+column+" AS bucket, principal", values...).Rows()
	if err != nil {
		return whole, fault.Internal(err)
	}
	defer rows.Close()
	seen := [2]map[string]bool{{}, {}}
	for rows.Next() {
		var bucket int
		var principal string
		if err := rows.Scan(&bucket, &principal); err != nil {
			return whole, fault.Internal(err)
		}
		buckets[bucket].Callers++
		seen[half(bucket, split)][principal] = true
	}
	if err := rows.Err(); err != nil {
		return whole, fault.Internal(err)
	}
	return [2]int{len(seen[0]), len(seen[1])}, nil
}

// mark sets Partial and Missing of buckets.
func (s *Store) mark(buckets []Bucket, step time.Duration, oldest time.Time) {
	now := s.now()
	for i := range buckets {
		end := buckets[i].Start.Add(step)
		buckets[i].Partial, buckets[i].Missing = end.After(now), !end.After(oldest)
	}
}

package traffic

import (
	"time"

	"mcpgateway/services/fault"
)

// Period is a range of time in equal steps. The times and the step are whole
// seconds, and the length is a multiple of the step.
type Period struct {
	From, To time.Time // To is exclusive
	Step     time.Duration
	// Unfinished is the end of the last step that was in the future. The same
	// part of the previous period isn't counted, so that both can be compared.
	Unfinished time.Duration
}

// named is a period that Last returns.
type named struct {
	name         string
	length, step time.Duration
}

// lasts returns the periods of Last, shortest first.
func lasts() []named {
	const day = 24 * time.Hour
	return []named{
		{"1h", time.Hour, time.Minute},
		{"6h", 6 * time.Hour, 5 * time.Minute},
		{"24h", day, 30 * time.Minute},
		{"7d", 7 * day, 3 * time.Hour},
		{"30d", 30 * day, 12 * time.Hour},
	}
}

// Names returns the names for Last, shortest period first.
func Names() []string {
	var names []string
	for _, l := range lasts() {
		names = append(names, l.name)
	}
	return names
}

// Last returns the period of a name in Names that ends with the current step.
// It reports false for other names.
func Last(name string, now time.Time) (Period, bool) {
	for _, l := range lasts() {
		if l.name == name {
			now = now.UTC()
			to := now.Truncate(l.step).Add(l.step)
			return Period{From: to.Add(-l.length), To: to, Step: l.step, Unfinished: to.Sub(now)}, true
		}
	}
	return Period{}, false
}

// steps returns the steps of Between.
func steps() []time.Duration {
	const day = 24 * time.Hour
	return []time.Duration{
		time.Second, 5 * time.Second, 15 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute,
		time.Hour, 3 * time.Hour, 12 * time.Hour, day, 7 * day,
	}
}

// mostSteps is the maximum number of steps of Between, if the longest step
// allows it.
const mostSteps = 75

// Between returns the period that contains from and to, in the shortest of some
// round steps with at most 75 of them. Its ends are extended to round times. It
// reports false unless from is before to, and for more than MaxBuckets.
func Between(from, to, now time.Time) (Period, bool) {
	if !from.Before(to) {
		return Period{}, false
	}
	steps := steps()
	for i, step := range steps {
		p := Period{From: from.UTC().Truncate(step), To: to.UTC().Truncate(step), Step: step}
		if p.To.Before(to) {
			p.To = p.To.Add(step)
		}
		if p.buckets() <= mostSteps || i == len(steps)-1 {
			p.Unfinished = min(max(0, p.To.Sub(now)), p.To.Sub(p.From))
			return p, p.buckets() <= MaxBuckets
		}
	}
	return Period{}, false
}

// Previous returns the period of the same length before p.
func (p Period) Previous() Period {
	length := p.To.Sub(p.From)
	return Period{From: p.From.Add(-length), To: p.From, Step: p.Step, Unfinished: p.Unfinished}
}

// Next returns the period of the same length after p.
func (p Period) Next() Period {
	length := p.To.Sub(p.From)
	return Period{From: p.To, To: p.To.Add(length), Step: p.Step}
}

// check returns INVALID_PARAMETER for an invalid period.
func (p Period) check() error {
	whole := p.Step >= time.Second && p.Step%time.Second == 0 && p.From.Nanosecond() == 0
	switch {
	case !whole || !p.From.Before(p.To) || p.To.Sub(p.From)%p.Step != 0:
		return fault.Invalid("A period must be a range of whole steps of at least 1 second.")
	case p.buckets() > MaxBuckets:
		return fault.Invalid("A period can have at most %d steps.", MaxBuckets)
	}
	return nil
}

func (p Period) buckets() int { return int(p.To.Sub(p.From) / p.Step) }

// span is a part of the log in one query: a period, or two in a row.
type span struct {
	from, to         time.Time
	step             time.Duration
	skipFrom, skipTo time.Time // not counted
}

// span returns the span of p.
func (p Period) span() span {
	return span{from: p.From.UTC(), to: p.To.UTC(), step: p.Step, skipFrom: p.To.Add(-p.Unfinished).UTC(), skipTo: p.To.UTC()}
}

// spanWithPrevious returns the span of the period before p and p.
func (p Period) spanWithPrevious() span {
	before := p.Previous()
	x := before.span()
	x.to = p.To.UTC()
	return x
}

func (x span) buckets() int { return int(x.to.Sub(x.from) / x.step) }

// start returns the start of a bucket.
func (x span) start(i int) time.Time { return x.from.Add(time.Duration(i) * x.step) }

package quotas

import (
	"context"
	"time"

	"mcpgateway/services/fault"
)

// Times of Run.
const (
	interval     = time.Second            // between exchanges; the error of limits over all processes depends on it
	learnDelay   = 100 * time.Millisecond // from the first call of a subject until its total is read
	exchangeTime = 5 * time.Second        // maximum duration of an exchange
)

// atOnce is the maximum number of rows of a statement.
const atOnce = 5000

// entry is a row to exchange: the calls of a counter on one day.
type entry struct {
	ProjectID string `json:"project_id"`
	Subject   string `json:"subject"`
	Day       string `json:"day"`
	New       int64  `json:"n"` // calls to add

	counter *counter
	day     int64
}

// Run exchanges the counts of active subjects every second until the context
// ends, and stores the last ones then. While the database is unreachable, the
// process counts on its own.
func (q *Quotas) Run(ctx context.Context) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	failed := false
	for {
		exchange := q.Exchange
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), exchangeTime)
			defer cancel()
			if err := q.Exchange(last); err != nil {
				q.log.Warn("calls of limits not stored", "error", err)
			}
			return
		case <-tick.C:
		case <-q.fresh:
			select {
			case <-ctx.Done():
			case <-time.After(learnDelay):
			}
			exchange = q.Learn
		}
		limited, cancel := context.WithTimeout(ctx, exchangeTime)
		err := exchange(limited)
		if err == nil {
			err = q.reportExceeded(limited)
		}
		cancel()
		if err != nil && ctx.Err() == nil && !failed {
			q.log.Warn("limits count calls of this process only", "error", err)
		}
		failed = err != nil
	}
}

// Exchange adds the new calls of this process to the stored counts, and takes
// those of other processes from the buckets. It returns a database error as a
// fault; the calls are then stored by the next exchange.
func (q *Quotas) Exchange(ctx context.Context) error {
	q.exchanging.Lock()
	defer q.exchanging.Unlock()
	now := q.now()
	counters := q.takeActive()
	entries := q.entries(counters, now)
	for len(entries) > 0 {
		batch := entries[:min(len(entries), atOnce)]
		totals, err := q.store(ctx, batch)
		if err != nil {
			forget(counters)
			q.keepActive(counters, now)
			return fault.Internal(err)
		}
		for _, e := range batch {
			e.counter.stored(&e, totals[e.key()], now)
		}
		entries = entries[len(batch):]
	}
	q.keepActive(counters, now)
	q.drop(now)
	return nil
}

// Learn reads the totals of subjects whose first call in this process was
// recent. Calls of other processes before that aren't taken from the buckets.
// It returns a database error as a fault.
func (q *Quotas) Learn(ctx context.Context) error {
	q.exchanging.Lock()
	defer q.exchanging.Unlock()
	now := q.now()
	q.mu.Lock()
	counters := append([]*counter(nil), q.active...)
	q.mu.Unlock()
	var entries []entry
	for _, c := range counters {
		c.mu.Lock()
		c.turn(now)
		if !c.known {
			entries = append(entries, c.entry(&c.today, 0))
		}
		c.mu.Unlock()
	}
	for len(entries) > 0 {
		batch := entries[:min(len(entries), atOnce)]
		totals, err := q.totals(ctx, batch)
		if err != nil {
			return fault.Internal(err)
		}
		for _, e := range batch {
			e.counter.learned(&e, totals[e.key()])
		}
		entries = entries[len(batch):]
	}
	return nil
}

func (q *Quotas) takeActive() []*counter {
	q.mu.Lock()
	defer q.mu.Unlock()
	counters := q.active
	q.active = nil
	return counters
}

// entries returns the rows of the counters.
func (q *Quotas) entries(counters []*counter, now time.Time) []entry {
	entries := make([]entry, 0, len(counters))
	for _, c := range counters {
		c.mu.Lock()
		c.turn(now)
		entries = append(entries, c.entry(&c.today, c.today.pending))
		if c.before.pending > 0 {
			entries = append(entries, c.entry(&c.before, c.before.pending))
		}
		c.mu.Unlock()
	}
	return entries
}

// forget resets what is known of other processes, so that their calls during an
// outage aren't taken from the buckets at once.
func forget(counters []*counter) {
	for _, c := range counters {
		c.mu.Lock()
		c.known = false
		c.mu.Unlock()
	}
}

// keepActive returns the counters that don't settle to those to be exchanged.
func (q *Quotas) keepActive(counters []*counter, now time.Time) {
	kept := counters[:0]
	for _, c := range counters {
		c.mu.Lock()
		c.active = c.today.pending > 0 || c.before.pending > 0 || !c.bucket.settles(c.used, now)
		c.known = c.known && c.active
		if c.active {
			kept = append(kept, c)
		}
		c.mu.Unlock()
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.active = append(kept, q.active...)
}

// drop removes idle counters without calls of this day, at most once per
// minute, and any idle ones beyond the maximum. The caller must hold q.exchanging.
func (q *Quotas) drop(now time.Time) {
	over := q.held.Load() - int64(q.max)
	if now.Sub(q.swept) < time.Minute && over <= 0 {
		return
	}
	q.swept = now
	q.counters.Range(func(key, v any) bool {
		c := v.(*counter)
		c.mu.Lock()
		defer c.mu.Unlock()
		needed := c.daily && c.today.day == dayOf(now)
		if c.active || needed && over <= 0 {
			return true
		}
		c.dropped = true
		q.counters.Delete(key)
		q.held.Add(-1)
		over--
		return true
	})
}

// entry returns the row of a day with n new calls. The caller must hold c.mu.
func (c *counter) entry(use *dayUse, n int64) entry {
	return entry{ProjectID: c.subject.project, Subject: c.subject.stored(), Day: dayName(use.day), New: n, counter: c, day: use.day}
}

// stored applies the total of a row after its new calls were added.
func (c *counter) stored(e *entry, total int64, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch e.day {
	case c.today.day:
		others := total - c.today.seen - e.New
		if others > 0 {
			c.used = now
		}
		if !c.known {
			others = 0
		}
		c.bucket.takeOthers(others)
		c.known = true
		c.today.seen, c.today.pending = total, c.today.pending-e.New
	case c.before.day:
		c.before.pending -= e.New
	}
}

// learned applies the total of a row without new calls.
func (c *counter) learned(e *entry, total int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known || e.day != c.today.day {
		return
	}
	c.today.seen = max(c.today.seen, total)
	c.bucket.lost = 0
	c.known = true
}

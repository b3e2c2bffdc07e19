package quotas

import (
	"context"
	"errors"
	"slices"

	"mcpgateway/models"
)

// maxExceeded is the maximum number of used up limits that wait to be reported.
const maxExceeded = 1000

// Exceeded is a daily limit that a subject has used up.
type Exceeded struct {
	ProjectID string
	Subject   string // of the counter; unique in the project
	ID        string // of the key, user or toolset, the name of the tool, or "" for the project
	Limit     models.Limit
	Day       string // YYYY-MM-DD in UTC
}

// Report calls do with each daily limit that was used up, at least once per day
// and process, shortly after the first refused call. It must be called before Run.
func (q *Quotas) Report(do func(ctx context.Context, e Exceeded) error) { q.report = do }

// noteExceeded queues the daily limit of a refused call, once per day. The caller
// must hold the counter's mutex.
func (q *Quotas) noteExceeded(c charge) {
	if q.report == nil || c.counter.reported == c.counter.today.day || !c.counter.exhausted(c.limit) {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.exceeded) >= maxExceeded {
		return
	}
	c.counter.reported = c.counter.today.day
	s := c.counter.subject
	q.exceeded = append(q.exceeded, Exceeded{s.project, s.stored(), s.id, *c.limit, dayName(c.counter.today.day)})
}

// reportExceeded reports the queued limits, and those that fail again later.
func (q *Quotas) reportExceeded(ctx context.Context) error {
	if q.report == nil {
		return nil
	}
	q.mu.Lock()
	waiting := q.exceeded
	q.exceeded = nil
	q.mu.Unlock()
	var failed []Exceeded
	var problems []error
	for _, e := range waiting {
		if err := q.report(ctx, e); err != nil {
			failed, problems = append(failed, e), append(problems, err)
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.exceeded = slices.Concat(failed, q.exceeded)
	return errors.Join(problems...)
}

package notify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/fault"
)

const (
	startTimeout  = 10 * time.Second // for reading the initial revisions
	retryInterval = time.Second      // between attempts to act on a change
	logInterval   = 10 * time.Second // between log entries of an outage
	topicsAtOnce  = 500              // beyond it, all revisions are read
)

// Delays before reconnecting. The maximum is well below 1 s, so that a change
// right after an outage of any length is received within 1 s.
const (
	minBackoff = 100 * time.Millisecond
	maxBackoff = 500 * time.Millisecond
)

// Feed notifies this process's subscribers of changed topics, whichever process
// changed them. It is safe for concurrent use.
type Feed struct {
	db  *gorm.DB
	dsn string
	log *slog.Logger

	// sem is held while revisions are compared and subscribers run. It is a
	// channel, so that waiting for it ends with a context.
	sem  chan struct{}
	seen map[Topic]int64 // processed revisions; guarded by sem

	mu          sync.Mutex // guards the fields below
	subscribers []func(context.Context, Topic) error
	fresh       time.Time
	retryAt     time.Time // zero if every known change was processed
}

// subscriberKey is the context key of a feed's subscribers.
type subscriberKey struct{ feed *Feed }

// NewFeed returns the feed of db, whose address is dsn. Subscribers receive the
// changes committed after it returns; load their state after it. It returns an
// error if the revisions can't be read.
func NewFeed(db *gorm.DB, dsn string, log *slog.Logger) (*Feed, error) {
	dialect, err := models.Dialect(dsn)
	if err != nil {
		return nil, err
	}
	if dialect != db.Name() {
		return nil, fmt.Errorf("change feed address is %s but database is %s", dialect, db.Name())
	}
	f := &Feed{db: db, dsn: dsn, log: log, sem: make(chan struct{}, 1)}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	f.fresh = time.Now()
	if f.seen, err = f.revisions(ctx, nil); err != nil {
		return nil, fmt.Errorf("read revisions: %w", err)
	}
	return f, nil
}

// Subscribe adds a function that is called with each changed topic, one topic
// at a time. If it returns an error, all subscribers are called again with that
// topic until none fails. Subscribers ignore topics that don't concern them.
// Subscribe must be called before Run and Publish.
func (f *Feed) Subscribe(subscriber func(ctx context.Context, t Topic) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.subscribers = append(f.subscribers, subscriber)
}

// Publish runs this process's subscribers for the topics of a committed
// change, so that the writer sees its own change. It returns the error of a
// subscriber or of the database; the change remains committed, and Run retries.
// Called by a subscriber, it leaves the work to Run.
func (f *Feed) Publish(ctx context.Context, topics ...Topic) error {
	if len(topics) == 0 {
		return nil
	}
	if ctx.Value(subscriberKey{f}) != nil {
		f.retry(time.Now())
		return nil
	}
	err := f.act(ctx, topics)
	if err != nil {
		f.retry(time.Now())
	}
	return err
}

// Run receives the changes of all processes until ctx ends; then it returns
// nil. Database failures are logged and retried.
func (f *Feed) Run(ctx context.Context) error {
	receive := f.poll
	if f.db.Name() == "postgres" {
		receive = f.listen
	}
	var logged time.Time
	for pause := minBackoff; ; pause = min(2*pause, maxBackoff) {
		before := f.CaughtUpAt()
		err := receive(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // ctx ended
		}
		if f.CaughtUpAt().After(before) {
			pause = minBackoff // the connection worked for a while
			logged = time.Time{}
		}
		if time.Since(logged) >= logInterval {
			logged = time.Now()
			f.log.WarnContext(ctx, "change feed disconnected", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// CaughtUpAt returns the time up to which subscribers have received all changes. It
// advances at least every 2 s without failures.
func (f *Feed) CaughtUpAt() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fresh
}

// act runs the subscribers for the topics whose revision has changed since they
// were last processed. Nil means all topics.
func (f *Feed) act(ctx context.Context, topics []Topic) error {
	select {
	case f.sem <- struct{}{}:
		defer func() { <-f.sem }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if len(topics) > topicsAtOnce {
		topics = nil
	}
	// Revisions are read before the subscribers' data, so that a change in
	// between is processed again.
	now, err := f.revisions(ctx, topics)
	if err != nil {
		return err
	}
	if topics == nil {
		// A database restored from a backup may have lost a topic.
		topics = slices.AppendSeq(slices.Collect(maps.Keys(now)), maps.Keys(f.seen))
	}
	var failed []error
	for _, topic := range slices.Compact(slices.Sorted(slices.Values(topics))) {
		if now[topic] == f.seen[topic] {
			continue
		}
		if err := f.dispatch(ctx, topic); err != nil {
			failed = append(failed, fmt.Errorf("process change of %s: %w", topic, err))
			continue
		}
		f.seen[topic] = now[topic]
		if now[topic] == 0 {
			delete(f.seen, topic)
		}
	}
	return errors.Join(failed...)
}

// dispatch runs all subscribers, also after one fails.
func (f *Feed) dispatch(ctx context.Context, topic Topic) error {
	f.mu.Lock()
	subscribers := slices.Clone(f.subscribers)
	f.mu.Unlock()
	ctx = context.WithValue(ctx, subscriberKey{f}, true)
	var failed []error
	for _, subscriber := range subscribers {
		if err := subscriber(ctx, topic); err != nil {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// revisions reads the revisions of the topics, or all for nil.
func (f *Feed) revisions(ctx context.Context, topics []Topic) (map[Topic]int64, error) {
	query := f.db.WithContext(ctx)
	if topics != nil {
		query = query.Where("topic IN ?", topics)
	}
	var rows []models.Revision
	if err := query.Find(&rows).Error; err != nil {
		return nil, fault.Internal(err)
	}
	now := make(map[Topic]int64, len(rows))
	for _, row := range rows {
		now[Topic(row.Topic)] = row.Revision
	}
	return now, nil
}

// catchUp processes every change from before asOf. Failures are retried later.
func (f *Feed) catchUp(ctx context.Context, asOf time.Time) {
	f.mu.Lock()
	f.retryAt = time.Time{} // later failures set it again
	f.mu.Unlock()
	if err := f.act(ctx, nil); err != nil {
		f.failed(ctx, err)
		return
	}
	f.upToDate(asOf)
}

// failed logs a failure and schedules a retry.
func (f *Feed) failed(ctx context.Context, err error) {
	if ctx.Err() == nil {
		f.log.ErrorContext(ctx, "change processing failed", "error", err)
	}
	f.retry(time.Now().Add(retryInterval))
}

// retry schedules processing of all topics at the given time.
func (f *Feed) retry(at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.retryAt = at
}

// due reports whether a scheduled retry is due.
func (f *Feed) due() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.retryAt.IsZero() && !time.Now().Before(f.retryAt)
}

// upToDate records that every change from before asOf was processed, unless a
// retry is pending.
func (f *Feed) upToDate(asOf time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.retryAt.IsZero() && asOf.After(f.fresh) {
		f.fresh = asOf
	}
}

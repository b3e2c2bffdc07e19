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
	startTimeout  = 10 * time.Second // of the first look at the revisions
	retryInterval = time.Second      // between attempts to act on a change
	tellInterval  = 10 * time.Second // between log lines of one outage
	topicsAtOnce  = 500              // beyond it, reading all revisions is simpler
)

// How long the feed waits before it connects again. The longest is well below a
// second, so that a change made right after an outage of the database, however
// long that was, is known within a second.
const (
	shortestPause = 100 * time.Millisecond
	longestPause  = 500 * time.Millisecond
)

// Feed runs the subscribers of this process when a topic changes, in whatever
// process. It is safe for concurrent use.
type Feed struct {
	db  *gorm.DB
	dsn string
	log *slog.Logger

	// turn holds a token while somebody compares revisions and runs
	// subscribers. It is a channel, so that waiting for it ends with a context.
	turn chan struct{}
	seen map[Topic]int64 // revisions acted on; guarded by turn

	mu          sync.Mutex // guards what follows
	subscribers []func(context.Context, Topic) error
	fresh       time.Time
	retryAt     time.Time // zero when every known change was acted on
}

// insideSubscriber marks the contexts that a feed gives to its subscribers.
type insideSubscriber struct{ feed *Feed }

// NewFeed returns the feed of the database db, whose address is dsn. Changes
// committed after it returns reach the subscribers; load what they maintain
// after it. It returns an error when the revisions cannot be read.
func NewFeed(db *gorm.DB, dsn string, log *slog.Logger) (*Feed, error) {
	dialect, err := models.Dialect(dsn)
	if err != nil {
		return nil, err
	}
	if dialect != db.Name() {
		return nil, fmt.Errorf("the change feed has the address of a %s database for one of %s", dialect, db.Name())
	}
	f := &Feed{db: db, dsn: dsn, log: log, turn: make(chan struct{}, 1)}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	f.fresh = time.Now()
	if f.seen, err = f.revisions(ctx, nil); err != nil {
		return nil, fmt.Errorf("read the revisions of what may change: %w", err)
	}
	return f, nil
}

// Subscribe adds a function that is called with each topic that changed, one
// topic at a time. When it returns an error, all subscribers are called again
// with that topic after a while, until none fails. A subscriber need not
// handle every topic. Subscribe before Run and before the first Published.
func (f *Feed) Subscribe(subscriber func(ctx context.Context, t Topic) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.subscribers = append(f.subscribers, subscriber)
}

// Published runs the subscribers of this process for the topics that a writer
// touched and committed, and returns when they have run, so that the writer
// sees its own change. Run then finds nothing new in them. It returns the
// error of a subscriber or of the database; the change is committed all the
// same, and Run tries again. Called by a subscriber, it leaves the work to Run.
func (f *Feed) Published(ctx context.Context, topics ...Topic) error {
	if len(topics) == 0 {
		return nil
	}
	if ctx.Value(insideSubscriber{f}) != nil {
		f.retry(time.Now())
		return nil
	}
	err := f.act(ctx, topics)
	if err != nil {
		f.retry(time.Now())
	}
	return err
}

// Run hears of changes made by other processes and by this one, until the
// context ends; then it returns nil. Failures of the database are logged and
// tried again.
func (f *Feed) Run(ctx context.Context) error {
	hear := f.poll
	if f.db.Name() == "postgres" {
		hear = f.listen
	}
	var told time.Time
	for pause := shortestPause; ; pause = min(2*pause, longestPause) {
		before := f.Fresh()
		err := hear(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // ending is what was asked for
		}
		if f.Fresh().After(before) {
			pause = shortestPause // it worked for a while
			told = time.Time{}
		}
		if time.Since(told) >= tellInterval {
			told = time.Now()
			f.log.WarnContext(ctx, "the change feed lost the database and tries to reconnect", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// Fresh returns when the feed last knew that its subscribers had seen every
// change. It moves at least every two seconds while all is well.
func (f *Feed) Fresh() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fresh
}

// act runs the subscribers for those of the topics whose revision is not the
// one last acted on; nil means every topic.
func (f *Feed) act(ctx context.Context, topics []Topic) error {
	select {
	case f.turn <- struct{}{}:
		defer func() { <-f.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if len(topics) > topicsAtOnce {
		topics = nil
	}
	// The revision is read before the subscribers read what it counts, so
	// that a change in between is a change still to be acted on.
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
		if err := f.tell(ctx, topic); err != nil {
			failed = append(failed, fmt.Errorf("act on the change of %s: %w", topic, err))
			continue
		}
		f.seen[topic] = now[topic]
		if now[topic] == 0 {
			delete(f.seen, topic)
		}
	}
	return errors.Join(failed...)
}

// tell runs every subscriber, also behind one that fails.
func (f *Feed) tell(ctx context.Context, topic Topic) error {
	f.mu.Lock()
	subscribers := slices.Clone(f.subscribers)
	f.mu.Unlock()
	ctx = context.WithValue(ctx, insideSubscriber{f}, true)
	var failed []error
	for _, subscriber := range subscribers {
		if err := subscriber(ctx, topic); err != nil {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// revisions reads the revisions of the topics, or of all for nil.
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

// catchUp acts on every change from before asOf. What fails is tried again
// after a while.
func (f *Feed) catchUp(ctx context.Context, asOf time.Time) {
	f.mu.Lock()
	f.retryAt = time.Time{} // what fails from now on is noted anew
	f.mu.Unlock()
	if err := f.act(ctx, nil); err != nil {
		f.failed(ctx, err)
		return
	}
	f.upToDate(asOf)
}

// failed logs a failure to act and arranges for another attempt.
func (f *Feed) failed(ctx context.Context, err error) {
	if ctx.Err() == nil {
		f.log.ErrorContext(ctx, "a change could not be acted on and is tried again", "error", err)
	}
	f.retry(time.Now().Add(retryInterval))
}

// retry arranges for an attempt to act on everything at the given time.
func (f *Feed) retry(at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.retryAt = at
}

// due reports whether an attempt was arranged and its time has come.
func (f *Feed) due() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.retryAt.IsZero() && !time.Now().Before(f.retryAt)
}

// upToDate notes that every change from before asOf was acted on, unless an
// attempt is still to come.
func (f *Feed) upToDate(asOf time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.retryAt.IsZero() && asOf.After(f.fresh) {
		f.fresh = asOf
	}
}

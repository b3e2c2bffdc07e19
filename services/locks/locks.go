// Package locks lets one replica at a time do what should not be done by all
// of them at once.
package locks

import (
	"context"
	"sync"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/background"
)

// Timing of locks that others hold.
const (
	minPoll     = 10 * time.Millisecond  // before asking again for a lock that is taken; doubles
	maxPoll     = 250 * time.Millisecond // and up to
	askTimeout  = 5 * time.Second        // of one statement
	ownInterval = 10 * time.Second       // between attempts to become an owner, and looks whether it still is one
)

// Locks are named locks. On PostgreSQL they are advisory locks, which other
// replicas respect and which end with the process that holds them; all of a
// process are held on one connection of their own, however many there are and
// however long they are held. A SQLite database belongs to one process, so
// there they are held in its memory alone. They are safe for concurrent use.
type Locks struct {
	db       *gorm.DB // of the locks alone; nil when they are in memory
	interval time.Duration
	tasks    *background.Tasks

	mu    sync.Mutex
	taken map[string]chan struct{} // by name; closed when it is given back

	turn    chan struct{} // held while session is used
	session *session      // nil before the first lock and behind a failure
}

// Open returns the locks of the database db at dsn. On PostgreSQL they have a
// connection of their own, which Close closes. tasks starts their goroutines
// and may be nil.
func Open(ctx context.Context, db *gorm.DB, dsn string, tasks *background.Tasks) (*Locks, error) {
	l := &Locks{interval: ownInterval, tasks: tasks, taken: map[string]chan struct{}{}, turn: make(chan struct{}, 1)}
	if db.Name() != "postgres" {
		return l, nil
	}
	own, err := models.Open(ctx, dsn)
	if err != nil {
		return nil, err
	}
	pool, err := own.DB()
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(1)
	pool.SetMaxIdleConns(1)
	l.db = own
	return l, nil
}

// Close closes the connection of the locks, which also ends them for others.
func (l *Locks) Close() error {
	if l.db == nil {
		return nil
	}
	l.turn <- struct{}{}
	l.drop()
	pool, err := l.db.DB()
	<-l.turn
	if err != nil {
		return err
	}
	return pool.Close()
}

// Hold runs work while nobody else holds the lock of the name, in this process
// or another. With wait it waits for its turn until the context ends; otherwise
// held is false when the lock is taken. The error is that of work, of the
// context or of the database. Should the database connection be lost meanwhile,
// work goes on although others may then hold the lock too.
func (l *Locks) Hold(ctx context.Context, name string, wait bool, work func(context.Context) error) (held bool, err error) {
	leave, err := l.enter(ctx, name, wait)
	if err != nil || leave == nil {
		return false, err
	}
	defer leave()
	if l.db == nil {
		return true, work(ctx)
	}
	for poll := minPoll; ; poll = min(2*poll, maxPoll) {
		got, err := l.take(ctx, name)
		switch {
		case err != nil:
			return false, err
		case got:
			defer l.give(ctx, name)
			return true, work(ctx)
		case !wait:
			return false, nil
		}
		timer := time.NewTimer(poll)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return false, ctx.Err()
		}
	}
}

// enter takes the lock within this process. leave gives it back; it is nil when
// the lock is taken and wait is false.
func (l *Locks) enter(ctx context.Context, name string, wait bool) (leave func(), err error) {
	for {
		l.mu.Lock()
		given := l.taken[name]
		if given == nil {
			given = make(chan struct{})
			l.taken[name] = given
			l.mu.Unlock()
			return func() {
				l.mu.Lock()
				delete(l.taken, name)
				l.mu.Unlock()
				close(given)
			}, nil
		}
		l.mu.Unlock()
		if !wait {
			return nil, nil
		}
		select {
		case <-given:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Own makes this process the owner of the name as soon as no other is, and runs
// work while it is, until the context ends. The context of work also ends when
// the ownership is lost, and work must end with it. It returns when work has.
func (l *Locks) Own(ctx context.Context, name string, work func(context.Context)) {
	for ctx.Err() == nil {
		// A failure of the database is its own alarm; this tries again.
		_, _ = l.Hold(ctx, name, false, func(ctx context.Context) error {
			l.whileOwned(ctx, name, work)
			return nil
		})
		pause(ctx, l.interval)
	}
}

// whileOwned runs work until the context ends or the connection is lost on
// which the lock is held.
func (l *Locks) whileOwned(ctx context.Context, name string, work func(context.Context)) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var running sync.WaitGroup
	running.Go(l.tasks.Func(name, func() {
		defer cancel()
		l.tasks.Loop(ctx, name, work)()
	}))
	if l.db != nil {
		mine := l.current()
		for ctx.Err() == nil && mine != nil && l.alive(ctx) == mine {
			pause(ctx, l.interval)
		}
		cancel()
	}
	running.Wait()
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

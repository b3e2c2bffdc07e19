// Package locks holds named locks that all processes on a database respect, so
// that one of them at a time does what several must not do at once.
package locks

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"strings"
	"sync"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/background"
)

// Timing of locks.
const (
	minPoll    = 10 * time.Millisecond  // between attempts to acquire a lock that another process holds; doubles
	maxPoll    = 250 * time.Millisecond // and up to
	askTimeout = 5 * time.Second        // of one statement
	interval   = 10 * time.Second       // between attempts to become an owner, and between checks of the connection
)

// ErrLost is the cause of the end of a context whose lock was lost.
var ErrLost = errors.New("the lock was lost with its database connection")

// Locks are named locks. They end with the process that holds them. On
// PostgreSQL they are advisory locks on one connection per process. On SQLite
// they are locks on the bytes of a file next to the database: the processes that
// share a SQLite database run on one machine, with Linux or macOS. Locks are safe
// for concurrent use.
type Locks struct {
	file     *os.File // of the locks; nil on PostgreSQL
	db       *gorm.DB // for the locks alone; nil on SQLite
	interval time.Duration
	tasks    *background.Tasks

	mu    sync.Mutex
	taken map[string]chan struct{} // within this process, by name; closed at the release

	turn    chan struct{} // full while session is used
	session *session      // nil before the first lock and after a failure
	checks  sync.WaitGroup
}

// Open returns the locks of the database db at dsn. Close must be called.
// tasks starts their goroutines and may be nil.
func Open(ctx context.Context, db *gorm.DB, dsn string, tasks *background.Tasks) (*Locks, error) {
	l := &Locks{interval: interval, tasks: tasks, taken: map[string]chan struct{}{}, turn: make(chan struct{}, 1)}
	if db.Name() != "postgres" {
		file, err := os.OpenFile(strings.TrimPrefix(dsn, "sqlite:")+"-locks", os.O_CREATE|os.O_RDWR, 0o600) // stays empty
		if err != nil {
			return nil, fmt.Errorf("open the file of the locks: %w", err)
		}
		l.file = file
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

// Close releases every lock.
func (l *Locks) Close() error {
	if l.file != nil {
		return l.file.Close()
	}
	l.turn <- struct{}{}
	l.drop()
	<-l.turn
	l.checks.Wait()
	pool, err := l.db.DB()
	if err != nil {
		return err
	}
	return pool.Close()
}

// Hold runs work while this call alone holds the lock of the name. With wait it
// waits for the lock until the context ends; otherwise held is false when the
// lock is held elsewhere. The context of work also ends when the lock is lost,
// with the cause ErrLost. The error is that of work, of the context or of the
// database.
func (l *Locks) Hold(ctx context.Context, name string, wait bool, work func(context.Context) error) (held bool, err error) {
	leave, err := l.enter(ctx, name, wait)
	if err != nil || leave == nil {
		return false, err
	}
	defer leave()
	lost, err := l.acquire(ctx, name, wait)
	if err != nil || lost == nil {
		return false, err
	}
	defer l.release(ctx, keyOf(name))
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(lost, l.tasks.Func("lost lock", func() { cancel(ErrLost) }))()
	return true, work(ctx)
}

// enter acquires the lock within this process. leave releases it; it is nil when
// the lock is held and wait is false.
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

// acquire acquires the lock among the processes. lost ends when the lock is
// lost; it is nil when another process holds the lock and wait is false.
func (l *Locks) acquire(ctx context.Context, name string, wait bool) (lost context.Context, err error) {
	for poll := minPoll; ; poll = min(2*poll, maxPoll) {
		lost, err := l.try(ctx, keyOf(name))
		if err != nil || lost != nil || !wait {
			return lost, err
		}
		if pause(ctx, poll); ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
}

// try acquires the lock of the key if no other process holds it.
func (l *Locks) try(ctx context.Context, key int64) (lost context.Context, err error) {
	if l.file == nil {
		return l.tryAdvisory(ctx, key)
	}
	if got, err := lockByte(l.file, key); err != nil || !got {
		return nil, err
	}
	return context.Background(), nil
}

func (l *Locks) release(ctx context.Context, key int64) {
	if l.file == nil {
		l.releaseAdvisory(ctx, key)
		return
	}
	_ = unlockByte(l.file, key) // fails only for a closed file, which has no locks
}

// Own makes this process the owner of the name as soon as no other is, and runs
// work while it is, until the context ends. The context of work also ends when
// the ownership is lost, and work must end with it. It returns when work has.
func (l *Locks) Own(ctx context.Context, name string, work func(context.Context)) {
	for ctx.Err() == nil {
		// A failure of the database is reported elsewhere; this tries again.
		_, _ = l.Hold(ctx, name, false, func(ctx context.Context) error {
			l.tasks.Loop(ctx, name, work)()
			return nil
		})
		pause(ctx, l.interval)
	}
}

// InTransaction acquires the lock of the name until the transaction ends. A write
// transaction of SQLite already excludes all others.
func InTransaction(tx *gorm.DB, name string) error {
	if tx.Name() != "postgres" {
		return nil
	}
	return tx.Exec("SELECT pg_advisory_xact_lock(?)", keyOf(name)).Error
}

// keyOf returns the number of a lock (PostgreSQL manual, section 13.3.5,
// "Advisory Locks").
func keyOf(name string) int64 {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte("gateway " + name))
	return int64(hash.Sum64())
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

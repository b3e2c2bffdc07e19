// Package locks provides named locks that all processes on a database share.
// They ensure that only one process at a time does a job.
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
	minPoll          = 10 * time.Millisecond  // between attempts to acquire a lock that another process holds; doubles
	maxPoll          = 250 * time.Millisecond // and up to
	statementTimeout = 5 * time.Second        // of one statement
	interval         = 10 * time.Second       // between attempts to become an owner, and between checks of the connection
)

// ErrLost is the cause of the cancelled context when a lock was lost.
var ErrLost = errors.New("lock lost with its database connection")

// Locks are named locks, released when the process ends. On PostgreSQL they are
// advisory locks on one connection per process. On SQLite they are locks on the
// bytes of a file next to the database, because all processes on a SQLite
// database run on one machine, with Linux or macOS. Locks are safe for
// concurrent use.
type Locks struct {
	file     *os.File // lock file; nil on PostgreSQL
	db       *gorm.DB // dedicated connection for locks; nil on SQLite
	interval time.Duration
	tasks    *background.Tasks

	mu    sync.Mutex
	taken map[string]chan struct{} // locks held in this process, by name; closed at the release

	sem     chan struct{} // semaphore of session
	session *session      // nil before the first lock and after a failure
	checks  sync.WaitGroup
}

// Open returns the locks of the database db at dsn. The caller must call Close.
// tasks starts their goroutines and may be nil.
func Open(ctx context.Context, db *gorm.DB, dsn string, tasks *background.Tasks) (*Locks, error) {
	l := &Locks{interval: interval, tasks: tasks, taken: map[string]chan struct{}{}, sem: make(chan struct{}, 1)}
	if db.Name() != "postgres" {
		file, err := os.OpenFile(strings.TrimPrefix(dsn, "sqlite:")+"-locks", os.O_CREATE|os.O_RDWR, 0o600) // stays empty
		if err != nil {
			return nil, fmt.Errorf("open lock file: %w", err)
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
	l.sem <- struct{}{}
	l.drop()
	<-l.sem
	l.checks.Wait()
	pool, err := l.db.DB()
	if err != nil {
		return err
	}
	return pool.Close()
}

// Hold runs work while it holds the named lock exclusively. If wait is true, it
// waits for the lock until ctx is done. Otherwise held is false if the lock is
// held elsewhere. If the lock is lost, the context of work is cancelled with
// the cause ErrLost. The error is that of work, ctx or the database.
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

// enter acquires the lock within this process. leave releases it. leave is nil
// if the lock is held and wait is false.
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

// acquire acquires the lock among all processes. lost is cancelled when the
// lock is lost. It is nil if another process holds the lock and wait is false.
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

// RunAsLeader runs work while this process holds the named lock, until ctx is
// cancelled. It tries again at every interval while another process holds the
// lock. The context of work is also cancelled when the lock is lost, and work
// must then return. Own returns after work has.
func (l *Locks) RunAsLeader(ctx context.Context, name string, work func(context.Context)) {
	for ctx.Err() == nil {
		// Database failures are reported elsewhere. Try again.
		_, _ = l.Hold(ctx, name, false, func(ctx context.Context) error {
			l.tasks.Loop(ctx, name, work)()
			return nil
		})
		pause(ctx, l.interval)
	}
}

// InTransaction acquires the named lock until the transaction ends. On SQLite
// it does nothing, because a write transaction already excludes all others.
func InTransaction(tx *gorm.DB, name string) error {
	if tx.Name() != "postgres" {
		return nil
	}
	return tx.Exec("SELECT pg_advisory_xact_lock(?)", keyOf(name)).Error
}

// keyOf returns the key of a lock (PostgreSQL manual, section 13.3.5, "Advisory
// Locks").
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

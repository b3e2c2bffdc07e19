package locks

import (
	"context"
	"database/sql"
	"database/sql/driver"
)

// session is a connection to PostgreSQL. When it ends, its locks are released
// and ctx is cancelled.
type session struct {
	conn *sql.Conn
	ctx  context.Context
	end  context.CancelFunc
}

// tryAdvisory returns a context that is cancelled when the lock is lost, or nil
// if another process holds the lock. A connection that has broken since its
// last use is replaced once.
func (l *Locks) tryAdvisory(ctx context.Context, key int64) (lost context.Context, err error) {
	s, got, err := l.exec(ctx, "SELECT pg_try_advisory_lock($1)", key)
	if err != nil && ctx.Err() == nil {
		s, got, err = l.exec(ctx, "SELECT pg_try_advisory_lock($1)", key)
	}
	if err != nil || !got {
		return nil, err
	}
	return s.ctx, nil
}

// releaseAdvisory releases a lock. If that fails, the connection is closed,
// which also releases the lock.
func (l *Locks) releaseAdvisory(ctx context.Context, key int64) {
	_, _, _ = l.exec(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", key)
}

// exec runs a statement on the session and opens the session if necessary. ctx
// is used only until the statement is sent, because cancelling a statement
// would close the connection and release all locks.
func (l *Locks) exec(ctx context.Context, statement string, key int64) (s *session, yes bool, err error) {
	select {
	case l.sem <- struct{}{}:
		defer func() { <-l.sem }()
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
	if l.session == nil {
		if err := l.connect(ctx); err != nil {
			return nil, false, err
		}
	}
	s = l.session
	yes, err = l.query(ctx, statement, key)
	return s, yes, err
}

// query runs a statement on the session. If it fails, query drops the session.
// The caller must hold turn.
func (l *Locks) query(ctx context.Context, statement string, key int64) (yes bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), statementTimeout)
	defer cancel()
	if err := l.session.conn.QueryRowContext(ctx, statement, key).Scan(&yes); err != nil {
		l.drop()
		return false, err
	}
	return yes, nil
}

// connect opens the session. The caller must hold turn.
func (l *Locks) connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), statementTimeout)
	defer cancel()
	pool, err := l.db.DB()
	if err != nil {
		return err
	}
	conn, err := pool.Conn(ctx)
	if err != nil {
		return err
	}
	s := &session{conn: conn}
	s.ctx, s.end = context.WithCancel(context.Background())
	l.session = s
	l.checks.Go(l.tasks.Func("lock check", func() { l.check(s) }))
	return nil
}

// check polls the connection of a session until it ends.
func (l *Locks) check(s *session) {
	for s.ctx.Err() == nil {
		pause(s.ctx, l.interval)
		l.sem <- struct{}{}
		if l.session == s {
			_, _ = l.query(s.ctx, "SELECT $1::bigint = 0", 0) // drops the session if it fails
		}
		<-l.sem
	}
}

// drop closes the connection, which releases all locks. The caller must hold
// turn.
func (l *Locks) drop() {
	if l.session == nil {
		return
	}
	// In the pool the connection would keep its locks, so mark it as bad.
	_ = l.session.conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = l.session.conn.Close()
	l.session.end()
	l.session = nil
}

package locks

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"hash/fnv"
)

// session is a connection to PostgreSQL whose locks end with it.
type session struct{ conn *sql.Conn }

// keyOf returns the number that stands for a name (PostgreSQL manual, section
// 13.3.5, "Advisory Locks").
func keyOf(name string) int64 {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte("gateway " + name))
	return int64(hash.Sum64())
}

// take reports whether the lock is held now. A connection that broke since it
// was used last is replaced once.
func (l *Locks) take(ctx context.Context, name string) (got bool, err error) {
	for range 2 {
		if got, err = l.ask(ctx, "SELECT pg_try_advisory_lock($1)", keyOf(name)); err == nil || ctx.Err() != nil {
			break
		}
	}
	return got, err
}

// give gives a lock back. When that fails the connection is closed, which does
// so too.
func (l *Locks) give(ctx context.Context, name string) {
	_, _ = l.ask(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", keyOf(name))
}

// alive returns the session after it answered, or nil.
func (l *Locks) alive(ctx context.Context) *session {
	if _, err := l.ask(ctx, "SELECT $1::bigint = 0", int64(0)); err != nil {
		return nil
	}
	return l.current()
}

// current returns the session in use, or nil.
func (l *Locks) current() *session {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	return l.session
}

// ask sends a statement on the session, which is opened when there is none and
// dropped when it fails. The context is heeded only while waiting for the
// turn: a statement that is cut off would cost the connection and all locks.
func (l *Locks) ask(ctx context.Context, statement string, number int64) (yes bool, err error) {
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout)
	defer cancel()
	if l.session == nil {
		pool, err := l.db.DB()
		if err != nil {
			return false, err
		}
		conn, err := pool.Conn(ctx)
		if err != nil {
			return false, err
		}
		l.session = &session{conn: conn}
	}
	if err := l.session.conn.QueryRowContext(ctx, statement, number).Scan(&yes); err != nil {
		l.drop()
		return false, err
	}
	return yes, nil
}

// drop closes the connection and with it ends every lock. The caller has the
// turn.
func (l *Locks) drop() {
	if l.session == nil {
		return
	}
	// Given back to the pool it would keep its locks.
	_ = l.session.conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = l.session.conn.Close()
	l.session = nil
}

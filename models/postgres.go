package models

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"
)

// openPostgres returns a connection pool for the database at dsn. Connections
// closed by the server are replaced if no work is lost.
func openPostgres(dsn string) (*sql.DB, error) {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector{stdlib.GetConnector(*config, stdlib.OptionAfterConnect(readTimesInUTC))}), nil
}

// readTimesInUTC configures a PostgreSQL connection to return times in UTC instead of
// the local time zone.
func readTimesInUTC(_ context.Context, conn *pgx.Conn) error {
	conn.TypeMap().RegisterType(&pgtype.Type{
		Name:  "timestamptz",
		OID:   pgtype.TimestamptzOID,
		Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC},
	})
	return nil
}

// connectionFailure is the SQLSTATE of a lost connection (PostgreSQL, appendix
// A, class 08).
const connectionFailure = "08006"

// LostError is the error of a statement or transaction whose connection failed.
// The transaction was rolled back, unless the connection failed during its
// commit.
type LostError struct{ err error }

// Error returns the text of the cause.
func (e *LostError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *LostError) Unwrap() error { return e.err }

// SQLState returns the state of a lost connection.
func (e *LostError) SQLState() string { return connectionFailure }

// connector reports lost connections to database/sql, which retries on another
// connection if nothing was executed.
type connector struct{ driver.Connector }

// Connect implements driver.Connector.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	made, err := c.Connector.Connect(ctx)
	if err != nil {
		if ctx.Err() == nil {
			err = &LostError{err}
		}
		return nil, err
	}
	own, ok := made.(*stdlib.Conn)
	if !ok {
		return made, nil
	}
	return &postgresConn{Conn: own}, nil
}

// postgresConn is a connection that is replaced if the server closed it before
// the first statement: database/sql does so for driver.ErrBadConn. Within a
// transaction a lost connection is an error, because earlier writes are gone.
type postgresConn struct {
	*stdlib.Conn
	inTx bool
}

// lost returns the error of a failed statement. Only reads are retried, unless
// the server reported that it terminated the connection: the statement may have
// been executed.
func (c *postgresConn) lost(ctx context.Context, err error, read bool) error {
	ended := isEnded(err)
	switch {
	case err == nil || ctx.Err() != nil, !ended && !isBroken(err):
		return err
	case c.inTx, !ended && !read:
		return &LostError{err}
	}
	return driver.ErrBadConn
}

// BeginTx implements driver.ConnBeginTx.
func (c *postgresConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	tx, err := c.Conn.BeginTx(ctx, opts)
	if err != nil {
		return nil, c.lost(ctx, err, true)
	}
	c.inTx = true
	return &postgresTx{Tx: tx, ctx: ctx, conn: c}, nil
}

// ExecContext implements driver.ExecerContext.
func (c *postgresConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	result, err := c.Conn.ExecContext(ctx, query, args)
	return result, c.lost(ctx, err, false)
}

// QueryContext implements driver.QueryerContext.
func (c *postgresConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	rows, err := c.Conn.QueryContext(ctx, query, args)
	if err != nil {
		return nil, c.lost(ctx, err, strings.HasPrefix(query, "SELECT "))
	}
	return rows, nil
}

// postgresTx is a transaction of a postgresConn.
type postgresTx struct {
	driver.Tx
	ctx  context.Context
	conn *postgresConn
}

// Commit implements driver.Tx.
func (t *postgresTx) Commit() error {
	err := t.conn.lost(t.ctx, t.Tx.Commit(), false)
	t.conn.inTx = false
	return err
}

// Rollback implements driver.Tx.
func (t *postgresTx) Rollback() error {
	t.conn.inTx = false
	return t.Tx.Rollback()
}

// isEnded reports whether the server reported that it terminated the
// connection: by an administrator, after a crash, or during startup or
// shutdown.
func isEnded(err error) bool {
	var of *pgconn.PgError
	if errors.As(err, &of) {
		return of.Code == "57P01" || of.Code == "57P02" || of.Code == "57P03" || strings.HasPrefix(of.Code, "08")
	}
	return errors.Is(err, driver.ErrBadConn)
}

// isBroken reports whether err is a network error.
func isBroken(err error) bool {
	var network net.Error
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.As(err, &network)
}

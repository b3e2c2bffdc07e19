package activity

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/driver"

	"mcpgateway/models"
)

// rowsPerStatement is the number of calls per statement. More are not faster.
const rowsPerStatement = 50

// storeInSQLite writes calls with prepared statements whose parameters keep
// their values between rows: most texts equal the previous call's.
//
// These are the only writes that don't wait for the disk: the last calls before
// a power failure can be lost.
func storeInSQLite(ctx context.Context, pool *sql.DB, calls []*models.Call) error {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return models.Relaxed(ctx, conn, func() error { return insertInSQLite(ctx, conn, calls) })
}

func insertInSQLite(ctx context.Context, conn *sql.Conn, calls []*models.Call) error {
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	err = conn.Raw(func(raw any) error {
		held, ok := raw.(driver.Conn)
		if !ok {
			return fmt.Errorf("%T is not a SQLite connection", raw)
		}
		db := held.Raw()
		defer db.SetInterrupt(db.SetInterrupt(ctx))
		rest := calls
		for _, rows := range []int{rowsPerStatement, 1} {
			part := rest[:len(rest)/rows*rows]
			if err := insertCalls(db, part, rows); err != nil {
				return err
			}
			rest = rest[len(part):]
		}
		return addUsageInSQLite(db, calls)
	})
	if err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// insertCalls stores calls, whose number is a multiple of rows, with a
// statement of that many rows. After a failure, earlier rows of the statement
// are rolled back only with the transaction: to roll back a single statement,
// SQLite would copy every page before writing to it.
func insertCalls(db *sqlite3.Conn, calls []*models.Call, rows int) error {
	if len(calls) == 0 {
		return nil
	}
	row := "(?" + strings.Repeat(", ?", strings.Count(callColumns, ",")) + ")"
	stmt, _, err := db.Prepare("INSERT OR FAIL INTO calls (" + callColumns + ") VALUES " + row + strings.Repeat(", "+row, rows-1) + " ON CONFLICT (id) DO NOTHING")
	if err != nil {
		return err
	}
	defer stmt.Close()
	insert := callInsert{stmt: stmt, bound: make([]*models.Call, rows)}
	for i, call := range calls {
		insert.bind(i%rows, call)
		if i%rows == rows-1 {
			if err := errors.Join(insert.err, stmt.Exec()); err != nil {
				return err
			}
		}
	}
	return nil
}

// callInsert is a prepared INSERT of several rows.
type callInsert struct {
	stmt  *sqlite3.Stmt
	bound []*models.Call // bound call of each row; nil at first
	param int            // last bound parameter
	at    sqliteTime
	err   error // first error
}

// bind binds the values of a call to a row's parameters, in the order of
// callColumns.
func (x *callInsert) bind(row int, call *models.Call) {
	before := x.bound[row]
	first := before == nil
	if first {
		before = call
	}
	x.bound[row] = call
	x.param = row * (strings.Count(callColumns, ",") + 1)
	x.text(call.ID, "", true)
	x.time(call.At)
	x.text(call.ProjectID, before.ProjectID, first)
	x.text(call.Principal, before.Principal, first)
	x.text(call.Tool, before.Tool, first)
	x.text(call.Server, before.Server, first)
	x.number(call.DurationUS, before.DurationUS, first)
	x.number(call.RequestBytes, before.RequestBytes, first)
	x.number(call.ResponseBytes, before.ResponseBytes, first)
	x.text(string(call.Outcome), string(before.Outcome), first)
	x.text(call.Code, before.Code, first)
	x.text(call.RequestID, before.RequestID, first)
	x.text(call.Toolset, before.Toolset, first)
	x.text(call.UserID, before.UserID, first)
}

// text binds a value, unless it is already bound.
func (x *callInsert) text(value, before string, first bool) {
	x.param++
	if !first && value == before {
		return
	}
	x.done(x.stmt.BindText(x.param, value))
}

func (x *callInsert) number(value, before int64, first bool) {
	x.param++
	if !first && value == before {
		return
	}
	x.done(x.stmt.BindInt64(x.param, value))
}

func (x *callInsert) time(value time.Time) {
	x.param++
	x.done(x.stmt.BindRawText(x.param, x.at.of(value)))
}

func (x *callInsert) done(err error) {
	if x.err == nil {
		x.err = err
	}
}

// sqliteTime formats times as models.SQLiteTime. Times within a second differ
// only in the last three digits.
type sqliteTime struct {
	second int64
	text   []byte // nil at first
}

// of returns the text of a UTC time. It is valid until the next call.
func (x *sqliteTime) of(value time.Time) []byte {
	second, ms := value.Unix(), value.Nanosecond()/int(time.Millisecond)
	if x.text == nil || second != x.second || second < 0 {
		x.second, x.text = second, value.AppendFormat(x.text[:0], models.SQLiteTime)
		return x.text
	}
	for i := 1; i <= 3; i++ {
		x.text[len(x.text)-i] = byte('0' + ms%10)
		ms /= 10
	}
	return x.text
}

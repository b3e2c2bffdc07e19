package modelstest

import (
	"errors"
	"testing"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/driver"
	"gorm.io/gorm"
)

// OnStatement calls f with the text of every statement that a SQLite database
// begins on the pool of db from now on, whether the ORM, database/sql or code
// that goes to SQLite past both wants it. Statements without parameters that
// answer nothing have no text there; of those f hears when they write, as
// "COMMIT", as of every other transaction that does. f runs on the goroutine
// that wants the statement, whose stack tells who that is, and for several at
// once. It fails the test for a database of another dialect.
func OnStatement(t testing.TB, db *gorm.DB, f func(statement string)) {
	t.Helper()
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	// Only while all of its connections are taken are they all known to be
	// different ones. The pool keeps them for as long as it is open.
	for range pool.Stats().MaxOpenConnections {
		conn, err := pool.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		err = conn.Raw(func(raw any) error {
			held, ok := raw.(driver.Conn)
			if !ok {
				return errors.New("statements can be seen on connections of SQLite only")
			}
			held.Raw().CommitHook(func() (ok bool) {
				f("COMMIT")
				return true
			})
			return held.Raw().Trace(sqlite3.TRACE_STMT, func(_ sqlite3.TraceEvent, _, statement any) error {
				text, _ := statement.(string)
				f(text)
				return nil
			})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

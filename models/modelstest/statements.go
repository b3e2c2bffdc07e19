package modelstest

import (
	"errors"
	"testing"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/driver"
	"gorm.io/gorm"
)

// OnStatement calls f with the text of every statement that a SQLite database
// starts on the pool of db, whether it comes from the ORM, from database/sql or
// from code that uses SQLite directly. Statements without parameters and
// results have no text; those that write are reported as "COMMIT", like every
// other transaction that writes. f runs on the statement's goroutine, so its
// stack shows the caller. f may run concurrently. OnStatement fails the test
// for other dialects.
func OnStatement(t testing.TB, db *gorm.DB, f func(statement string)) {
	t.Helper()
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	// Acquiring all connections at once ensures that they are distinct. The
	// pool keeps them open.
	for range pool.Stats().MaxOpenConnections {
		conn, err := pool.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		err = conn.Raw(func(raw any) error {
			held, ok := raw.(driver.Conn)
			if !ok {
				return errors.New("statements can only be observed on SQLite connections")
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

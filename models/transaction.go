package models

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strconv"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// ConsistentRead returns the options of a read-only transaction whose queries
// all see one state of the database, without holding up writers.
func ConsistentRead(db *gorm.DB) *sql.TxOptions {
	if db.Name() == "sqlite" {
		return &sql.TxOptions{ReadOnly: true} // a deferred WAL read is a snapshot
	}
	return &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead}
}

// LockRow returns the clauses that make a read keep its row from other writers
// until the transaction ends. SQLite needs none: a write transaction is alone.
func LockRow(tx *gorm.DB) []clause.Expression {
	if tx.Name() == "postgres" {
		return []clause.Expression{clause.Locking{Strength: "UPDATE"}}
	}
	return nil
}

// largeCache is how much of a SQLite database a connection keeps in memory
// during a large write, in KiB: the indexes of 100,000 rows. The usual 2 MiB
// would write and read their pages again and again.
const largeCache = 16 << 10

// Relaxed runs write with a SQLite connection whose commits survive a crash of
// the process, but not of the machine: nothing waits for the disk. It must be
// called outside a transaction. The connection leaves its pool when it cannot
// return to full durability.
func Relaxed(ctx context.Context, conn *sql.Conn, write func() error) (err error) {
	if _, err := conn.ExecContext(ctx, "PRAGMA synchronous = normal"); err != nil {
		return err
	}
	defer func() {
		if _, failed := conn.ExecContext(context.WithoutCancel(ctx), "PRAGMA synchronous = full"); failed != nil {
			_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // closes it
			err = errors.Join(err, failed)
		}
	}()
	return write()
}

// LargeWrite runs write, which changes many rows, within tx and returns its
// error or the database's. On SQLite the connection may hold more pages
// meanwhile, and from then on if tx ends under it because its context did;
// PostgreSQL's cache is shared and needs nothing.
func LargeWrite(tx *gorm.DB, write func() error) error {
	if tx.Name() != "sqlite" {
		return write()
	}
	var usual int
	if err := tx.Raw("PRAGMA cache_size").Scan(&usual).Error; err != nil {
		return err
	}
	resize := func(pages int) error { return tx.Exec("PRAGMA cache_size = " + strconv.Itoa(pages)).Error }
	if err := resize(-largeCache); err != nil {
		return err
	}
	err := write()
	return errors.Join(err, resize(usual))
}

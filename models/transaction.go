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
// see one snapshot. It doesn't block writers.
func ConsistentRead(db *gorm.DB) *sql.TxOptions {
	if db.Name() == "sqlite" {
		return &sql.TxOptions{ReadOnly: true} // a deferred WAL read is a snapshot
	}
	return &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead}
}

// LockRow returns the clauses that lock the selected row until the transaction
// ends. They are empty for SQLite, where write transactions are exclusive.
func LockRow(tx *gorm.DB) []clause.Expression {
	if tx.Name() == "postgres" {
		return []clause.Expression{clause.Locking{Strength: "UPDATE"}}
	}
	return nil
}

// largeCache is a SQLite connection's page cache during a large write, in KiB.
// It fits the indexes of 100,000 rows; with the default of 2 MiB their pages
// would be written and read repeatedly.
const largeCache = 16 << 10

// Relaxed runs write with a SQLite connection whose commits survive a crash of
// the process but not of the machine, because they aren't synced to disk. It
// must be called outside a transaction. The connection is closed if full
// durability can't be restored.
func Relaxed(ctx context.Context, conn *sql.Conn, write func() error) (err error) {
	if _, err := conn.ExecContext(ctx, "PRAGMA synchronous = normal"); err != nil {
		return err
	}
	defer func() {
		if _, failed := conn.ExecContext(context.WithoutCancel(ctx), "PRAGMA synchronous = full"); failed != nil {
			_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // close it
			err = errors.Join(err, failed)
		}
	}()
	return write()
}

// LargeWrite runs write, which changes many rows, within tx and returns its
// error or the database's. On SQLite the connection's page cache is larger
// during the write; it stays larger if the context ends tx. PostgreSQL needs no
// change.
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

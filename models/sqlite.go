package models

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/driver"
	"gorm.io/gorm"
)

// openSQLite returns a connection pool for the database at uri.
func openSQLite(uri string) (*sql.DB, error) {
	connector, err := (&driver.SQLite{}).OpenConnector(uri)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(sqliteConnector{connector}), nil
}

// sqliteConnector returns connections whose transactions report the first
// error.
type sqliteConnector struct{ sqldriver.Connector }

// Connect implements driver.Connector.
func (c sqliteConnector) Connect(ctx context.Context) (sqldriver.Conn, error) {
	made, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	own, ok := made.(interface {
		driver.Conn
		sqldriver.ExecerContext
		sqldriver.NamedValueChecker
	})
	if !ok {
		return nil, fmt.Errorf("%T is not a SQLite connection", made)
	}
	return &sqliteConn{own, own, own}, nil
}

// sqliteConn is a connection of the driver.
type sqliteConn struct {
	driver.Conn
	sqldriver.ExecerContext
	sqldriver.NamedValueChecker
}

// BeginTx implements driver.ConnBeginTx.
func (c *sqliteConn) BeginTx(ctx context.Context, opts sqldriver.TxOptions) (sqldriver.Tx, error) {
	tx, err := c.Conn.BeginTx(ctx, opts)
	if err != nil || opts.ReadOnly {
		return tx, err
	}
	return &sqliteTx{tx, c.Raw()}, nil
}

// sqliteTx is a write transaction.
type sqliteTx struct {
	sqldriver.Tx
	conn *sqlite3.Conn
}

// Rollback implements driver.Tx. It returns nil if SQLite already rolled the
// transaction back, for example because the disk is full: that error would hide
// the first one.
func (t *sqliteTx) Rollback() error {
	if t.conn.GetAutocommit() {
		return nil
	}
	return t.Tx.Rollback()
}

// diskFull is the SQLSTATE of a full disk (PostgreSQL, appendix A).
const diskFull = "53100"

// FullError is the error of a write that failed because the disk is full.
type FullError struct{ err error }

// Error returns the text of the cause.
func (e *FullError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *FullError) Unwrap() error { return e.err }

// SQLState returns the SQLSTATE of a full disk.
func (e *FullError) SQLState() string { return diskFull }

// isFull reports whether err is a full disk, in either dialect.
func isFull(err error) bool {
	var coded interface{ SQLState() string }
	return errors.As(err, &coded) && coded.SQLState() == diskFull
}

// sqliteDialector is GORM's SQLite dialect with translation of full-disk
// errors.
type sqliteDialector struct {
	gorm.Dialector
	folder string // of the database
}

// ioError reports whether err is a failed write to a file. The driver doesn't
// return the cause.
func ioError(err error) bool {
	for _, code := range []sqlite3.ExtendedErrorCode{sqlite3.IOERR_WRITE, sqlite3.IOERR_FSYNC, sqlite3.IOERR_SHMSIZE, sqlite3.IOERR_SHMMAP} {
		if errors.Is(err, code) {
			return true
		}
	}
	return false
}

// minFree is the free space in bytes below which a failed write counts as a
// full disk.
const minFree = 1 << 20

// Translate implements gorm.ErrorTranslator.
func (d sqliteDialector) Translate(err error) error {
	if errors.Is(err, sqlite3.FULL) || ioError(err) && !hasSpace(d.folder) {
		return &FullError{err}
	}
	if translator, ok := d.Dialector.(gorm.ErrorTranslator); ok {
		return translator.Translate(err)
	}
	return err
}

// SavePoint implements gorm.SavePointerDialectorInterface.
func (d sqliteDialector) SavePoint(tx *gorm.DB, name string) error {
	return tx.Exec("SAVEPOINT " + name).Error
}

// RollbackTo implements gorm.SavePointerDialectorInterface.
func (d sqliteDialector) RollbackTo(tx *gorm.DB, name string) error {
	return tx.Exec("ROLLBACK TO SAVEPOINT " + name).Error
}

package models

import (
	"database/sql"

	"gorm.io/gorm"
)

// ConsistentRead returns the options of a read-only transaction whose queries
// all see one state of the database, without holding up writers.
func ConsistentRead(db *gorm.DB) *sql.TxOptions {
	if db.Name() == "sqlite" {
		return &sql.TxOptions{ReadOnly: true} // a deferred WAL read is a snapshot
	}
	return &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead}
}

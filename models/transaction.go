package models

import (
	"database/sql"

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

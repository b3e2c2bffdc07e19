// Package notify notifies every process of a gateway of changes. The database
// stores a revision per topic. A writer increments it in its transaction, and
// every process compares revisions with those it has processed. Messages only
// speed up the comparison: a lost message delays a change but doesn't lose it.
package notify

import (
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"mcpgateway/models"
)

// channel is the PostgreSQL channel of changed topics.
const channel = "gateway_changes"

// Topic names data that changes together, such as "toolset:PROJECTID".
type Topic string

// Touch increments the revisions of the topics in the writer's transaction and,
// on PostgreSQL, announces them at its commit. All topics of a transaction must
// be in one call, which locks them in a fixed order to prevent deadlocks. It
// returns the database's error.
func Touch(tx *gorm.DB, topics ...Topic) error {
	topics = slices.Compact(slices.Sorted(slices.Values(topics)))
	if len(topics) == 0 {
		return nil
	}
	rows := make([]models.Revision, len(topics))
	for i, topic := range topics {
		rows[i] = models.Revision{Topic: string(topic), Revision: 1}
	}
	raise := clause.OnConflict{
		Columns:   []clause.Column{{Name: "topic"}},
		DoUpdates: clause.Assignments(map[string]any{"revision": gorm.Expr("revisions.revision + 1")}),
	}
	tx = tx.Session(&gorm.Session{NewDB: true}) // drop the caller's conditions
	if err := tx.Clauses(raise).Create(&rows).Error; err != nil {
		return err
	}
	if tx.Name() != "postgres" {
		return nil
	}
	for _, topic := range topics {
		if err := tx.Exec("SELECT pg_notify(?, ?)", channel, string(topic)).Error; err != nil {
			return err
		}
	}
	return nil
}

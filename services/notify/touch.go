// Package notify tells every process of a gateway what changed. The database
// counts the changes of each topic; a writer raises the count in its own
// transaction, and every process compares the counts with those it has acted
// on. Messages only make the comparison happen sooner, so that a lost message
// delays a change and loses none.
package notify

import (
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"mcpgateway/models"
)

// channel is the PostgreSQL channel on which topics are announced.
const channel = "gateway_changes"

// Topic names what changes together, such as "toolset:PROJECTID".
type Topic string

// Touch raises the revisions of the topics within the writer's transaction and,
// on PostgreSQL, announces them at its commit. All topics of a transaction
// belong in one call, which takes their locks in a fixed order, so that two
// writers cannot wait for each other. It returns the database's error.
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
	tx = tx.Session(&gorm.Session{NewDB: true}) // the caller's conditions are not ours
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

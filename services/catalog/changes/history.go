package changes

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/activity"
)

// Kept is the number of changes that the history of an entry has. Older ones are
// deleted.
const Kept = 100

// batchSize is the number of rows per statement.
const batchSize = 400

// New returns a change of an entry. actor is the user's id, or empty for a sync.
func New(entryID string, at time.Time, actor, action string, members []Member) models.CatalogChange {
	detail := make(models.StringMap, len(members))
	for _, m := range members {
		detail[m.Name] = m.String()
	}
	return models.CatalogChange{ID: uuid.Must(uuid.NewV7()).String(), EntryID: entryID, At: at, Actor: actor, Action: action, Detail: detail}
}

// Record stores changes, in their order, and deletes those that are too old.
func Record(tx *gorm.DB, rows []models.CatalogChange) error {
	if len(rows) == 0 {
		return nil
	}
	if err := tx.CreateInBatches(rows, batchSize).Error; err != nil {
		return err
	}
	for part := range slices.Chunk(rows, batchSize) {
		ids := make([]string, len(part))
		for i := range part {
			ids[i] = part[i].EntryID
		}
		err := tx.Exec(`DELETE FROM catalog_changes WHERE id IN (
			SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY entry_id ORDER BY id DESC) AS place FROM catalog_changes WHERE entry_id IN ?) ranked
			WHERE place > ?)`, ids, Kept).Error
		if err != nil {
			return err
		}
	}
	return nil
}

// Decided records an administrator's decisions about entries, which are given as
// they were before. The actor is that of the transaction's context.
func Decided(tx *gorm.DB, action string, at time.Time, before ...*models.CatalogEntry) error {
	actor := ActorOf(tx.Statement.Context)
	rows := make([]models.CatalogChange, 0, len(before))
	for part := range slices.Chunk(before, batchSize) {
		old := make(map[string]*models.CatalogEntry, len(part))
		ids := make([]string, len(part))
		for i, e := range part {
			ids[i], old[e.ID] = e.ID, e
		}
		var after []*models.CatalogEntry
		if err := tx.Omit("document").Order("id").Find(&after, "id IN ?", ids).Error; err != nil {
			return err
		}
		for _, e := range after {
			rows = append(rows, New(e.ID, at, actor, action, OfEntry(old[e.ID], e)))
		}
	}
	return Record(tx, rows)
}

// ActorOf returns the id of the user who acts in a context, or "".
func ActorOf(ctx context.Context) string {
	if a := activity.ActorOf(ctx); a.Kind == activity.ActorUser {
		return a.ID
	}
	return ""
}

// List returns the history of an entry, newest first.
func List(db *gorm.DB, entryID string) ([]models.CatalogChange, error) {
	var rows []models.CatalogChange
	err := db.Order("id DESC").Limit(Kept).Find(&rows, "entry_id = ?", entryID).Error
	return rows, err
}

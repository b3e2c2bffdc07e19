package notify

import (
	"context"
	"errors"
	"sync"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"mcpgateway/models"
)

// maxRemembered bounds of how many projects a Configurations remembers what it
// has acted on. Forgetting them costs one look at their configuration.
const maxRemembered = 1000

// TouchInventory is Touch for the toolset of a project in which a sync changed
// what one server offers, and nothing else. It writes which server that was, so
// that others need not read all of them again. It returns the database's error.
func TouchInventory(tx *gorm.DB, projectID, serverID string) error {
	if err := Touch(tx, Toolset(projectID)); err != nil {
		return err
	}
	tx = tx.Session(&gorm.Session{NewDB: true}) // the caller's conditions are not ours
	// Touch keeps the revision from other writers until the transaction ends.
	revision, err := revisionOf(tx, Toolset(projectID))
	if err != nil {
		return err
	}
	row := models.InventoryChange{ServerID: serverID, ProjectID: projectID, Revision: revision}
	return tx.Clauses(clause.OnConflict{UpdateAll: true}).Create(&row).Error
}

// ToolsetChanges are what happened to a project's toolset after a revision.
type ToolsetChanges struct {
	Revision int64 // of the toolset now; 0 when nothing ever touched it
	// OnlySyncs says that every change was a sync's: then Servers are the ids of
	// those whose inventories differ, and everything else is as it was.
	OnlySyncs bool
	Servers   []string
}

// ChangesSince returns what happened to a project's toolset after the revision
// since, at which 0 stands for an unknown one. It reads no more rows than there
// were changes. It returns the database's error.
func ChangesSince(db *gorm.DB, projectID string, since int64) (ToolsetChanges, error) {
	revision, err := revisionOf(db, Toolset(projectID))
	if err != nil || since <= 0 || since > revision {
		return ToolsetChanges{Revision: revision}, err
	}
	c := ToolsetChanges{Revision: revision, OnlySyncs: true}
	if revision == since {
		return c, nil
	}
	err = db.Model(&models.InventoryChange{}).Where("project_id = ? AND revision > ? AND revision <= ?", projectID, since, revision).
		Order("revision").Pluck("server_id", &c.Servers).Error
	// Each revision is one change. One that no server has was either another
	// kind of change, or a sync of a server that was synced again since; to look
	// at everything is right for both.
	c.OnlySyncs = int64(len(c.Servers)) == revision-since
	return c, err
}

// revisionOf returns the revision of a topic, 0 for one that nothing touched.
func revisionOf(db *gorm.DB, topic Topic) (int64, error) {
	var row models.Revision
	err := db.Take(&row, "topic = ?", string(topic)).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return 0, nil
	}
	return row.Revision, err
}

// Configurations keeps the syncs of a project from those who act on its
// configuration only. The zero value remembers nothing; it is safe for
// concurrent use.
type Configurations struct {
	mu    sync.Mutex
	acted map[string]int64 // by project id: the revision of its toolset
}

// Act runs act when the toolset of a project changed by more than syncs since
// it last ran without an error, or when that is not known. It returns the error
// of act or of the database db.
func (c *Configurations) Act(ctx context.Context, db *gorm.DB, projectID string, act func(context.Context) error) error {
	c.mu.Lock()
	since := c.acted[projectID]
	c.mu.Unlock()
	// The revision is read before what it counts, so that a change in between is
	// a change still to be acted on.
	changes, err := ChangesSince(db.WithContext(ctx), projectID, since)
	if err != nil {
		return err
	}
	if !changes.OnlySyncs {
		if err := act(ctx); err != nil {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.acted[projectID]; c.acted == nil || !known && len(c.acted) >= maxRemembered {
		c.acted = map[string]int64{}
	}
	c.acted[projectID] = changes.Revision
	return nil
}

package notify

import (
	"context"
	"errors"
	"sync"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"mcpgateway/models"
)

// TouchInventory is Touch for the toolset of a project in which a sync changed
// only the inventory of one server. It records the server, so that other
// processes reload only that one. It returns the database's error.
func TouchInventory(tx *gorm.DB, projectID, serverID string) error {
	if err := Touch(tx, Toolset(projectID)); err != nil {
		return err
	}
	tx = tx.Session(&gorm.Session{NewDB: true}) // drop the caller's conditions
	// Touch locks the revision until the transaction ends.
	revision, err := revisionOf(tx, Toolset(projectID))
	if err != nil {
		return err
	}
	row := models.InventoryChange{ServerID: serverID, ProjectID: projectID, Revision: revision}
	return tx.Clauses(clause.OnConflict{UpdateAll: true}).Create(&row).Error
}

// ToolsetChanges are the changes of a project's toolset after a revision.
type ToolsetChanges struct {
	Revision int64 // current revision; 0 if never touched
	// OnlySyncs reports whether all changes were syncs. Then only the
	// inventories of Servers, by id, have changed.
	OnlySyncs bool
	Servers   []string
}

// ChangesSince returns the changes of a project's toolset after the revision
// since; 0 means unknown. It reads at most as many rows as there were changes.
// It returns the database's error.
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
	// Each revision is one change. A revision without a server was either
	// another kind of change, or a sync of a server that was synced again
	// later. Reloading everything is correct for both.
	c.OnlySyncs = int64(len(c.Servers)) == revision-since
	return c, err
}

// revisionOf returns the revision of a topic, or 0 if it was never touched.
func revisionOf(db *gorm.DB, topic Topic) (int64, error) {
	var row models.Revision
	err := db.Take(&row, "topic = ?", string(topic)).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return 0, nil
	}
	return row.Revision, err
}

// ToolsetRevisions returns the revisions of projects' toolsets by project id, or
// of all projects for nil, without those that were never touched. It returns the
// database's error.
func ToolsetRevisions(db *gorm.DB, projectIDs []string) (map[string]int64, error) {
	topics := make([]Topic, len(projectIDs))
	for i, id := range projectIDs {
		topics[i] = Toolset(id)
	}
	query := db.Where("topic IN ?", topics)
	if projectIDs == nil {
		query = db.Where("topic LIKE ?", toolsetPrefix+"%")
	}
	var rows []models.Revision
	if err := query.Find(&rows).Error; err != nil {
		return nil, err
	}
	revisions := make(map[string]int64, len(rows))
	for _, row := range rows {
		id, _ := Topic(row.Topic).ToolsetOf()
		revisions[id] = row.Revision
	}
	return revisions, nil
}

// ConfigFilter filters out the changes of syncs for subscribers that depend
// only on the configuration of projects. The zero value is ready to use. It is
// safe for concurrent use.
type ConfigFilter struct {
	mu    sync.Mutex
	acted map[string]int64 // toolset revisions by project id; nil before the first call of act
}

// Act calls act, which processes all projects, the first time, and then if the
// project's toolset may have changed by more than syncs since the last successful
// call. It returns the error of act or of the database.
func (c *ConfigFilter) Act(ctx context.Context, db *gorm.DB, projectID string, act func(context.Context) error) error {
	// Revisions are read before the configuration, so that a change in between is
	// processed again.
	db = db.WithContext(ctx)
	c.mu.Lock()
	first, since := c.acted == nil, c.acted[projectID]
	c.mu.Unlock()
	var changes ToolsetChanges
	var all map[string]int64
	var err error
	if first {
		all, err = ToolsetRevisions(db, nil)
	} else {
		changes, err = ChangesSince(db, projectID, since)
	}
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
	if first {
		c.acted = all
	} else {
		c.acted[projectID] = changes.Revision
	}
	return nil
}

package rows

import (
	"context"
	"maps"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
	"mcpgateway/services/locks"
	"mcpgateway/services/notify"
)

// change is one transaction over servers. It writes its audit rows and topics at
// the end, because both block other writers.
type change struct {
	store   *Store
	tx      *gorm.DB
	slugs   map[string]string // of projects, by ID
	topics  map[notify.Topic]bool
	entries []activity.Entry
}

// change runs work in one transaction, which excludes other changes of projects,
// and publishes its topics.
func (s *Store) change(ctx context.Context, work func(*change) error) error {
	c := &change{store: s}
	err := s.options.DB.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		c.tx, c.slugs, c.topics, c.entries = tx, map[string]string{}, map[notify.Topic]bool{}, nil
		if err := locks.InTransaction(tx, "projects"); err != nil {
			return err
		}
		if err := work(c); err != nil {
			return err
		}
		if err := s.options.Audit.RecordAll(tx, c.entries); err != nil {
			return err
		}
		return notify.Touch(tx, slices.Sorted(maps.Keys(c.topics))...)
	})
	if err != nil {
		return fault.From(err)
	}
	return s.options.Feed.Publish(ctx, slices.Sorted(maps.Keys(c.topics))...)
}

// declare stores the hashes of servers, by ID, as declarations of this replica.
func (c *change) declare(hashes map[string]string) error {
	if err := c.join(); err != nil {
		return err
	}
	rows := make([]models.Declaration, 0, len(hashes))
	for _, id := range slices.Sorted(maps.Keys(hashes)) {
		rows = append(rows, models.Declaration{ServerID: id, ReplicaID: c.store.replica, Hash: hashes[id]})
	}
	if len(rows) == 0 {
		return nil
	}
	return c.tx.Clauses(clause.OnConflict{
		Columns: []clause.Column{{Name: "server_id"}, {Name: "replica_id"}}, DoUpdates: clause.AssignmentColumns([]string{"hash"}),
	}).Create(&rows).Error
}

// withdraw deletes the declarations of this replica of those servers that are
// not in kept.
func (c *change) withdraw(servers []models.Server, kept map[string]string) error {
	var gone []string
	for _, row := range servers {
		if _, ok := kept[row.ID]; !ok {
			gone = append(gone, row.ID)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	return c.tx.Delete(&models.Declaration{}, "replica_id = ? AND server_id IN ?", c.store.replica, gone).Error
}

// live returns the IDs of those servers that a live replica declares.
func (c *change) live(servers []models.Server) (map[string]bool, error) {
	ids := make([]string, len(servers))
	for i, row := range servers {
		ids[i] = row.ID
	}
	var found []string
	err := c.tx.Model(&models.Declaration{}).Distinct("server_id").
		Where("server_id IN ? AND replica_id IN (SELECT id FROM replicas WHERE seen_at > ? OR id = ?)", ids, c.store.deadline(), c.store.replica).Pluck("server_id", &found).Error
	live := make(map[string]bool, len(found))
	for _, id := range found {
		live[id] = true
	}
	return live, err
}

// settle changes whether the tools of servers are hidden and records server.declared or
// server.undeclared.
func (c *change) settle(servers []models.Server, undeclared func(*models.Server) bool) error {
	for i := range servers {
		row := &servers[i]
		want := undeclared(row)
		if row.Undeclared == want {
			continue
		}
		row.Undeclared = want
		if err := c.tx.Model(&models.Server{}).Where("id = ?", row.ID).UpdateColumn("undeclared", want).Error; err != nil {
			return err
		}
		action := "server.declared"
		if want {
			action = "server.undeclared"
		}
		if err := c.note(action, row, nil); err != nil {
			return err
		}
	}
	return nil
}

// note adds an action on a server to the audit log and its project to the topics.
func (c *change) note(action string, row *models.Server, detail map[string]string) error {
	slug, known := c.slugs[row.ProjectID]
	if !known {
		var project models.Project
		if err := c.tx.Select("slug").First(&project, "id = ?", row.ProjectID).Error; err != nil {
			return err
		}
		slug = project.Slug
		c.slugs[row.ProjectID] = slug
	}
	details := map[string]string{"source": string(row.Source)}
	maps.Copy(details, detail)
	c.topics[notify.Toolset(row.ProjectID)] = true
	c.entries = append(c.entries, activity.Entry{Action: action, Object: row.Alias, ObjectID: row.ID, Project: slug, Detail: details})
	return nil
}

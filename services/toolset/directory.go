package toolset

import (
	"context"
	"errors"
	"maps"
	"sync"
	"sync/atomic"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
)

// Directory holds the snapshot of every project in memory. Reading it takes
// no lock and no query; a change rebuilds one project and swaps one pointer.
type Directory struct {
	db      *gorm.DB
	targets Targets

	rebuild sync.Mutex // one rebuild at a time, so that an older state never replaces a newer
	current atomic.Pointer[projects]
}

type projects struct {
	bySlug map[string]*Snapshot
	byID   map[string]*Snapshot
}

// NewDirectory returns an empty directory; Load fills it.
func NewDirectory(db *gorm.DB, targets Targets) *Directory {
	d := &Directory{db: db, targets: targets}
	d.current.Store(&projects{bySlug: map[string]*Snapshot{}, byID: map[string]*Snapshot{}})
	return d
}

// Project returns the snapshot of the project with the slug, or NOT_FOUND.
func (d *Directory) Project(slug string) (*Snapshot, error) {
	if s, ok := d.current.Load().bySlug[slug]; ok {
		return s, nil
	}
	return nil, fault.NotFound("project", clip(slug, 64))
}

// ProjectByID returns the snapshot of the project with the id, or nil.
func (d *Directory) ProjectByID(id string) *Snapshot { return d.current.Load().byID[id] }

// All returns the snapshots of every project, in no order.
func (d *Directory) All() []*Snapshot {
	now := d.current.Load()
	all := make([]*Snapshot, 0, len(now.byID))
	for _, s := range now.byID {
		all = append(all, s)
	}
	return all
}

// Load reads every project from the database.
func (d *Directory) Load(ctx context.Context) error {
	d.rebuild.Lock()
	defer d.rebuild.Unlock()
	var rows []models.Project
	if err := d.db.WithContext(ctx).Find(&rows).Error; err != nil {
		return fault.Internal(err)
	}
	next := &projects{bySlug: map[string]*Snapshot{}, byID: map[string]*Snapshot{}}
	now := d.current.Load()
	for _, row := range rows {
		s, err := d.build(ctx, now.byID[row.ID], row)
		if err != nil {
			return err
		}
		next.bySlug[row.Slug], next.byID[row.ID] = s, s
	}
	d.current.Store(next)
	return nil
}

// Changed rebuilds the project of a toolset topic from the database, or
// forgets it when it is gone. Other topics are ignored.
func (d *Directory) Changed(ctx context.Context, topic notify.Topic) error {
	id, ok := topic.ToolsetOf()
	if !ok {
		return nil
	}
	d.rebuild.Lock()
	defer d.rebuild.Unlock()
	now := d.current.Load()
	before := now.byID[id]
	next := &projects{bySlug: maps.Clone(now.bySlug), byID: maps.Clone(now.byID)}
	if before != nil {
		delete(next.bySlug, before.Project.Slug)
		delete(next.byID, id)
	}
	var row models.Project
	err := d.db.WithContext(ctx).First(&row, "id = ?", id).Error
	switch {
	case errors.Is(err, gorm.ErrRecordNotFound):
	case err != nil:
		return fault.Internal(err)
	default:
		s, err := d.build(ctx, before, row)
		if err != nil {
			return err
		}
		next.bySlug[row.Slug], next.byID[id] = s, s
	}
	d.current.Store(next)
	return nil
}

// build reads what one project's snapshot is made of, in one transaction, so
// that it never mixes two states. before is the project's last snapshot or nil.
func (d *Directory) build(ctx context.Context, before *Snapshot, project models.Project) (*Snapshot, error) {
	src := Source{Project: project, Inventories: map[string]*models.Inventory{}, Tools: map[string][]models.Tool{}, Listings: map[string][]models.Listing{}}
	ofProject := "server_id IN (SELECT id FROM servers WHERE project_id = ?)"
	err := d.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		var inventories []models.Inventory
		var tools []models.Tool
		if err := tx.First(&src.Project, "id = ?", project.ID).Error; err != nil {
			return err
		}
		if err := tx.Find(&src.Servers, "project_id = ?", project.ID).Error; err != nil {
			return err
		}
		if err := tx.Find(&inventories, ofProject, project.ID).Error; err != nil {
			return err
		}
		// The times of tools are left out: a snapshot does not hold them, and
		// reading those of thousands of tools costs as much as the rest.
		if err := tx.Select("server_id", "name", "definition", "definition_hash", "approved_hash", "previous_definition").
			Order("server_id, position, name").Find(&tools, ofProject, project.ID).Error; err != nil {
			return err
		}
		var listings []models.Listing
		if err := tx.Order("server_id, kind, position, ident").Find(&listings, ofProject, project.ID).Error; err != nil {
			return err
		}
		for _, l := range listings {
			src.Listings[l.ServerID] = append(src.Listings[l.ServerID], l)
		}
		for i := range inventories {
			src.Inventories[inventories[i].ServerID] = &inventories[i]
		}
		for _, t := range tools {
			src.Tools[t.ServerID] = append(src.Tools[t.ServerID], t)
		}
		return nil
	}, models.ConsistentRead(d.db))
	if err != nil {
		return nil, fault.Internal(err)
	}
	return Rebuild(before, src, d.targets), nil
}

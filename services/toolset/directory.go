package toolset

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
)

// Directory caches the snapshot of every project. Reads need no lock and no
// query; a change rebuilds one project and swaps a pointer.
type Directory struct {
	db      *gorm.DB
	targets Targets

	rebuild sync.Mutex // one rebuild at a time, so that an older state never replaces a newer one
	current atomic.Pointer[projects]
}

type projects struct {
	bySlug map[string]*Snapshot
	byID   map[string]*Snapshot
	byName []*Snapshot
}

// newProjects returns the snapshots of byID with their other orders.
func newProjects(byID map[string]*Snapshot) *projects {
	p := &projects{bySlug: make(map[string]*Snapshot, len(byID)), byID: byID, byName: slices.Collect(maps.Values(byID))}
	for _, s := range byID {
		p.bySlug[s.Project.Slug] = s
	}
	slices.SortFunc(p.byName, func(a, b *Snapshot) int {
		return cmp.Or(strings.Compare(a.name(), b.name()), strings.Compare(a.Project.Slug, b.Project.Slug))
	})
	return p
}

// name returns the project's name, or slug if it has none, in lower case.
func (s *Snapshot) name() string {
	return strings.ToLower(cmp.Or(s.Project.Name, s.Project.Slug))
}

// NewDirectory returns an empty directory. Load must be called before use.
func NewDirectory(db *gorm.DB, targets Targets) *Directory {
	d := &Directory{db: db, targets: targets}
	d.current.Store(newProjects(nil))
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

// All returns the snapshots of all projects by name, ignoring case, and then by
// slug.
func (d *Directory) All() []*Snapshot { return slices.Clone(d.current.Load().byName) }

// Load reads all projects from the database.
func (d *Directory) Load(ctx context.Context) error {
	d.rebuild.Lock()
	defer d.rebuild.Unlock()
	var rows []models.Project
	if err := d.db.WithContext(ctx).Select("id").Find(&rows).Error; err != nil {
		return fault.Internal(err)
	}
	byID := map[string]*Snapshot{}
	now := d.current.Load()
	for _, row := range rows {
		s, err := d.build(ctx, now.byID[row.ID], row.ID)
		if err != nil {
			return err
		}
		if s != nil {
			byID[row.ID] = s
		}
	}
	d.current.Store(newProjects(byID))
	return nil
}

// Changed updates the snapshot of a toolset topic's project, or removes it if
// the project was deleted. It ignores other topics.
func (d *Directory) Changed(ctx context.Context, topic notify.Topic) error {
	id, ok := topic.ToolsetOf()
	if !ok {
		return nil
	}
	d.rebuild.Lock()
	defer d.rebuild.Unlock()
	now := d.current.Load()
	before := now.byID[id]
	after, err := d.build(ctx, before, id)
	if err != nil || after == before {
		return err
	}
	byID := map[string]*Snapshot{}
	maps.Copy(byID, now.byID)
	delete(byID, id)
	if after != nil {
		byID[id] = after
	}
	d.current.Store(newProjects(byID))
	return nil
}

// build returns the current snapshot of a project, or nil if it was deleted.
// before is its last snapshot or nil: if only syncs happened since, unchanged
// parts are reused. Everything is read in one transaction for consistency.
func (d *Directory) build(ctx context.Context, before *Snapshot, id string) (after *Snapshot, err error) {
	var since int64
	if before != nil {
		since = before.revision
	}
	err = d.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		changes, err := notify.ChangesSince(tx, id, since)
		if err != nil {
			return err
		}
		switch {
		case !changes.OnlySyncs:
			after, err = d.read(tx, before, id)
		case len(changes.Servers) == 0: // already up to date
			after = before
			return nil
		default:
			after, err = refresh(tx, before, changes.Servers)
		}
		if after != nil {
			after.revision = changes.Revision
		}
		return err
	}, models.ConsistentRead(d.db))
	if err != nil {
		return nil, fault.Internal(err)
	}
	return after, nil
}

// read returns the snapshot of a project from all its rows, or nil if the
// project was deleted.
func (d *Directory) read(tx *gorm.DB, before *Snapshot, id string) (*Snapshot, error) {
	var src Source
	err := tx.First(&src.Project, "id = ?", id).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := tx.Find(&src.Servers, "project_id = ?", id).Error; err != nil {
		return nil, err
	}
	if err := tx.Find(&src.Toolsets, "project_id = ?", id).Error; err != nil {
		return nil, err
	}
	if err := readInventories(tx, &src, "server_id IN (SELECT id FROM servers WHERE project_id = ?)", id); err != nil {
		return nil, err
	}
	if src.Claims, err = readClaims(tx, id); err != nil {
		return nil, err
	}
	return Rebuild(before, src, d.targets), nil
}

// refresh returns a snapshot with the inventories of some servers reloaded.
func refresh(tx *gorm.DB, before *Snapshot, servers []string) (*Snapshot, error) {
	var src Source
	if err := readInventories(tx, &src, "server_id IN ?", servers); err != nil {
		return nil, err
	}
	var err error
	if src.Claims, err = readClaims(tx, before.Project.ID); err != nil {
		return nil, err
	}
	return Refresh(before, servers, src), nil
}

// readClaims returns the claims of a project, oldest first.
func readClaims(tx *gorm.DB, projectID string) (claims []models.AddressClaim, err error) {
	err = tx.Select("alias", "kind", "text_hash", "text", "position").Order("position, alias, kind, text_hash").Find(&claims, "project_id = ?", projectID).Error
	return claims, err
}

// readInventories reads the inventories of the servers that match the
// condition.
func readInventories(tx *gorm.DB, src *Source, condition string, argument any) error {
	var inventories []models.Inventory
	var tools []models.Tool
	var listings []models.Listing
	if err := tx.Find(&inventories, condition, argument).Error; err != nil {
		return err
	}
	// The times of tools are not selected: snapshots don't contain them, and
	// reading those of thousands of tools costs as much as everything else.
	if err := tx.Select("server_id", "name", "definition", "definition_hash", "approved_hash", "previous_definition", "confirmed_access", "changed_at").
		Order("server_id, position, name").Find(&tools, condition, argument).Error; err != nil {
		return err
	}
	if err := tx.Order("server_id, kind, position, ident").Find(&listings, condition, argument).Error; err != nil {
		return err
	}
	src.Inventories, src.Tools, src.Listings = map[string]*models.Inventory{}, map[string][]models.Tool{}, map[string][]models.Listing{}
	for i := range inventories {
		src.Inventories[inventories[i].ServerID] = &inventories[i]
	}
	for _, t := range tools {
		src.Tools[t.ServerID] = append(src.Tools[t.ServerID], t)
	}
	for _, l := range listings {
		src.Listings[l.ServerID] = append(src.Listings[l.ServerID], l)
	}
	return nil
}

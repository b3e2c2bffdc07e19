package toolset

import (
	"cmp"
	"context"
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

// loadAtOnce is the number of projects that Load reads with one set of queries.
const loadAtOnce = 100

// Load reads all projects from the database.
func (d *Directory) Load(ctx context.Context) error {
	d.rebuild.Lock()
	defer d.rebuild.Unlock()
	var ids []string
	if err := d.db.WithContext(ctx).Model(&models.Project{}).Order("id").Pluck("id", &ids).Error; err != nil {
		return fault.Internal(err)
	}
	now := d.current.Load()
	byID := make(map[string]*Snapshot, len(ids))
	for some := range slices.Chunk(ids, loadAtOnce) {
		if err := d.load(ctx, now, byID, some); err != nil {
			return fault.Internal(err)
		}
	}
	d.current.Store(newProjects(byID))
	return nil
}

// load adds the current snapshots of projects to byID, except of deleted projects.
// now are their last snapshots.
func (d *Directory) load(ctx context.Context, now *projects, byID map[string]*Snapshot, ids []string) error {
	return d.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		revisions, err := notify.ToolsetRevisions(tx, ids)
		if err != nil {
			return err
		}
		sources, err := readSources(tx, ids)
		if err != nil {
			return err
		}
		for id, src := range sources {
			byID[id] = Rebuild(now.byID[id], *src, d.targets)
			byID[id].revision = revisions[id]
		}
		return nil
	}, models.ConsistentRead(d.db))
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
	sources, err := readSources(tx, []string{id})
	if err != nil || sources[id] == nil {
		return nil, err
	}
	return Rebuild(before, *sources[id], d.targets), nil
}

// readSources returns all rows of projects by id, without deleted projects.
func readSources(tx *gorm.DB, ids []string) (map[string]*Source, error) {
	var rows []models.Project
	var servers []models.Server
	var toolsets []models.Toolset
	var recipes []models.Recipe
	claims, err := readClaims(tx, ids)
	if err == nil {
		err = cmp.Or(
			tx.Find(&rows, "id IN ?", ids).Error, tx.Find(&servers, "project_id IN ?", ids).Error, tx.Find(&toolsets, "project_id IN ?", ids).Error,
			tx.Order("name").Find(&recipes, "project_id IN ?", ids).Error,
		)
	}
	if err != nil {
		return nil, err
	}
	read, err := readInventories(tx, "server_id IN (SELECT id FROM servers WHERE project_id IN ?)", ids)
	if err != nil {
		return nil, err
	}
	sources := make(map[string]*Source, len(rows))
	for _, row := range rows {
		src := read
		src.Project, src.Claims = row, claims[row.ID]
		sources[row.ID] = &src
	}
	for _, row := range servers {
		if src := sources[row.ProjectID]; src != nil {
			src.Servers = append(src.Servers, row)
		}
	}
	for _, row := range toolsets {
		if src := sources[row.ProjectID]; src != nil {
			src.Toolsets = append(src.Toolsets, row)
		}
	}
	for _, row := range recipes {
		if src := sources[row.ProjectID]; src != nil {
			src.Recipes = append(src.Recipes, row)
		}
	}
	return sources, nil
}

// refresh returns a snapshot with the inventories of some servers reloaded.
func refresh(tx *gorm.DB, before *Snapshot, servers []string) (*Snapshot, error) {
	src, err := readInventories(tx, "server_id IN ?", servers)
	if err != nil {
		return nil, err
	}
	claims, err := readClaims(tx, []string{before.Project.ID})
	if err != nil {
		return nil, err
	}
	src.Claims = claims[before.Project.ID]
	return Refresh(before, servers, src), nil
}

// readClaims returns the claims of projects, oldest first.
func readClaims(tx *gorm.DB, projectIDs []string) (map[string][]models.AddressClaim, error) {
	var rows []models.AddressClaim
	err := tx.Select("project_id", "alias", "kind", "text_hash", "text", "position").Order("position, alias, kind, text_hash").Find(&rows, "project_id IN ?", projectIDs).Error
	claims := map[string][]models.AddressClaim{}
	for _, row := range rows {
		claims[row.ProjectID] = append(claims[row.ProjectID], row)
	}
	return claims, err
}

// readInventories returns the inventories of the servers that match the
// condition.
func readInventories(tx *gorm.DB, condition string, argument any) (src Source, err error) {
	var inventories []models.Inventory
	var tools []models.Tool
	var listings []models.Listing
	if err := tx.Find(&inventories, condition, argument).Error; err != nil {
		return src, err
	}
	// The times of tools are not selected: snapshots don't contain them, and
	// reading those of thousands of tools costs as much as everything else.
	if err := tx.Select("server_id", "name", "definition", "definition_hash", "approved_hash", "previous_definition", "confirmed_access", "changed_at").
		Order("server_id, position, name").Find(&tools, condition, argument).Error; err != nil {
		return src, err
	}
	if err := tx.Order("server_id, kind, position, ident").Find(&listings, condition, argument).Error; err != nil {
		return src, err
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
	return src, nil
}

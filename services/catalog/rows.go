package catalog

import (
	"maps"
	"slices"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/catalog/sources"
)

// rowState contains the properties of a row that an import needs.
type rowState struct {
	id, source, name, hash string
	deleted, locked        bool
	hidden                 bool
}

// rowKind contains the differences between entries and templates.
type rowKind[T any] interface {
	template() bool
	stored(tx *gorm.DB) ([]*T, error)
	state(row *T) rowState
	// merge completes the row that replaces an old one: the identity and
	// decisions of administrators stay. Without an old one the row is new.
	merge(old, row *T, source, id string)
	// markDeleted marks a row as deleted.
	markDeleted(row *T)
}

// planRows adds the changes of one kind of rows to the plan and returns the
// rows to store.
func planRows[T any](tx *gorm.DB, p *Plan, source string, said *sources.Rows[T], k rowKind[T]) ([]*T, error) {
	stored, err := k.stored(tx)
	if err != nil {
		return nil, err
	}
	byName, byID := make(map[string]*T, len(stored)), make(map[string]*T, len(stored))
	for _, row := range stored {
		st := k.state(row)
		byName[st.name], byID[st.id] = row, row
	}
	var changed []*T
	for _, row := range said.Rows {
		in := k.state(row)
		if said.Gone[in.name] {
			continue
		}
		old := byName[in.name]
		if old == nil {
			// A source that gives a known id another name has renamed the row.
			if same := byID[in.id]; same != nil && k.state(same).source == source && !said.Has(k.state(same).name) {
				old = same
			}
		}
		if old == nil {
			id := in.id
			if byID[id] != nil {
				id = sources.NewID(source+" ", in.name)
			}
			if len(stored)+p.Added >= sources.MaxRows {
				return nil, sources.TooMany()
			}
			p.add(ActionAdd, k.template(), in.name)
			k.merge(nil, row, source, id)
			changed, byID[id] = append(changed, row), row
			continue
		}
		switch was := k.state(old); {
		case was.source != source && (!was.deleted || was.locked || was.hidden):
			p.add(ActionTaken, k.template(), in.name)
		case was.source == source && was.hash == in.hash:
			p.Unchanged++
		case was.locked:
			p.add(ActionLocked, k.template(), in.name)
		default:
			p.add(ActionUpdate, k.template(), in.name)
			k.merge(old, row, source, was.id)
			changed = append(changed, row)
		}
	}
	return append(changed, planWithdrawn(p, source, said.Gone, byName, k)...), nil
}

// planWithdrawn adds the rows withdrawn by the source to the plan and returns
// the rows to store.
func planWithdrawn[T any](p *Plan, source string, gone map[string]bool, byName map[string]*T, k rowKind[T]) []*T {
	var changed []*T
	for _, name := range slices.Sorted(maps.Keys(gone)) {
		old := byName[name]
		if old == nil {
			continue
		}
		switch was := k.state(old); {
		case was.source != source || was.deleted:
		case was.locked:
			p.add(ActionLocked, k.template(), name)
		default:
			p.add(ActionDelete, k.template(), name)
			k.markDeleted(old)
			changed = append(changed, old)
		}
	}
	return changed
}

// entryKind and templateKind set the change time of rows to now.
type (
	entryKind    struct{ now time.Time }
	templateKind struct{ now time.Time }
)

func (entryKind) template() bool { return false }

func (entryKind) stored(tx *gorm.DB) ([]*models.CatalogEntry, error) {
	var rows []*models.CatalogEntry
	err := tx.Omit("document").Find(&rows).Error
	return rows, err
}

func (entryKind) state(row *models.CatalogEntry) rowState {
	return rowState{
		id: row.ID, source: row.SourceID, name: sources.FullName(row), hash: row.ContentHash,
		deleted: row.Status == models.CatalogDeleted, locked: row.Locked, hidden: row.Hidden,
	}
}

func (k entryKind) merge(old, row *models.CatalogEntry, source, id string) {
	row.ID, row.SourceID, row.CreatedAt, row.UpdatedAt = id, source, k.now, k.now
	if old == nil {
		return
	}
	row.CreatedAt, row.Hidden = old.CreatedAt, old.Hidden
	if old.FeaturedBy != "" {
		row.Featured, row.FeaturedBy = old.Featured, old.FeaturedBy
	}
	if old.VerifiedBy != "" {
		row.Verified, row.VerifiedEvidence, row.VerifiedBy = old.Verified, old.VerifiedEvidence, old.VerifiedBy
	}
}

// markDeleted also drops the document, which was not loaded, and the hash, so that the
// row returns when its source offers it again unchanged.
func (k entryKind) markDeleted(row *models.CatalogEntry) {
	row.Status, row.ContentHash, row.Document, row.UpdatedAt = models.CatalogDeleted, "", "", k.now
}

func (templateKind) template() bool { return true }

func (templateKind) stored(tx *gorm.DB) ([]*models.CatalogTemplate, error) {
	var rows []*models.CatalogTemplate
	err := tx.Find(&rows).Error
	return rows, err
}

func (templateKind) state(row *models.CatalogTemplate) rowState {
	return rowState{
		id: row.ID, source: row.SourceID, name: row.Slug, hash: row.ContentHash,
		deleted: row.Status == models.CatalogDeleted, locked: row.Locked, hidden: row.Hidden,
	}
}

func (k templateKind) merge(old, row *models.CatalogTemplate, source, id string) {
	row.ID, row.SourceID, row.UpdatedAt = id, source, k.now
	if old != nil {
		row.Hidden = old.Hidden
	}
}

func (k templateKind) markDeleted(row *models.CatalogTemplate) {
	row.Status, row.ContentHash, row.UpdatedAt = models.CatalogDeleted, "", k.now
}

package importer

import (
	"maps"
	"slices"

	"gorm.io/gorm"

	"mcpgateway/services/catalog/changes"
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
	// diff returns the changed members.
	diff(old, row *T) []changes.Member
	// remember adds a change of a stored row to its history.
	remember(p *Plan, id string, c Change)
	// whole reports whether rows that the source doesn't have are deleted.
	whole() bool
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
		if st.source == source && !st.deleted {
			p.Had++
		}
	}
	var changed []*T
	renamed := map[string]bool{} // former names
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
				renamed[k.state(same).name] = true
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
			p.add(Change{Action: ActionAdd, Template: k.template(), Name: in.name})
			k.merge(nil, row, source, id)
			changed, byID[id] = append(changed, row), row
			continue
		}
		switch was := k.state(old); {
		case was.source != source && (!was.deleted || was.locked || was.hidden):
			p.add(Change{Action: ActionTaken, Template: k.template(), Name: in.name})
		case was.source == source && was.hash == in.hash:
			p.Unchanged++
		case was.locked:
			p.add(Change{Action: ActionLocked, Template: k.template(), Name: in.name})
		default:
			k.merge(old, row, source, was.id)
			c := Change{Action: ActionUpdate, Template: k.template(), Name: in.name, Members: k.diff(old, row)}
			p.add(c)
			k.remember(p, was.id, c)
			changed = append(changed, row)
		}
	}
	gone := said.Gone
	if k.whole() {
		gone = maps.Clone(gone)
		for name, row := range byName {
			if st := k.state(row); st.source == source && !said.Has(name) && !renamed[name] {
				gone = with(gone, name)
			}
		}
	}
	return append(changed, planWithdrawn(p, source, gone, byName, k)...), nil
}

// with returns the set with a name, and makes it if it is nil.
func with(set map[string]bool, name string) map[string]bool {
	if set == nil {
		set = map[string]bool{}
	}
	set[name] = true
	return set
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
			p.add(Change{Action: ActionLocked, Template: k.template(), Name: name})
		default:
			c := Change{Action: ActionDelete, Template: k.template(), Name: name}
			p.add(c)
			k.remember(p, was.id, c)
			k.markDeleted(old)
			changed = append(changed, old)
		}
	}
	return changed
}

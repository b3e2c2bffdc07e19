// Package bulk applies one decision of an administrator to many entries of the
// catalog.
package bulk

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/catalog/changes"
	"mcpgateway/services/catalog/sources"
	"mcpgateway/services/fault"
)

// MaxRows is the maximum number of entries of one decision.
const MaxRows = 500

// batchSize is the number of rows per statement.
const batchSize = 400

// Action is a decision about entries.
type Action string

// The decisions. Tags lock an entry, as every edit does: imports don't change it
// any more. Approve adds entries to a view, Withdraw takes them out.
const (
	Hide      Action = "hide"
	Show      Action = "show"
	Feature   Action = "feature"
	Unfeature Action = "unfeature"
	AddTag    Action = "add-tag"
	RemoveTag Action = "remove-tag"
	Approve   Action = "approve"
	Withdraw  Action = "withdraw"
)

// Opposite returns the action that takes an action back.
func (a Action) Opposite() Action {
	return map[Action]Action{
		Hide: Show, Show: Hide, Feature: Unfeature, Unfeature: Feature, AddTag: RemoveTag, RemoveTag: AddTag, Approve: Withdraw, Withdraw: Approve,
	}[a]
}

// Decision is an action on entries.
type Decision struct {
	Action Action
	IDs    []string
	Tag    string // of AddTag and RemoveTag
	View   string // id of the view of Approve and Withdraw
}

// Writer runs a change of the catalog in a transaction, audits and publishes it.
// Implemented by catalog.Store.
type Writer interface {
	Change(ctx context.Context, write func(tx *gorm.DB) (*activity.Entry, error)) error
}

// Bulk applies decisions.
type Bulk struct {
	db    *gorm.DB
	write Writer
	now   func() time.Time
}

// New returns the decisions about entries in db.
func New(db *gorm.DB, write Writer, now func() time.Time) *Bulk {
	return &Bulk{db: db, write: write, now: now}
}

// Lists returns the views of kind list, by name.
func (b *Bulk) Lists(ctx context.Context) ([]models.CatalogView, error) {
	var views []models.CatalogView
	if err := b.db.WithContext(ctx).Order("name").Find(&views, "kind = ?", models.ViewList).Error; err != nil {
		return nil, fault.Internal(err)
	}
	return views, nil
}

// Entries returns the entries with the ids, by name and without documents. It
// returns VALIDATION_FAILED for no ids or more than MaxRows, and NOT_FOUND if one
// of them is unknown.
func (b *Bulk) Entries(ctx context.Context, ids []string) ([]*models.CatalogEntry, error) {
	return entries(b.db.WithContext(ctx), ids)
}

func entries(tx *gorm.DB, ids []string) ([]*models.CatalogEntry, error) {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	switch {
	case len(ids) == 0:
		return nil, fault.Validation(map[string]string{"rows": "select at least one entry"})
	case len(ids) > MaxRows:
		return nil, fault.Validation(map[string]string{"rows": fmt.Sprintf("select at most %d entries", MaxRows)})
	}
	var rows []*models.CatalogEntry
	for part := range slices.Chunk(ids, batchSize) {
		var some []*models.CatalogEntry
		if err := tx.Omit("document").Find(&some, "id IN ?", part).Error; err != nil {
			return nil, fault.Internal(err)
		}
		rows = append(rows, some...)
	}
	if len(rows) != len(ids) {
		return nil, fault.New(fault.KindNotFound, fault.CodeNotFound, "An entry no longer exists. Reload the list.")
	}
	slices.SortFunc(rows, func(a, b *models.CatalogEntry) int {
		if sources.FullName(a) < sources.FullName(b) {
			return -1
		}
		return 1
	})
	return rows, nil
}

// Apply applies a decision in one transaction with one audit entry and returns the
// ids of the entries that it changed. It returns the errors of Entries,
// VALIDATION_FAILED for an unknown action or a missing tag, and NOT_FOUND for an
// unknown view.
func (b *Bulk) Apply(ctx context.Context, d Decision) ([]string, error) {
	var changed []string
	err := b.write.Change(ctx, func(tx *gorm.DB) (*activity.Entry, error) {
		rows, err := entries(tx, d.IDs)
		if err != nil {
			return nil, err
		}
		detail := map[string]string{"action": string(d.Action)}
		rows, err = b.apply(tx, &d, rows, detail)
		if err != nil || len(rows) == 0 {
			return nil, err
		}
		changed = make([]string, len(rows))
		names := make([]string, len(rows))
		for i, e := range rows {
			changed[i], names[i] = e.ID, sources.FullName(e)
		}
		addNames(detail, names)
		return &activity.Entry{Action: "catalog.rows_changed", Object: strconv.Itoa(len(rows)) + " rows", Detail: detail}, nil
	})
	return changed, err
}

// apply changes the entries that are not yet as decided and returns them as they
// were before.
func (b *Bulk) apply(tx *gorm.DB, d *Decision, rows []*models.CatalogEntry, detail map[string]string) ([]*models.CatalogEntry, error) {
	switch d.Action {
	case Hide, Show:
		hidden := d.Action == Hide
		rows = slices.DeleteFunc(rows, func(e *models.CatalogEntry) bool { return e.Hidden == hidden })
		return rows, b.update(tx, d.Action, rows, map[string]any{"hidden": hidden})
	case Feature, Unfeature:
		featured := d.Action == Feature
		rows = slices.DeleteFunc(rows, func(e *models.CatalogEntry) bool { return e.Featured == featured })
		return rows, b.update(tx, d.Action, rows, map[string]any{"featured": featured, "featured_by": "admin"})
	case AddTag, RemoveTag:
		return b.tag(tx, d, rows, detail)
	case Approve, Withdraw:
		return b.list(tx, d, rows, detail)
	}
	return nil, fault.Validation(map[string]string{"do": "choose an action"})
}

// update sets the columns of the entries and records it in their history.
func (b *Bulk) update(tx *gorm.DB, action Action, rows []*models.CatalogEntry, columns map[string]any) error {
	columns["updated_at"] = b.now()
	for part := range slices.Chunk(rows, batchSize) {
		if err := tx.Model(&models.CatalogEntry{}).Where("id IN ?", ids(part)).Updates(columns).Error; err != nil {
			return err
		}
	}
	return changes.Decided(tx, "bulk."+string(action), b.now(), rows...)
}

func (b *Bulk) tag(tx *gorm.DB, d *Decision, rows []*models.CatalogEntry, detail map[string]string) ([]*models.CatalogEntry, error) {
	clean := sources.Tags([]string{d.Tag})
	if len(clean) != 1 {
		return nil, fault.Validation(map[string]string{"tag": "enter a tag"})
	}
	if problem := sources.CheckTags([]string{d.Tag}); problem != "" {
		return nil, fault.Validation(map[string]string{"tag": problem})
	}
	tag := clean[0]
	detail["tag"] = tag
	var before []*models.CatalogEntry
	for _, e := range rows {
		tags := slices.DeleteFunc(slices.Clone([]string(e.Tags)), func(t string) bool { return t == tag })
		if d.Action == AddTag {
			tags = append(tags, tag)
			if problem := sources.CheckTags(tags); problem != "" {
				return nil, fault.Validation(map[string]string{"tag": sources.FullName(e) + ": " + problem})
			}
		}
		if slices.Contains(e.Tags, tag) == slices.Contains(tags, tag) {
			continue
		}
		err := tx.Model(&models.CatalogEntry{}).Where("id = ?", e.ID).
			Updates(map[string]any{"tags": models.StringList(tags), "locked": true, "updated_at": b.now()}).Error
		if err != nil {
			return nil, err
		}
		before = append(before, e)
	}
	return before, changes.Decided(tx, "bulk."+string(d.Action), b.now(), before...)
}

// list adds entries to a view or takes them out.
func (b *Bulk) list(tx *gorm.DB, d *Decision, rows []*models.CatalogEntry, detail map[string]string) ([]*models.CatalogEntry, error) {
	var views []models.CatalogView
	if err := tx.Limit(1).Find(&views, "id = ? AND kind = ?", d.View, models.ViewList).Error; err != nil {
		return nil, err
	}
	if len(views) == 0 {
		return nil, fault.NotFound("list", sources.Clip(d.View, sources.MaxName))
	}
	detail["view"] = views[0].Name
	var approved []string
	if err := tx.Model(&models.CatalogViewEntry{}).Where("view_id = ?", d.View).Pluck("entry_id", &approved).Error; err != nil {
		return nil, err
	}
	inside := make(map[string]bool, len(approved))
	for _, id := range approved {
		inside[id] = true
	}
	rows = slices.DeleteFunc(rows, func(e *models.CatalogEntry) bool { return inside[e.ID] == (d.Action == Approve) })
	if len(rows) == 0 {
		return nil, nil
	}
	if d.Action == Approve {
		added := make([]models.CatalogViewEntry, len(rows))
		for i, e := range rows {
			added[i] = models.CatalogViewEntry{ViewID: d.View, EntryID: e.ID, AddedAt: b.now()}
		}
		if err := tx.Clauses(clause.OnConflict{DoNothing: true}).CreateInBatches(added, batchSize).Error; err != nil {
			return nil, err
		}
	} else {
		for part := range slices.Chunk(rows, batchSize) {
			if err := tx.Delete(&models.CatalogViewEntry{}, "view_id = ? AND entry_id IN ?", d.View, ids(part)).Error; err != nil {
				return nil, err
			}
		}
	}
	return rows, b.remember(tx, d, rows, views[0].Name)
}

// remember records in the history of entries that a view lists them, or no longer
// does.
func (b *Bulk) remember(tx *gorm.DB, d *Decision, rows []*models.CatalogEntry, view string) error {
	actor := changes.ActorOf(tx.Statement.Context)
	history := make([]models.CatalogChange, len(rows))
	for i, e := range rows {
		member := changes.Member{Name: "view", Old: changes.None, New: view}
		if d.Action == Withdraw {
			member.Old, member.New = member.New, member.Old
		}
		history[i] = changes.New(e.ID, b.now(), actor, "bulk."+string(d.Action), []changes.Member{member})
	}
	return changes.Record(tx, history)
}

func ids(rows []*models.CatalogEntry) []string {
	out := make([]string, len(rows))
	for i, e := range rows {
		out[i] = e.ID
	}
	return out
}

// maxNameFields is the maximum number of details with names.
const maxNameFields = 25

// addNames adds names to the details of an audit entry, in as many fields as they
// need. Names beyond the limits of the audit log are counted.
func addNames(detail map[string]string, names []string) {
	field, n := "", 1
	for i, name := range names {
		switch {
		case field == "":
			field = name
		case len(field)+len(", ")+len(name) <= activity.MaxField-len("and 500 more"):
			field += ", " + name
		case n == maxNameFields:
			detail[fieldName(n)] = field + fmt.Sprintf(" and %d more", len(names)-i)
			return
		default:
			detail[fieldName(n)] = field
			field = name
			n++
		}
	}
	detail[fieldName(n)] = field
}

func fieldName(n int) string {
	if n == 1 {
		return "rows"
	}
	return fmt.Sprintf("rows %02d", n)
}

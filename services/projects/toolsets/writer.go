package toolsets

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
)

// Writer changes the toolsets of one project in the caller's transaction, which
// has locked the project. The caller records Entries and publishes Topics.
type Writer struct {
	Tx      *gorm.DB
	Project *models.Project
	Now     time.Time
	Entries []activity.Entry
	Topics  map[notify.Topic]bool
}

// Saved is a toolset after a change.
type Saved struct {
	Toolset models.Toolset
	Created bool
	Fields  []string // changed ones; empty for a new toolset
}

// Save creates the toolset with the slug or applies the declared fields to it.
// It returns VALIDATION_FAILED for too many patterns or toolsets.
func (w *Writer) Save(slug string, d *declaration.Toolset) (Saved, error) { return w.save(slug, d) }

func (w *Writer) save(slug string, d *declaration.Toolset) (Saved, error) {
	row, err := get(w.Tx, w.Project.ID, slug)
	found := err == nil
	if err != nil && !fault.Is(err, fault.CodeNotFound) {
		return Saved{}, err
	}
	if !found {
		row = models.Toolset{ID: uuid.Must(uuid.NewV7()).String(), ProjectID: w.Project.ID, Slug: slug, Name: slug, CreatedAt: w.Now}
	}
	fields := merge(&row, d)
	if len(row.Include)+len(row.Exclude) > declaration.MaxPatterns {
		field := "exclude"
		if d.Exclude == nil {
			field = "include"
		}
		return Saved{}, fault.Validation(map[string]string{field: declaration.TooManyPatterns()})
	}
	if found && len(fields) == 0 {
		return Saved{Toolset: row}, nil
	}
	row.UpdatedAt = w.Now
	w.Topics[notify.Toolset(w.Project.ID)] = true
	if found {
		w.record("toolset.updated", &row, map[string]string{"fields": strings.Join(fields, ", ")})
		return Saved{Toolset: row, Fields: fields}, w.Tx.Save(&row).Error
	}
	var stored int64
	if err := w.Tx.Model(&models.Toolset{}).Where("project_id = ?", w.Project.ID).Count(&stored).Error; err != nil {
		return Saved{}, err
	}
	if stored >= declaration.MaxToolsets {
		return Saved{}, fault.Validation(map[string]string{"toolsets": declaration.TooManyToolsets()})
	}
	w.record("toolset.created", &row, nil)
	return Saved{Toolset: row, Created: true}, w.Tx.Create(&row).Error
}

// accept records that an unchanged toolset was saved after a sync changed its
// members. Otherwise it does nothing.
func (w *Writer) accept(row *models.Toolset) error {
	moved, err := movedOf(w.Tx, w.Project.Slug, []models.Toolset{*row}, w.Now)
	if _, changed := moved[row.ID]; err != nil || !changed {
		return err
	}
	row.UpdatedAt = w.Now
	w.Topics[notify.Toolset(w.Project.ID)] = true
	w.record("toolset.updated", row, map[string]string{"fields": "", "accepted": moved[row.ID].Server})
	return w.Tx.Save(row).Error
}

func (w *Writer) record(action string, row *models.Toolset, detail map[string]string) {
	w.Entries = append(w.Entries, activity.Entry{Action: action, Object: row.Slug, ObjectID: row.ID, Project: w.Project.Slug, Detail: detail})
}

// merge applies the declared fields to the row and returns the declarative names
// of the changed ones.
func merge(row *models.Toolset, d *declaration.Toolset) (changed []string) {
	text := func(name string, stored, declared *string) {
		if declared != nil && *declared != *stored {
			*stored = *declared
			changed = append(changed, name)
		}
	}
	list := func(name string, stored *models.StringList, declared *[]string) {
		if declared != nil && !slices.Equal(*declared, *stored) {
			*stored = slices.Clone(*declared)
			changed = append(changed, name)
		}
	}
	if d.Name != nil && strings.TrimSpace(*d.Name) == "" {
		text("name", &row.Name, &row.Slug)
	} else {
		text("name", &row.Name, d.Name)
	}
	text("description", &row.Description, d.Description)
	text("query", &row.Query, d.Query)
	list("include", &row.Include, d.Include)
	list("exclude", &row.Exclude, d.Exclude)
	list("offersOf", &row.OffersOf, d.OffersOf)
	text("toolExposure", (*string)(&row.ToolExposure), (*string)(d.ToolExposure))
	return changed
}

// Draft returns the row of a toolset that is not stored, or VALIDATION_FAILED
// like Store.Create.
func Draft(d *declaration.Toolset) (models.Toolset, error) {
	d, err := d.Check()
	if err != nil {
		return models.Toolset{}, err
	}
	row := models.Toolset{ID: "draft"}
	merge(&row, d)
	return row, nil
}

// Delete deletes a toolset. Without force it returns CONFLICT for a toolset in
// use.
func (w *Writer) Delete(row *models.Toolset, force bool) error {
	use, err := useOf(w.Tx, row.ID, w.Now)
	if err != nil {
		return err
	}
	if use.Any() && !force {
		return use.conflict(row)
	}
	ended, err := w.revokeKeys(row, use)
	if err != nil {
		return err
	}
	if err := w.endGrants(row, use); err != nil {
		return err
	}
	w.record("toolset.deleted", row, map[string]string{
		"keys": strconv.Itoa(len(use.Keys)), "keysRevoked": strconv.Itoa(ended), "people": strconv.Itoa(len(use.People)),
		"groups": strconv.Itoa(use.Groups), "apps": strconv.Itoa(use.Apps),
	})
	w.Topics[notify.Toolset(w.Project.ID)] = true
	return w.Tx.Delete(&models.Toolset{}, "id = ?", row.ID).Error // with its rows in key_toolsets
}

// revokeKeys revokes the keys that have no toolset but row, and returns their
// number.
func (w *Writer) revokeKeys(row *models.Toolset, use Use) (revoked int, err error) {
	if len(use.Keys) == 0 {
		return 0, nil
	}
	w.Topics[notify.Keys(w.Project.ID)] = true
	for _, key := range use.Keys {
		if !key.Ends {
			continue
		}
		revoked++
		w.Entries = append(w.Entries, activity.Entry{
			Action: "key.revoked", Object: key.Called(), ObjectID: key.ID, Project: w.Project.Slug,
			Detail: map[string]string{"reason": "toolset deleted", "toolset": row.Slug},
		})
	}
	return revoked, w.Tx.Exec(`UPDATE keys SET revoked_at = ? WHERE revoked_at IS NULL AND scope = ? AND id IN (SELECT key_id FROM key_toolsets WHERE toolset_id = ?)
		AND id NOT IN (SELECT key_id FROM key_toolsets WHERE toolset_id <> ?)`, w.Now, models.KeyToolsets, row.ID, row.ID).Error
}

// endGrants removes the toolset from people and groups, and ends the access of
// clients that signed in at its endpoint.
func (w *Writer) endGrants(row *models.Toolset, use Use) error {
	if len(use.People)+use.Groups > 0 {
		w.Topics[notify.Access(w.Project.ID)] = true
	}
	if err := w.Tx.Delete(&models.ProjectGrant{}, "toolset_id = ? AND project_id = ?", row.ID, w.Project.ID).Error; err != nil {
		return err
	}
	if err := w.Tx.Delete(&models.OAuthCode{}, "toolset_id = ? AND project_id = ?", row.ID, w.Project.ID).Error; err != nil {
		return err
	}
	ended := w.Tx.Model(&models.OAuthGrant{}).Where("toolset_id = ? AND project_id = ? AND revoked_at IS NULL", row.ID, w.Project.ID).Update("revoked_at", w.Now)
	if ended.RowsAffected > 0 {
		w.Topics[notify.Grants(w.Project.ID)] = true
	}
	return ended.Error
}

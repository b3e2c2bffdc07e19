package keys

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
)

// MaxToolsets is the maximum number of toolsets of a key.
const MaxToolsets = 20

// Owner is the person who owns a personal key.
type Owner struct {
	ID   string
	Name string // empty for a deleted user
}

// Toolset is a toolset that a key can use.
type Toolset struct{ ID, Slug, Name string }

// Details are the owner and the scope of a key.
type Details struct {
	Owner    *Owner    // nil for keys of the project itself
	Limited  bool      // the key can use Toolsets only
	Toolsets []Toolset // sorted by slug
}

// Slugs returns the slugs of the toolsets of a limited key, and nil for other
// keys.
func (d Details) Slugs() []string {
	if !d.Limited {
		return nil
	}
	slugs := make([]string, len(d.Toolsets))
	for i, t := range d.Toolsets {
		slugs[i] = t.Slug
	}
	return slugs
}

// addTo adds the owner and the toolsets to the detail of an audit entry.
func (d Details) addTo(detail map[string]string) map[string]string {
	if d.Owner == nil && !d.Limited {
		return detail
	}
	if detail == nil {
		detail = map[string]string{}
	}
	if d.Owner != nil {
		detail["owner"], detail["ownerId"] = d.Owner.Name, d.Owner.ID
	}
	if d.Limited {
		detail["toolsets"] = strings.Join(d.Slugs(), ", ")
	}
	return detail
}

// Details returns the owners and scopes of keys, by the ID of the key.
func (k *Store) Details(ctx context.Context, rows ...models.Key) (map[string]Details, error) {
	found, err := describe(k.db.WithContext(ctx), rows)
	if err != nil {
		return nil, fault.Internal(err)
	}
	return found, nil
}

// describe is Details in a transaction.
func describe(tx *gorm.DB, rows []models.Key) (map[string]Details, error) {
	found := make(map[string]Details, len(rows))
	var limited, owners []string
	for _, row := range rows {
		d := Details{Limited: row.Scope != models.KeyProject}
		if d.Limited {
			limited = append(limited, row.ID)
		}
		if row.UserID != "" {
			d.Owner = &Owner{ID: row.UserID}
			owners = append(owners, row.UserID)
		}
		found[row.ID] = d
	}
	if err := nameOwners(tx, owners, found); err != nil {
		return nil, err
	}
	if len(limited) == 0 {
		return found, nil
	}
	var toolsets []struct {
		KeyID string
		Toolset
	}
	err := tx.Table("key_toolsets k").Select("k.key_id, t.id, t.slug, t.name").Joins("JOIN toolsets t ON t.id = k.toolset_id").
		Where("k.key_id IN ?", limited).Order("t.slug").Scan(&toolsets).Error
	for _, t := range toolsets {
		d := found[t.KeyID]
		d.Toolsets = append(d.Toolsets, t.Toolset)
		found[t.KeyID] = d
	}
	return found, err
}

// nameOwners sets the names of the owners.
func nameOwners(tx *gorm.DB, ids []string, of map[string]Details) error {
	if len(ids) == 0 {
		return nil
	}
	slices.Sort(ids)
	var users []models.User
	if err := tx.Select("id", "name").Find(&users, "id IN ?", slices.Compact(ids)).Error; err != nil {
		return err
	}
	names := map[string]string{}
	for _, u := range users {
		names[u.ID] = u.Name
	}
	for _, d := range of {
		if d.Owner != nil {
			d.Owner.Name = names[d.Owner.ID]
		}
	}
	return nil
}

// SetToolsets replaces the toolsets that a key can use by those with the slugs;
// nil is everything. It records key.updated, and applies from the next request.
// It returns VALIDATION_FAILED for an invalid number of toolsets, NOT_FOUND for
// an unknown key or toolset, FORBIDDEN for a personal key and CONFLICT for a
// revoked one.
func (k *Store) SetToolsets(ctx context.Context, projectID, id string, slugs []string) error {
	if why := toolsetsProblem(slugs); why != "" {
		return fault.Validation(map[string]string{"toolsets": why})
	}
	return k.change(ctx, projectID, func(tx *gorm.DB) (*activity.Entry, error) {
		row, err := k.get(tx, projectID, id)
		switch {
		case err != nil:
			return nil, err
		case row.UserID != "":
			return nil, fault.Forbidden("Only its owner can choose the toolsets of a personal key. You can revoke it.")
		case row.RevokedAt != nil:
			return nil, fault.Conflict("Key %s is revoked.", id)
		}
		before, err := describe(tx, []models.Key{row})
		if err != nil {
			return nil, err
		}
		toolsets, err := toolsetsBySlug(tx, projectID, slugs)
		if err != nil {
			return nil, err
		}
		row.Scope = scopeOf(slugs)
		if err := setToolsets(tx, row, toolsets); err != nil {
			return nil, err
		}
		return k.entryOf(tx, "key.updated", row, map[string]string{"from": words(before[id]), "toolsets": words(Details{Limited: slugs != nil, Toolsets: toolsets})})
	})
}

// words returns the toolsets of a key for the audit log.
func words(d Details) string {
	if !d.Limited {
		return "everything"
	}
	return strings.Join(d.Slugs(), ", ")
}

// toolsetsProblem returns the reason that a list of toolsets is invalid, or "".
func toolsetsProblem(slugs []string) string {
	if slugs == nil {
		return ""
	}
	if len(slugs) == 0 || len(slugs) > MaxToolsets {
		return fmt.Sprintf("Choose 1 to %d toolsets, or everything.", MaxToolsets)
	}
	return ""
}

// scopeOf returns the scope of a key with the toolsets; nil is everything.
func scopeOf(slugs []string) models.KeyScope {
	if slugs == nil {
		return models.KeyProject
	}
	return models.KeyToolsets
}

// toolsetsBySlug returns the toolsets of a project with the slugs, sorted. It
// returns NOT_FOUND for the first unknown one.
func toolsetsBySlug(tx *gorm.DB, projectID string, slugs []string) ([]Toolset, error) {
	if len(slugs) == 0 {
		return nil, nil
	}
	var found []Toolset
	if err := tx.Table("toolsets").Select("id, slug, name").Where("project_id = ? AND slug IN ?", projectID, slugs).Order("slug").Scan(&found).Error; err != nil {
		return nil, err
	}
	for _, slug := range slugs {
		if !slices.ContainsFunc(found, func(t Toolset) bool { return t.Slug == slug }) {
			return nil, fault.NotFound("toolset", slug)
		}
	}
	return found, nil
}

// toolsetsOf returns the toolsets of a key.
func toolsetsOf(tx *gorm.DB, keyID string) ([]Toolset, error) {
	var found []Toolset
	err := tx.Table("key_toolsets k").Select("t.id, t.slug, t.name").Joins("JOIN toolsets t ON t.id = k.toolset_id").
		Where("k.key_id = ?", keyID).Order("t.slug").Scan(&found).Error
	return found, err
}

// insert stores a new key with its toolsets.
func insert(tx *gorm.DB, row models.Key, toolsets []Toolset) error {
	if err := tx.Create(&row).Error; err != nil {
		return err
	}
	return addToolsets(tx, row.ID, toolsets)
}

// setToolsets replaces the scope and the toolsets of a stored key.
func setToolsets(tx *gorm.DB, row models.Key, toolsets []Toolset) error {
	if err := tx.Model(&models.Key{}).Where("id = ?", row.ID).Update("scope", row.Scope).Error; err != nil {
		return err
	}
	if err := tx.Delete(&models.KeyToolset{}, "key_id = ?", row.ID).Error; err != nil {
		return err
	}
	return addToolsets(tx, row.ID, toolsets)
}

func addToolsets(tx *gorm.DB, keyID string, toolsets []Toolset) error {
	if len(toolsets) == 0 {
		return nil
	}
	rows := make([]models.KeyToolset, len(toolsets))
	for i, t := range toolsets {
		rows[i] = models.KeyToolset{KeyID: keyID, ToolsetID: t.ID}
	}
	return tx.Create(&rows).Error
}

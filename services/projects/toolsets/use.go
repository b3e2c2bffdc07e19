package toolsets

import (
	"context"
	"strconv"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/fault"
)

// Use names who uses a toolset.
type Use struct {
	Keys   []UsedKey     // usable ones
	People []models.User // by e-mail address
	Groups int
	Apps   int // clients that people signed in at its endpoint
}

// UsedKey is a key that can use a toolset.
type UsedKey struct {
	models.Key
	Ends bool // it has no other toolset
}

// Called returns the name of the key, or its first characters.
func (k UsedKey) Called() string {
	if k.Name == "" {
		return k.Prefix + "…"
	}
	return k.Name
}

// Any reports whether a key, a person or a group uses the toolset.
func (u Use) Any() bool { return len(u.Keys)+len(u.People)+u.Groups > 0 }

// conflict returns CONFLICT for the deletion of a toolset in use.
func (u Use) conflict(row *models.Toolset) error {
	f := fault.Conflict("Toolset %s is in use. Remove it from its keys, people and groups first, or delete it with force.", row.Slug)
	f.Fields = map[string]string{"keys": strconv.Itoa(len(u.Keys)), "people": strconv.Itoa(len(u.People)), "groups": strconv.Itoa(u.Groups)}
	return f
}

// Use returns who uses a toolset.
func (s *Store) Use(ctx context.Context, toolsetID string) (Use, error) {
	use, err := useOf(s.db.WithContext(ctx), toolsetID, s.now())
	if err != nil {
		return Use{}, fault.Internal(err)
	}
	return use, nil
}

func useOf(tx *gorm.DB, toolsetID string, now time.Time) (use Use, err error) {
	const usable = "revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)"
	var keys []models.Key
	if err := tx.Order("created_at, id").Find(&keys, usable+" AND id IN (SELECT key_id FROM key_toolsets WHERE toolset_id = ?)", now, toolsetID).Error; err != nil {
		return use, err
	}
	var wider []string // keys with another toolset
	err = tx.Model(&models.KeyToolset{}).Where("toolset_id <> ? AND key_id IN (SELECT key_id FROM key_toolsets WHERE toolset_id = ?)", toolsetID, toolsetID).
		Distinct().Pluck("key_id", &wider).Error
	if err != nil {
		return use, err
	}
	other := map[string]bool{}
	for _, id := range wider {
		other[id] = true
	}
	for _, key := range keys {
		use.Keys = append(use.Keys, UsedKey{Key: key, Ends: key.Scope == models.KeyToolsets && !other[key.ID]})
	}
	const granted = "SELECT subject_id FROM project_grants WHERE toolset_id = ? AND subject_kind = ?"
	if err := tx.Order("email_fold, id").Find(&use.People, "id IN ("+granted+")", toolsetID, models.SubjectPerson).Error; err != nil {
		return use, err
	}
	var groups, apps int64
	if err := tx.Model(&models.ProjectGrant{}).Where("toolset_id = ? AND subject_kind = ?", toolsetID, models.SubjectGroup).Count(&groups).Error; err != nil {
		return use, err
	}
	if err := tx.Model(&models.OAuthGrant{}).Where("toolset_id = ? AND revoked_at IS NULL AND expires_at > ?", toolsetID, now).Count(&apps).Error; err != nil {
		return use, err
	}
	use.Groups, use.Apps = int(groups), int(apps)
	return use, nil
}

// Counts are the numbers of keys, people and groups that use a toolset.
type Counts struct{ Keys, People, Groups int }

// Counts returns the numbers of those who use the toolsets of a project, by
// toolset id.
func (s *Store) Counts(ctx context.Context, projectID string) (map[string]Counts, error) {
	type row struct {
		ToolsetID, Kind string
		N               int
	}
	var rows []row
	err := s.db.WithContext(ctx).Raw(`SELECT kt.toolset_id AS toolset_id, 'key' AS kind, COUNT(*) AS n FROM key_toolsets kt JOIN keys k ON k.id = kt.key_id
			WHERE k.project_id = ? AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > ?) GROUP BY kt.toolset_id
		UNION ALL SELECT toolset_id, subject_kind, COUNT(*) FROM project_grants WHERE project_id = ? AND toolset_id <> '' GROUP BY toolset_id, subject_kind`,
		projectID, s.now(), projectID).Scan(&rows).Error
	if err != nil {
		return nil, fault.Internal(err)
	}
	counts := map[string]Counts{}
	for _, r := range rows {
		c := counts[r.ToolsetID]
		switch r.Kind {
		case "key":
			c.Keys = r.N
		case string(models.SubjectPerson):
			c.People = r.N
		case string(models.SubjectGroup):
			c.Groups = r.N
		}
		counts[r.ToolsetID] = c
	}
	return counts, nil
}

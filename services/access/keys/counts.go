package keys

import (
	"context"

	"mcpgateway/models"
	"mcpgateway/services/fault"
)

// Usable returns the number of keys that clients can use by project ID, for
// projects with such keys.
func (k *Store) Usable(ctx context.Context) (map[string]int, error) {
	var rows []struct {
		ProjectID string
		Keys      int
	}
	err := k.db.WithContext(ctx).Model(&models.Key{}).Select("project_id, COUNT(*) AS keys").
		Where("revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)", k.now()).Group("project_id").Scan(&rows).Error
	if err != nil {
		return nil, fault.Internal(err)
	}
	counts := make(map[string]int, len(rows))
	for _, row := range rows {
		counts[row.ProjectID] = row.Keys
	}
	return counts, nil
}

package keys

import (
	"context"

	"mcpgateway/models"
	"mcpgateway/services/fault"
)

const (
	actionRotated   = "key.rotated"
	detailSuccessor = "successor"
)

// Successors returns the IDs of the keys that replaced the given ones, by the ID
// of the replaced key. A key that was rotated twice has its last successor. It
// reads the audit entries that Rotate writes.
func (k *Store) Successors(ctx context.Context, ids []string) (map[string]string, error) {
	var rows []models.AuditEntry
	err := k.db.WithContext(ctx).Select("object_id", "detail").Order("seq").
		Find(&rows, "action = ? AND object_id IN ?", actionRotated, ids).Error
	if err != nil {
		return nil, fault.Internal(err)
	}
	successors := map[string]string{}
	for _, row := range rows {
		successors[row.ObjectID] = row.Detail[detailSuccessor]
	}
	return successors, nil
}

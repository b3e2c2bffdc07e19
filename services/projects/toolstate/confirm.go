package toolstate

import (
	"context"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
	"mcpgateway/services/toolset"
)

// ConfirmAccess confirms the effect that a tool's annotations claim, so that
// toolsets go by it. tool is the definition that the user saw. It records
// tool.access_confirmed. It returns NOT_FOUND for
// an unknown tool, and CONFLICT if its definition has changed.
func (s *Store) ConfirmAccess(ctx context.Context, slug string, tool Definition) error {
	return s.change(ctx, slug, func(tx *gorm.DB, project *models.Project) ([]activity.Entry, error) {
		row, err := newToolFinder(tx, project.ID).find(tool.Name, models.LockRow(tx)...)
		if err != nil {
			return nil, err
		}
		if row == nil {
			return nil, fault.NotFound("tool", tool.Name)
		}
		if row.DefinitionHash != tool.Hash {
			return nil, fault.Conflict("The definition of this tool has changed since. Review it again.")
		}
		now := toolset.DeclaredAccess([]byte(row.Definition))
		if row.ConfirmedAccess == "" || toolset.Access(row.ConfirmedAccess) == now {
			return nil, nil
		}
		entry := activity.Entry{
			Action: "tool.access_confirmed", Object: tool.Name, ObjectID: row.ServerID, Project: slug,
			Detail: map[string]string{"definition": row.DefinitionHash, "from": row.ConfirmedAccess, "to": string(now)},
		}
		return []activity.Entry{entry}, confirmAccess(tx, &row.Tool)
	})
}

// confirmAccess stores the effect that the current definition of a tool claims.
func confirmAccess(tx *gorm.DB, row *models.Tool) error {
	row.ConfirmedAccess = string(toolset.DeclaredAccess([]byte(row.Definition)))
	return tx.Model(&models.Tool{}).Where("server_id = ? AND name = ?", row.ServerID, row.Name).Update("confirmed_access", row.ConfirmedAccess).Error
}

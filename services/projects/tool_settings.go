package projects

import (
	"context"
	"slices"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
	"mcpgateway/services/toolset"
)

// SetTool enables or disables a tool of a project, or approves its current
// definition. Nil leaves a setting unchanged. name is alias__tool. It records
// changes as tool.enabled, tool.disabled, tool.approved or
// tool.approval_withdrawn. It returns NOT_FOUND for a tool that no sync has
// found.
func (s *Store) SetTool(ctx context.Context, slug, name string, enabled, approved *bool) error {
	if enabled == nil || *enabled {
		return s.setTool(ctx, slug, name, enabled, approved)
	}
	return models.Essential(s.db, func() error { return s.setTool(ctx, slug, name, enabled, approved) })
}

func (s *Store) setTool(ctx context.Context, slug, name string, enabled, approved *bool) error {
	project, err := s.Project(ctx, slug)
	if err != nil {
		return err
	}
	alias, tool, _ := toolset.SplitName(name)
	topic := notify.Toolset(project.ID)
	err = s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		// Locked for other writers, because the list of disabled tools is one
		// value.
		err := tx.Clauses(models.LockRow(tx)...).First(&project, "id = ?", project.ID).Error
		if err := notFound(err, "project", slug); err != nil {
			return err
		}
		var row models.Tool
		err = tx.First(&row, "name = ? AND server_id = (SELECT id FROM servers WHERE project_id = ? AND alias = ?)", tool, project.ID, alias).Error
		if err := notFound(err, "tool", name); err != nil {
			return err
		}
		done := toolChanges{name: name, project: slug, row: row}
		if enabled != nil {
			if err := done.enable(tx, &project, *enabled); err != nil {
				return err
			}
		}
		if approved != nil {
			if err := done.approve(tx, *approved); err != nil {
				return err
			}
		}
		if err := s.audit.RecordAll(tx, done.entries); err != nil {
			return err
		}
		return notify.Touch(tx, topic)
	})
	if err != nil {
		return fault.From(err)
	}
	return s.feed.Publish(ctx, topic)
}

// toolChanges writes the settings of one tool and records the changed ones.
type toolChanges struct {
	name, project string
	row           models.Tool
	entries       []activity.Entry
}

func (c *toolChanges) note(action string) {
	c.entries = append(c.entries, activity.Entry{
		Action: action, Object: c.name, ObjectID: c.row.ServerID, Project: c.project,
		Detail: map[string]string{"definition": c.row.DefinitionHash},
	})
}

func (c *toolChanges) enable(tx *gorm.DB, project *models.Project, enabled bool) error {
	if enabled != slices.Contains(project.DisabledTools, c.name) {
		return nil // already set
	}
	off := without(project.DisabledTools, c.name)
	action := "tool.enabled"
	if !enabled {
		off = sorted(append(off, c.name))
		action = "tool.disabled"
	}
	if len(off) > declaration.MaxDisabledTools {
		return fault.Validation(map[string]string{"disabledTools": "too many disabled tools: use denyTools of their server instead"})
	}
	c.note(action)
	return tx.Model(project).Update("disabled_tools", models.StringList(off)).Error
}

func (c *toolChanges) approve(tx *gorm.DB, approved bool) error {
	hash, action := "", "tool.approval_withdrawn"
	if approved {
		hash, action = c.row.DefinitionHash, "tool.approved"
	}
	if hash == c.row.ApprovedHash {
		return nil
	}
	c.note(action)
	return tx.Model(&c.row).Update("approved_hash", hash).Error
}

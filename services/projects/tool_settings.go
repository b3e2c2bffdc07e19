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
)

// SetTool enables or disables a tool of a project, or approves its current
// definition. Nil leaves a setting unchanged. name is the exported one. It records
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
	topic := notify.Toolset(project.ID)
	err = s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		// Locked for other writers, because the list of disabled tools is one
		// value.
		err := tx.Clauses(models.LockRow(tx)...).First(&project, "id = ?", project.ID).Error
		if err := notFound(err, "project", slug); err != nil {
			return err
		}
		tool, err := newToolFinder(tx, project.ID).find(name)
		if err != nil {
			return err
		}
		if tool == nil {
			return fault.NotFound("tool", name)
		}
		done := toolChanges{name: name, project: slug, tool: *tool}
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
	tool          storedTool
	entries       []activity.Entry
}

func (c *toolChanges) note(action string) {
	c.entries = append(c.entries, activity.Entry{
		Action: action, Object: c.name, ObjectID: c.tool.ServerID, Project: c.project,
		Detail: map[string]string{"definition": c.tool.DefinitionHash},
	})
}

func (c *toolChanges) enable(tx *gorm.DB, project *models.Project, enabled bool) error {
	isOff := func(name string) bool { return slices.Contains(project.DisabledTools, name) }
	if enabled != (isOff(c.tool.own) || c.tool.as != "" && isOff(c.tool.as)) {
		return nil // already set
	}
	off := without(project.DisabledTools, c.tool.own)
	if c.tool.as != "" {
		off = without(off, c.tool.as)
	}
	action := "tool.enabled"
	if !enabled {
		off = sorted(append(off, c.tool.own))
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
		hash, action = c.tool.DefinitionHash, "tool.approved"
	}
	if hash == c.tool.ApprovedHash {
		return nil
	}
	c.note(action)
	if approved { // the definition was seen with its annotations
		if err := confirmAccess(tx, &c.tool.Tool); err != nil {
			return err
		}
	}
	return tx.Model(&c.tool.Tool).Update("approved_hash", hash).Error
}

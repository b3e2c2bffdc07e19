package toolstate

import (
	"context"
	"slices"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
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
	return s.change(ctx, slug, func(tx *gorm.DB, project *models.Project) ([]activity.Entry, error) {
		tool, err := newToolFinder(tx, project.ID).find(name)
		if err != nil {
			return nil, err
		}
		if tool == nil {
			return nil, fault.NotFound("tool", name)
		}
		done := toolChanges{name: name, project: slug, tool: *tool}
		if enabled != nil {
			if err := done.enable(tx, project, *enabled); err != nil {
				return nil, err
			}
		}
		if approved != nil {
			if err := done.approve(tx, *approved); err != nil {
				return nil, err
			}
		}
		return done.entries, nil
	})
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
	off := slices.DeleteFunc(slices.Clone([]string(project.DisabledTools)), func(name string) bool { return name == c.tool.own || name == c.tool.as })
	action := "tool.enabled"
	if !enabled {
		off = slices.Compact(slices.Sorted(slices.Values(append(off, c.tool.own))))
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

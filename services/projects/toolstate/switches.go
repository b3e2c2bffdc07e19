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

// MaxSwitched is the maximum number of tools per request.
const MaxSwitched = 1_000

// SwitchTools enables or disables tools of a project in one transaction and
// returns the changed ones. names are the exported ones; it ignores tools that no sync
// has found. It records each change as tool.enabled or tool.disabled. It returns
// NOT_FOUND for an unknown project, and INVALID_PARAMETER unless there are 1 to
// MaxSwitched names.
func (s *Store) SwitchTools(ctx context.Context, slug string, names []string, enabled bool) (changed []string, err error) {
	if len(names) == 0 {
		return nil, fault.Invalid("Select at least one tool.")
	}
	if len(names) > MaxSwitched {
		return nil, fault.Invalid("Select at most %d tools.", MaxSwitched)
	}
	if enabled {
		return s.switchTools(ctx, slug, names, enabled)
	}
	err = models.Essential(s.db, func() error {
		changed, err = s.switchTools(ctx, slug, names, enabled)
		return err
	})
	return changed, err
}

func (s *Store) switchTools(ctx context.Context, slug string, names []string, enabled bool) (changed []string, err error) {
	err = s.change(ctx, slug, func(tx *gorm.DB, project *models.Project) (entries []activity.Entry, err error) {
		changed, entries, err = switchAll(tx, project, names, enabled)
		return entries, err
	})
	if err != nil {
		return nil, err
	}
	return changed, nil
}

// switchAll writes the list of disabled tools of a locked project. It returns the
// names of the changed tools and the audit entries.
func switchAll(tx *gorm.DB, project *models.Project, names []string, enabled bool) (changed []string, entries []activity.Entry, err error) {
	off := map[string]bool{}
	for _, name := range project.DisabledTools {
		off[name] = true
	}
	done, finder := toolChanges{project: project.Slug}, newToolFinder(tx, project.ID)
	action := "tool.enabled"
	if !enabled {
		action = "tool.disabled"
	}
	for _, name := range names {
		tool, err := finder.find(name)
		if err != nil {
			return nil, nil, err
		}
		if tool == nil || enabled != (off[tool.own] || off[tool.as]) {
			continue // unknown, or already set
		}
		off[tool.own] = !enabled
		delete(off, tool.as)
		done.name, done.tool = name, *tool
		done.note(action)
		changed = append(changed, name)
	}
	if len(changed) == 0 {
		return nil, nil, nil
	}
	var list []string
	for name, is := range off {
		if is {
			list = append(list, name)
		}
	}
	if len(list) > declaration.MaxDisabledTools {
		return nil, nil, fault.Validation(map[string]string{"disabledTools": "too many disabled tools: use denyTools of their server instead"})
	}
	slices.Sort(list)
	return changed, done.entries, tx.Model(project).Update("disabled_tools", models.StringList(list)).Error
}

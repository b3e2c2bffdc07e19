package projects

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
	"mcpgateway/services/toolset"
	"mcpgateway/services/toolset/override"
)

// overridesField is the declarative name of tool overrides.
const overridesField = "tools"

// mergeOverrides applies declared overrides. References that are not permitted
// are problems.
func (s *Store) mergeOverrides(m *merge, row *models.Server, declared *models.ToolOverrides) {
	if declared == nil || bytes.Equal(declared.JSON(), row.ToolOverrides.JSON()) {
		return
	}
	for tool, o := range *declared {
		old := row.ToolOverrides[tool]
		stored := map[string]map[string]json.RawMessage{"defaults": old.Defaults, "fixed": old.Fixed}
		for member, values := range map[string]map[string]json.RawMessage{"defaults": o.Defaults, "fixed": o.Fixed} {
			for argument, value := range values {
				if why := m.may.refusesIn(value, stored[member][argument]); why != "" {
					m.problems[strings.Join([]string{overridesField, tool, member, argument}, ".")] = why
				}
				if err := s.checkReferences(value); err != nil {
					m.problems[strings.Join([]string{overridesField, tool, member, argument}, ".")] = fault.From(err).Message
				}
			}
		}
	}
	if len(override.References(*declared)) > declaration.MaxOverrideReferences {
		m.problems[overridesField] = fmt.Sprintf("use at most %d different references in the overrides of a server", declaration.MaxOverrideReferences)
	}
	row.ToolOverrides = *declared
	m.changed = append(m.changed, overridesField)
}

// checkReferences returns the fault of the first reference in an argument that is
// not permitted.
func (s *Store) checkReferences(value []byte) error {
	for _, text := range override.ReferencesIn(value) {
		if _, err := s.secrets.Store(text, ""); err != nil {
			return err
		}
	}
	return nil
}

// hasOverrideReferences reports whether calls to the server send values of
// references in overrides.
func hasOverrideReferences(overrides models.ToolOverrides) bool {
	return len(override.References(overrides)) > 0
}

// noteOverrides records server.overrides_changed with the tools whose overrides
// differ.
func (w *writer) noteOverrides(project *models.Project, row *models.Server, before models.ToolOverrides) {
	var names []string
	for name, o := range row.ToolOverrides {
		if old, was := before[name]; !was || !bytes.Equal(old.JSON(), o.JSON()) {
			names = append(names, name)
		}
	}
	for name := range before {
		if _, is := row.ToolOverrides[name]; !is {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	w.entries = append(w.entries, activity.Entry{
		Action: "server.overrides_changed", Object: row.Alias, ObjectID: row.ID, Project: project.Slug,
		Detail: map[string]string{"tools": firstNames(names)},
	})
}

// warnOverrides warns about overrides that don't fit the stored tools of a server.
func (w *writer) warnOverrides(row *models.Server) error {
	if len(row.ToolOverrides) == 0 {
		return nil
	}
	var tools []models.Tool
	if err := w.tx.Select("name", "definition").Order("position, name").Find(&tools, "server_id = ?", row.ID).Error; err != nil || len(tools) == 0 {
		return err
	}
	for _, warning := range toolset.OverrideWarnings(*row, tools) {
		w.warnings = append(w.warnings, warning)
		w.plan.Warnings = append(w.plan.Warnings, warning.Message)
	}
	return nil
}

// firstNames returns the first names of a list as text, clipped.
func firstNames(names []string) string {
	const most = 20
	shown := make([]string, 0, most)
	for _, name := range names[:min(len(names), most)] {
		shown = append(shown, fmt.Sprintf("%.64s", name))
	}
	text := strings.Join(shown, ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// OverrideTool replaces the override of one tool of a server, or removes it if o
// changes nothing. tool is the server's own name. It returns NOT_FOUND for an
// unknown server, CONFLICT if seen is not the stored override as JSON ("{}" if
// there is none), and VALIDATION_FAILED for a reference that is not permitted and
// beyond declaration.MaxToolOverrides.
func (s *Store) OverrideTool(ctx context.Context, serverID, tool, seen string, o models.ToolOverride) (SavedServer, error) {
	return s.saveServer(ctx, &declaration.Server{}, func(w *writer, _ *declaration.Server) (saved models.Server, project string, err error) {
		p, row, err := w.lockServer(serverID)
		if err != nil {
			return saved, "", err
		}
		if string(row.ToolOverrides[tool].JSON()) != seen {
			return saved, "", fault.Conflict("Another user has changed this tool. Reload the page and try again.")
		}
		next := maps.Clone(row.ToolOverrides)
		if next == nil {
			next = models.ToolOverrides{}
		}
		next[tool] = o
		d, problems := (&declaration.Server{ToolOverrides: &next}).Check()
		maps.Copy(w.problems, problems)
		saved, err = w.update(&p, row, row.Alias, d)
		return saved, p.Slug, err
	})
}

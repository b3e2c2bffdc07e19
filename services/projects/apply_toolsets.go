package projects

import (
	"maps"
	"slices"

	"mcpgateway/models"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
	"mcpgateway/services/projects/toolsets"
)

// toolsets creates or updates the declared toolsets of a project. Pruning also
// deletes the others: a toolset in use is CONFLICT.
func (w *writer) toolsets(project *models.Project, d *declaration.Project, prune bool) error {
	if d.Toolsets == nil && !prune {
		return nil
	}
	sets := &toolsets.Writer{Tx: w.tx, Project: project, Now: w.store.now(), Topics: w.topics}
	if prune {
		if err := w.pruneToolsets(sets, d.Toolsets); err != nil {
			return err
		}
	}
	for _, slug := range slices.Sorted(maps.Keys(d.Toolsets)) {
		saved, err := sets.Save(slug, d.Toolsets[slug])
		if fault.Is(err, fault.CodeValidationFailed) {
			w.toolsetProblems(project, slug, err)
			continue
		}
		if err != nil {
			return err
		}
		switch {
		case saved.Created:
			w.noteToolset(ActionCreate, project, slug, nil)
		case len(saved.Fields) > 0:
			w.noteToolset(ActionUpdate, project, slug, saved.Fields)
		default:
			w.noteToolset(ActionKeep, project, slug, nil)
		}
	}
	w.entries = append(w.entries, sets.Entries...)
	return nil
}

// toolsetProblems records the problems of a toolset by their paths.
func (w *writer) toolsetProblems(project *models.Project, slug string, err error) {
	for field, why := range fault.From(err).Fields {
		path := declaration.Join("toolsets."+slug, field)
		if field == "toolsets" { // of all of them
			path = field
		}
		w.problem(project.Slug, "", path, why)
	}
}

func (w *writer) pruneToolsets(sets *toolsets.Writer, declared map[string]*declaration.Toolset) error {
	stored, err := toolsets.Of(w.tx, sets.Project.ID)
	if err != nil {
		return err
	}
	for _, row := range stored {
		if declared[row.Slug] != nil {
			continue
		}
		if err := sets.Delete(&row, false); err != nil {
			return err
		}
		w.noteToolset(ActionDelete, sets.Project, row.Slug, nil)
	}
	return nil
}

package projects

import (
	"maps"
	"slices"

	"mcpgateway/models"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
	"mcpgateway/services/projects/toolsets"
)

// toolsets creates or updates the declared toolsets of a project, and replaces
// the declared parts of who can use it. Pruning also deletes the other toolsets:
// one that is in use after that is CONFLICT.
func (w *writer) toolsets(project *models.Project, d *declaration.Project, prune bool) error {
	sets := &toolsets.Writer{Tx: w.tx, Project: project, Now: w.store.now(), Topics: w.topics}
	if prune { // before others are created, because their number is limited
		if err := w.pruneToolsets(sets, d.Toolsets, d.Access != nil); err != nil {
			return err
		}
	}
	if err := w.saveToolsets(sets, d.Toolsets); err != nil {
		return err
	}
	if err := w.access(project, d.Access); err != nil {
		return err
	}
	if prune && d.Access != nil && len(w.problems) == 0 {
		if err := w.pruneToolsets(sets, d.Toolsets, false); err != nil {
			return err
		}
	}
	w.entries = append(w.entries, sets.Entries...)
	return nil
}

// saveToolsets creates or updates the declared toolsets.
func (w *writer) saveToolsets(sets *toolsets.Writer, declared map[string]*declaration.Toolset) error {
	for _, slug := range slices.Sorted(maps.Keys(declared)) {
		saved, err := sets.Save(slug, declared[slug])
		if fault.Is(err, fault.CodeValidationFailed) {
			w.toolsetProblems(sets.Project, slug, err)
			continue
		}
		if err != nil {
			return err
		}
		switch {
		case saved.Created:
			w.noteToolset(ActionCreate, sets.Project, slug, nil)
		case len(saved.Fields) > 0:
			w.noteToolset(ActionUpdate, sets.Project, slug, saved.Fields)
		default:
			w.noteToolset(ActionKeep, sets.Project, slug, nil)
		}
	}
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

// pruneToolsets deletes the toolsets that are not declared. A toolset in use is
// CONFLICT, or kept if keepUsed is set.
func (w *writer) pruneToolsets(sets *toolsets.Writer, declared map[string]*declaration.Toolset, keepUsed bool) error {
	stored, err := toolsets.Of(w.tx, sets.Project.ID)
	if err != nil {
		return err
	}
	for _, row := range stored {
		if declared[row.Slug] != nil {
			continue
		}
		err := sets.Delete(&row, false)
		if keepUsed && fault.Is(err, fault.CodeConflict) {
			continue
		}
		if err != nil {
			return err
		}
		w.noteToolset(ActionDelete, sets.Project, row.Slug, nil)
	}
	return nil
}

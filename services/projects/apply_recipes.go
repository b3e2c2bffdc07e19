package projects

import (
	"maps"
	"slices"

	"mcpgateway/models"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
	"mcpgateway/services/recipes"
)

// recipes creates or updates the declared recipes of a project. Pruning also
// deletes the other recipes.
func (w *writer) recipes(project *models.Project, d *declaration.Project, prune bool) error {
	saves := &recipes.Writer{Tx: w.tx, Project: project, Now: w.store.now(), Topics: w.topics}
	if prune { // before others are created, because their number is limited
		stored, err := recipes.Of(w.tx, project.ID)
		if err != nil {
			return err
		}
		for _, row := range stored {
			if d.Recipes[row.Name] != nil {
				continue
			}
			if err := saves.Delete(&row); err != nil {
				return err
			}
			w.noteRecipe(ActionDelete, project, row.Name, nil)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.Recipes)) {
		saved, err := saves.Save(name, d.Recipes[name])
		if f := fault.From(err); err != nil && len(f.Fields) > 0 {
			for field, why := range f.Fields {
				path := declaration.Join("recipes."+name, field)
				if field == "recipes" { // of all of them
					path = field
				}
				w.problem(project.Slug, "", path, why)
			}
			continue
		}
		if err != nil {
			return err
		}
		switch {
		case saved.Created:
			w.noteRecipe(ActionCreate, project, name, nil)
		case len(saved.Fields) > 0:
			w.noteRecipe(ActionUpdate, project, name, saved.Fields)
		default:
			w.noteRecipe(ActionKeep, project, name, nil)
		}
	}
	w.entries = append(w.entries, saves.Entries...)
	return nil
}

// noteRecipe is noteProject for a recipe, whose changes its writer records.
func (w *writer) noteRecipe(action Action, project *models.Project, name string, fields []string) {
	w.plan.Changes = append(w.plan.Changes, Change{Action: action, Project: project.Slug, Recipe: name, Fields: fields})
}

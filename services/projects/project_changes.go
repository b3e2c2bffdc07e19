package projects

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"mcpgateway/models"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
)

// SavedProject is a project after a change. Fields names the fields that an
// update changed. Warnings are for the user who made the change.
type SavedProject struct {
	Project  models.Project
	Fields   []string
	Warnings []fault.Warning
}

// pathInBody returns the path of a project, or of one of its servers, in a
// request for one project.
func pathInBody(_, alias string) string {
	if alias != "" {
		return "mcpServers." + alias
	}
	return ""
}

// CreateProject creates a project with the servers of the declaration, and
// records project.created and server.created. It returns VALIDATION_FAILED with
// the path of every invalid field, and CONFLICT with the field projectSlug if
// the slug is taken.
func (s *Store) CreateProject(ctx context.Context, slug string, d *declaration.Project) (SavedProject, error) {
	d, problems := d.Check()
	if why := declaration.CheckSlug(slug); why != "" {
		problems["projectSlug"] = why
	}
	if len(problems) > 0 {
		return SavedProject{}, fault.Validation(problems)
	}
	if d.PersonalKeys == nil {
		d.PersonalKeys = new(true) // a file must turn them on
	}
	return s.saveProject(ctx, func(w *writer) (*models.Project, error) {
		switch _, err := w.lockProject(slug); {
		case err == nil:
			return nil, conflictFault("projectSlug", "Project %q already exists. Choose another slug.", slug)
		case !fault.Is(err, fault.CodeNotFound):
			return nil, err
		}
		return w.project(slug, d, false)
	})
}

// UpdateProject applies the declaration to the project with the slug; absent
// fields don't change. Declared servers are created or updated, and none is
// deleted. It records project.updated with the names of changed fields, and
// project.credentials_shared if anyone can now use stored credentials. It
// returns NOT_FOUND for an unknown slug, VALIDATION_FAILED with the path of
// every invalid field, and FORBIDDEN with the fields that a maintainer may not
// change.
func (s *Store) UpdateProject(ctx context.Context, slug string, d *declaration.Project) (SavedProject, error) {
	if err := checkAllowed(ctx, d); err != nil {
		return SavedProject{}, err
	}
	d, problems := d.Check()
	if len(problems) > 0 {
		return SavedProject{}, fault.Validation(problems)
	}
	return s.saveProject(ctx, func(w *writer) (*models.Project, error) {
		if _, err := w.lockProject(slug); err != nil {
			return nil, err
		}
		return w.project(slug, d, false)
	})
}

func (s *Store) saveProject(ctx context.Context, save func(*writer) (*models.Project, error)) (SavedProject, error) {
	var row *models.Project
	w, err := s.write(ctx, pathInBody, false, func(w *writer) (err error) {
		row, err = save(w)
		return err
	})
	if err != nil {
		return SavedProject{}, err
	}
	return SavedProject{Project: *row, Fields: w.plan.Changes[0].Fields, Warnings: w.allWarnings()}, nil
}

// allWarnings returns the warnings of this change and the standing ones.
func (w *writer) allWarnings() []fault.Warning {
	all := slices.Clone(w.warnings)
	for _, c := range w.plan.Shared {
		all = append(all, c.Warning())
	}
	return all
}

// DeleteProject deletes the project with the slug and everything in it: its
// servers and their inventories, and its keys, which are revoked immediately.
// It records project.deleted and returns NOT_FOUND for an unknown slug.
func (s *Store) DeleteProject(ctx context.Context, slug string) error {
	return models.Essential(s.db, func() error {
		_, err := s.write(ctx, pathInBody, false, func(w *writer) error {
			row, err := w.lockProject(slug)
			if err != nil {
				return err
			}
			return w.deleteProject(&row)
		})
		return err
	})
}

// deleteProject deletes a project. The schema cascades to its rows.
func (w *writer) deleteProject(row *models.Project) error {
	owned := map[string]string{}
	for name, model := range map[string]any{"servers": &models.Server{}, "keys": &models.Key{}, "toolsets": &models.Toolset{}, "recipes": &models.Recipe{}} {
		var n int64
		if err := w.tx.Model(model).Where("project_id = ?", row.ID).Count(&n).Error; err != nil {
			return err
		}
		owned[name] = strconv.FormatInt(n, 10)
	}
	w.noteProject(ActionDelete, row, nil)
	w.entries[len(w.entries)-1].Detail = owned
	for _, topic := range topicsOf(row.ID) {
		w.topics[topic] = true
	}
	return w.tx.Delete(&models.Project{}, "id = ?", row.ID).Error
}

// conflictFault returns CONFLICT for a field whose value is already used by another
// record.
func conflictFault(field, format string, args ...any) error {
	f := fault.Conflict(format, args...)
	f.Fields = map[string]string{field: fmt.Sprintf(format, args...)}
	return f
}

package projects

import (
	"context"
	"maps"
	"slices"

	"mcpgateway/models"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
	"mcpgateway/services/projects/programs"
)

// fromFile contains the fields of a server that the operator's file changed, and by
// field the problems of those that only that file can change.
type fromFile struct {
	changed  []string
	problems map[string]string
}

// fromFile applies what only the operator's file declares about a server. A
// renamed program keeps its alias.
func (w *writer) fromFile(project *models.Project, row *models.Server, alias *string, d *declaration.Server, found bool) (f fromFile, err error) {
	if w.source != models.SourceNone {
		wasProgram, problem := row.IsProgram(), ""
		f.changed, problem = programs.Declare(row, found, w.source, programs.Entry(w.source, project.Slug, *alias), d)
		if problem != "" {
			f.problems = map[string]string{"alias": problem}
			return f, nil
		}
		if found && row.IsProgram() {
			*alias = row.Alias
		}
		if d.Program && found && !wasProgram {
			err = w.disconnect(project, row, "it is a program now")
		}
	}
	if !d.Program {
		f.problems = programs.Refused(row, *alias, d)
	}
	return f, err
}

// disconnect deletes all connections of a server, and records why.
func (w *writer) disconnect(project *models.Project, row *models.Server, because string) error {
	for _, personal := range []bool{false, true} {
		if err := w.deleteConnections(project, row, personal, because); err != nil {
			return err
		}
	}
	return nil
}

// add adds the operator's file to a merge.
func (m *merge) add(f fromFile) {
	maps.Copy(m.problems, f.problems)
	if len(f.changed) > 0 {
		m.changed = slices.Compact(slices.Sorted(slices.Values(append(m.changed, f.changed...))))
	}
}

// checkPrograms records a problem for a project without authentication that has
// programs, unless only this machine can reach the gateway.
func (w *writer) checkPrograms(project *models.Project, servers map[string]models.Server) {
	if !w.store.exposed || project.AuthMode != models.AuthNone {
		return
	}
	for row := range maps.Values(servers) {
		if row.IsProgram() {
			w.problem(project.Slug, "", "authMode", programs.Open)
		}
	}
}

// stays reports whether a server is not pruned because a runner's file declares
// it, and notes it.
func (w *writer) stays(row *models.Server) bool {
	if !programs.IsDeclared(row) {
		return false
	}
	w.plan.Warnings = append(w.plan.Warnings, "Server "+row.Alias+" stays: it "+programs.FromFile+".")
	return true
}

// projectStays is stays for a project with such servers.
func (w *writer) projectStays(project *models.Project) (bool, error) {
	rows, err := serversOf(w.tx, project.ID)
	if err != nil {
		return false, err
	}
	stays := false
	for i := range rows {
		stays = w.stays(&rows[i]) || stays
	}
	return stays, nil
}

// CheckExposed returns VALIDATION_FAILED if other machines can reach the gateway
// and a project without authentication has programs.
func (s *Store) CheckExposed(ctx context.Context) error {
	if !s.exposed {
		return nil
	}
	var slugs []string
	err := s.db.WithContext(ctx).Model(&models.Project{}).
		Where("auth_mode = ? AND id IN (SELECT project_id FROM servers WHERE entry <> '')", models.AuthNone).Order("slug").Pluck("slug", &slugs).Error
	if err != nil {
		return fault.Internal(err)
	}
	if len(slugs) == 0 {
		return nil
	}
	problems := map[string]string{}
	for _, slug := range slugs {
		problems[declaration.PathInFile(slug, "")+".authMode"] = programs.Open
	}
	return fault.Validation(problems)
}

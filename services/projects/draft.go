package projects

import (
	"context"
	"maps"
	"strings"

	"mcpgateway/models"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
)

// Draft returns the row that AddServer would store in a project, without storing it, so that
// it can be tested first. It has a new id, for which its secrets are sealed.
// Draft returns VALIDATION_FAILED with every invalid field. It doesn't check
// rules of the project, such as whether the alias is free.
func (s *Store) Draft(ctx context.Context, project *models.Project, alias string, d *declaration.Server) (models.Server, error) {
	d, problems := d.Check()
	if why := declaration.CheckAlias(alias); why != "" {
		problems["alias"] = why
	}
	row := newServer("", alias, d, s.now())
	m := s.mergeServer(&row, alias, d, allowanceOf(ctx, project))
	unusable := m.problems
	for _, field := range m.missing {
		if name, isQuery := strings.CutPrefix(field, "url?"); isQuery && unusable["url"] == "" {
			unusable["url"] = "enter a value for " + name + " in place of " + secrets.Placeholder
		}
	}
	maps.Copy(unusable, problems) // the first problem of a field counts
	if len(unusable) > 0 {
		return models.Server{}, fault.Validation(unusable)
	}
	return row, nil
}

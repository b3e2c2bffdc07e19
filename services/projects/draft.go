package projects

import (
	"mcpgateway/models"
	"mcpgateway/services/fault"
)

// Draft returns the row that AddServer would store for a server of the alias,
// without storing it, so that it can be tried first. Its id is a new one and
// its secrets are sealed for that. It returns VALIDATION_FAILED with every
// field that cannot be used; what the project decides, such as whether the
// alias is free, is not looked at.
func (s *Store) Draft(alias string, d *ServerDeclaration) (models.Server, error) {
	r := &reader{problems: map[string]string{}}
	d = r.server("", d.raw(), false)
	if why := checkAlias(alias); why != "" {
		r.problem("alias", why)
	}
	row := newServer("", alias, d, s.now())
	_, _, problems := s.mergeServer(&row, alias, d)
	for field, why := range problems {
		r.problem(field, why)
	}
	if len(r.problems) > 0 {
		return models.Server{}, fault.Validation(r.problems)
	}
	return row, nil
}

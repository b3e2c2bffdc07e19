package projects

import (
	"strings"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
)

// Draft returns the row that AddServer would store for a server of the alias,
// without storing it, so that it can be tried first. Its id is a new one and
// its secrets are sealed for that. It returns VALIDATION_FAILED with every
// field that cannot be used; what the project decides, such as whether the
// alias is free, is not looked at.
func (s *Store) Draft(alias string, d *ServerDeclaration) (models.Server, error) {
	r := &reader{problems: map[string]string{}}
	d = r.parsed(d)
	if why := checkAlias(alias); why != "" {
		r.problem("alias", why)
	}
	row := newServer("", alias, d, s.now())
	_, missing, problems := s.mergeServer(&row, alias, d)
	for field, why := range problems {
		r.problem(field, why)
	}
	for _, field := range missing {
		if name, isQuery := strings.CutPrefix(field, "url?"); isQuery {
			r.problem("url", "enter a value for "+name+" in place of "+secrets.Placeholder)
		}
	}
	if len(r.problems) > 0 {
		return models.Server{}, fault.Validation(r.problems)
	}
	return row, nil
}

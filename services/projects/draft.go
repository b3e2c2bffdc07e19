package projects

import (
	"maps"
	"strings"

	"mcpgateway/models"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
)

// Draft returns the row that AddServer would store for a server of the alias,
// without storing it, so that it can be tried first. Its id is a new one and
// its secrets are sealed for that. It returns VALIDATION_FAILED with every
// field that cannot be used; what the project decides, such as whether the
// alias is free, is not looked at.
func (s *Store) Draft(alias string, d *declaration.Server) (models.Server, error) {
	d, problems := d.Check()
	if why := declaration.CheckAlias(alias); why != "" {
		problems["alias"] = why
	}
	row := newServer("", alias, d, s.now())
	_, missing, unusable := s.mergeServer(&row, alias, d)
	for _, field := range missing {
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

package projects

import (
	"fmt"

	"mcpgateway/models"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
)

// MissingSecret is a secret that a declaration names with the placeholder
// secrets.Placeholder, as exports do, or that a server needs, and that is not
// stored either.
type MissingSecret struct {
	Project, Server string // slug and alias
	Field           string // its path in the declaration of the server

	path string // of the field, as the caller wrote it
}

// WarnSecretMissing is the code of the warning about a missing secret.
const WarnSecretMissing = "SECRET_MISSING"

// String returns the warning.
func (m MissingSecret) String() string {
	return fmt.Sprintf("%s: the secret is missing. Set it, or calls to server %s fail", m.path, m.Server)
}

// Warning returns the warning for the record of a server.
func (m MissingSecret) Warning() fault.Warning {
	return fault.Warning{Code: WarnSecretMissing, Message: m.String()}
}

// noteMissing adds the missing secrets of a server to the plan.
func (w *writer) noteMissing(project *models.Project, row *models.Server, fields []string) {
	for _, field := range fields {
		m := MissingSecret{Project: project.Slug, Server: row.Alias, Field: field, path: declaration.Join(w.path(project.Slug, row.Alias), field)}
		w.plan.Missing = append(w.plan.Missing, m)
		w.plan.Warnings = append(w.plan.Warnings, m.String())
		w.warnings = append(w.warnings, m.Warning())
	}
}

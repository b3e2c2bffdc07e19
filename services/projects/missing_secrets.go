package projects

import (
	"fmt"

	"mcpgateway/models"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
)

// MissingSecret is a secret that is not stored although a server requires it,
// or a declaration has the placeholder secrets.Placeholder for it, as in
// exports.
type MissingSecret struct {
	Project, Server string // slug and alias
	Field           string // path in the declaration of the server

	path string // path in the caller's document
}

// WarnSecretMissing is the code of the warning about a missing secret.
const WarnSecretMissing = "SECRET_MISSING"

// String returns the warning.
func (m MissingSecret) String() string {
	return fmt.Sprintf("%s: the secret is missing. Set it; without it, calls to server %s fail.", m.path, m.Server)
}

// Warning returns the warning about the record of a server.
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

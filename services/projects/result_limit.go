package projects

import (
	"mcpgateway/models"
	"mcpgateway/services/declaration"
)

// openResultLimit is the problem of a limit of results in a project whose callers
// are anonymous.
const openResultLimit = "answers above a limit are stored for their caller, so the gateway must tell callers apart. Use 0, or require a key or a sign-in."

// mergeResultLimit applies the declared limit of a server's results.
func mergeResultLimit(m *merge, row *models.Server, declared *int64) {
	if declared == nil {
		return
	}
	next := declared
	if *declared == declaration.ProjectResultLimit {
		next = nil
	}
	before := row.ResultLimit
	if (before == nil) == (next == nil) && (before == nil || *before == *next) {
		return
	}
	row.ResultLimit = next
	m.changed = append(m.changed, "resultLimit")
}

// checkServerResultLimit records a problem if a server of a project without
// authentication has a limit of results.
func (w *writer) checkServerResultLimit(project *models.Project, row *models.Server) {
	if project.AuthMode == models.AuthNone && limitsResults(row) {
		w.problem(project.Slug, row.Alias, "resultLimit", openResultLimit)
	}
}

// checkResultLimits records a problem if a project without authentication keeps a
// limit of results. named are the folded aliases of the servers that were checked
// already.
func (w *writer) checkResultLimits(project *models.Project, servers map[string]models.Server, named map[string]bool) {
	if project.AuthMode != models.AuthNone {
		return
	}
	if project.ResultLimit > 0 {
		w.problem(project.Slug, "", "resultLimit", openResultLimit)
	}
	for fold, row := range servers {
		if !named[fold] && limitsResults(&row) {
			w.problem(project.Slug, "", "authMode", "server "+row.Alias+" has a resultLimit, whose answers are stored for their caller, so the gateway must tell callers apart. Choose api_key or oauth.")
		}
	}
}

func limitsResults(row *models.Server) bool { return row.ResultLimit != nil && *row.ResultLimit > 0 }

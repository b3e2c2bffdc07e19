package projects

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"mcpgateway/models"
	"mcpgateway/services/access/reach"
	"mcpgateway/services/activity"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
	"mcpgateway/services/toolset/override"
)

// WarnSecretsCleared is the code of the warning that a server lost its secrets and
// its connection because a maintainer moved it to another origin.
const WarnSecretsCleared = "SECRETS_CLEARED"

// allowance limits what the caller of a change does with secrets. The zero value
// belongs to a maintainer of a project without secretRefs.
type allowance struct {
	everything bool
	references []string // globs
}

// allowanceOf returns the allowance of a context's caller in a project.
func allowanceOf(ctx context.Context, project *models.Project) allowance {
	return allowance{everything: reach.Of(ctx).AdministersAll(), references: project.SecretRefs}
}

// refuses returns why the caller may not enter a reference that the field doesn't
// have already, or "".
func (a allowance) refuses(entered string) string {
	_, reference, found := strings.Cut(entered, "${")
	if a.everything || !found {
		return ""
	}
	name := strings.TrimSuffix(reference, "}")
	file, isFile := strings.CutPrefix(name, "file:")
	clean := !isFile || path.Clean(file) == file
	if clean && slices.ContainsFunc(a.references, func(glob string) bool { return secrets.MatchName(glob, name) }) {
		return ""
	}
	return "the reference ${" + clip(name) + "} is not allowed in this project. Ask an administrator to add it to secretRefs."
}

// refusesIn returns why the caller may not enter the references of an argument, or
// "". Those that the argument has already are allowed.
func (a allowance) refusesIn(value, stored []byte) string {
	had := override.ReferencesIn(stored)
	for _, text := range override.ReferencesIn(value) {
		if why := a.refuses(text); why != "" && !slices.Contains(had, text) {
			return why
		}
	}
	return ""
}

// clip returns the beginning of a text.
func clip(text string) string {
	if r := []rune(text); len(r) > 64 {
		return string(r[:64]) + "…"
	}
	return text
}

// clears reports whether a change of a server's URL must clear its secrets: it
// leads to another origin, and the caller may not move secrets.
func (a allowance) clears(stored string, declared *string) bool {
	return !a.everything && stored != "" && declared != nil && originOf(stored) != originOf(*declared)
}

// originOf returns the scheme, host and port of a URL. Different invalid URLs have
// different origins.
func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return address
	}
	port := u.Port()
	switch {
	case port != "":
	case strings.EqualFold(u.Scheme, "https"):
		port = "443"
	case strings.EqualFold(u.Scheme, "http"):
		port = "80"
	}
	return strings.ToLower(u.Scheme) + "://" + strings.ToLower(u.Hostname()) + ":" + port
}

// clearSecrets removes every secret of a server, including references. Headers stay
// without a value, so that calls fail instead of being sent without them.
func (m *merge) clearSecrets(row *models.Server) {
	if row.AuthBearer != "" {
		m.changed = append(m.changed, "authBearer")
	}
	if row.OAuthClientSecret != "" {
		m.changed = append(m.changed, "oauth.clientSecret")
	}
	if row.OAuthPrivateKey != "" {
		m.changed = append(m.changed, "oauth.privateKey")
	}
	if row.TLSKey != "" {
		m.changed = append(m.changed, "tls.key")
	}
	row.AuthBearer, row.OAuthClientSecret, row.OAuthPrivateKey, row.TLSKey, row.URLSecrets = "", "", "", "", nil
	row.Headers = maps.Clone(row.Headers)
	for _, name := range slices.Sorted(maps.Keys(row.Headers)) {
		if row.Headers[name] != "" {
			m.changed = append(m.changed, "headers."+http.CanonicalHeaderKey(name))
		}
		row.Headers[name] = ""
	}
}

// noteMoved deletes the connection of a moved server, and adds to the warnings and
// to the audit log that its secrets are gone.
func (w *writer) noteMoved(project *models.Project, row *models.Server, m *merge) error {
	if err := w.disconnect(project, row, "a maintainer moved the server to another origin"); err != nil {
		return err
	}
	w.warnings = append(w.warnings, fault.Warning{Code: WarnSecretsCleared, Message: "The server has another origin now. Its secrets and its connection were removed. Enter new ones."})
	slices.Sort(m.changed)
	m.changed = slices.Compact(m.changed)
	w.entries = append(w.entries, activity.Entry{
		Action: "server.secrets_cleared", Object: row.Alias, ObjectID: row.ID, Project: project.Slug, Detail: map[string]string{"because": "moved to another origin by a maintainer"},
	})
	return nil
}

// checkAllowed returns FORBIDDEN with the fields of a declaration that only
// administrators may change, for other callers.
func checkAllowed(ctx context.Context, d *declaration.Project) error {
	if reach.Of(ctx).AdministersAll() {
		return nil
	}
	refused := map[string]string{}
	for field, given := range map[string]bool{
		"authMode": d.AuthMode != nil, "oauthAccess": d.OAuthAccess != nil, "codeMode.allowFetch": d.CodeModeFetch != nil,
		"rateLimit.perSecond": d.RatePerSecond != nil, "rateLimit.burst": d.RateBurst != nil,
		"limits": d.Limits != nil, "recordPayloads": d.RecordPayloads != nil, "secretRefs": d.SecretRefs != nil,
		"personalKeys.enabled": d.PersonalKeys != nil, "personalKeys.maxDays": d.PersonalKeyDays != nil, "access": d.Access != nil, "serverCard": d.ServerCard != nil,
		"published": d.Published != nil, "retention.calls": d.Retention.Calls != nil, "retention.payloads": d.Retention.Payloads != nil, "retention.runs": d.Retention.Runs != nil,
	} {
		if given {
			refused[field] = "only administrators can change this"
		}
	}
	if len(refused) == 0 {
		return nil
	}
	f := fault.Forbidden("Only administrators can change %s. Nothing was saved.", strings.Join(slices.Sorted(maps.Keys(refused)), ", "))
	f.Fields = refused
	return f
}

// checkReach returns NOT_FOUND for a project that the caller may not administer.
func (w *writer) checkReach(project *models.Project, thing, name string) error {
	if reach.Of(w.tx.Statement.Context).Administers(project) {
		return nil
	}
	return fault.NotFound(thing, name)
}

package projects

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"mcpgateway/models"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
	"mcpgateway/services/upstream/wire"
)

// mergeProject applies the declared fields to the row and returns the
// declarative names of the changed ones.
func mergeProject(row *models.Project, d *declaration.Project) []string {
	var changed []string
	set(&changed, "name", &row.Name, d.Name)
	set(&changed, "description", &row.Description, d.Description)
	set(&changed, "authMode", &row.AuthMode, d.AuthMode)
	set(&changed, "oauthAccess", &row.OAuthAccess, d.OAuthAccess)
	set(&changed, "codeMode.enabled", &row.CodeModeEnabled, d.CodeModeEnabled)
	set(&changed, "codeMode.timeout", &row.CodeModeTimeoutMS, d.CodeModeTimeoutMS)
	set(&changed, "codeMode.allowFetch", &row.CodeModeAllowFetch, d.CodeModeFetch)
	set(&changed, "toolExposure", &row.ToolExposure, d.ToolExposure)
	setInt(&changed, "toolNameLimit", &row.ToolNameLimit, d.ToolNameLimit)
	if d.DisabledTools != nil {
		setList(&changed, "disabledTools", &row.DisabledTools, sorted(*d.DisabledTools))
	}
	set(&changed, "rateLimit.perSecond", &row.RatePerSecond, d.RatePerSecond)
	setInt(&changed, "rateLimit.burst", &row.RateBurst, d.RateBurst)
	if d.Limits != nil && !slices.Equal(row.Limits, *d.Limits) {
		row.Limits = *d.Limits
		changed = append(changed, "limits")
	}
	set(&changed, "recordPayloads", &row.RecordPayloads, d.RecordPayloads)
	set(&changed, "toolNames", &row.ToolNames, d.ToolNames)
	set(&changed, "validateArguments", &row.ValidateArguments, d.ValidateArguments)
	set(&changed, "resultLimit", &row.ResultLimit, d.ResultLimit)
	set(&changed, "instructions", &row.Instructions, d.Instructions)
	set(&changed, "icon", &row.Icon, d.Icon)
	set(&changed, "websiteUrl", &row.WebsiteURL, d.WebsiteURL)
	set(&changed, "serverCard", &row.ServerCard, d.ServerCard)
	set(&changed, "published", &row.Published, d.Published)
	set(&changed, "personalKeys.enabled", &row.PersonalKeysEnabled, d.PersonalKeys)
	setInt(&changed, "personalKeys.maxDays", &row.PersonalKeysMaxDays, d.PersonalKeyDays)
	if d.SecretRefs != nil {
		setList(&changed, "secretRefs", &row.SecretRefs, *d.SecretRefs)
	}
	setInt(&changed, "retention.calls", &row.RetentionCalls, d.Retention.Calls)
	setInt(&changed, "retention.payloads", &row.RetentionPayloads, d.Retention.Payloads)
	setInt(&changed, "retention.runs", &row.RetentionRuns, d.Retention.Runs)
	return changed
}

// merge is the result of applying declared fields to a row: the names of
// changed fields, those of missing secrets, and the problems of invalid ones.
type merge struct {
	changed, missing []string
	problems         map[string]string
	may              allowance
	moved            bool // to another origin, by a caller who may not move secrets
}

// mergeServer applies the declared fields to the row and returns the result.
func (s *Store) mergeServer(row *models.Server, alias string, d *declaration.Server, may allowance) *merge {
	m := &merge{problems: map[string]string{}, may: may}
	if m.moved = may.clears(row.URL, d.URL); m.moved {
		m.clearSecrets(row)
		if hasOverrideReferences(row.ToolOverrides) {
			m.problems["url"] = "the overrides of the server's tools have references. Remove these first, or ask an administrator."
		}
	}
	set(&m.changed, "alias", &row.Alias, &alias)
	row.AliasFold = declaration.FoldAlias(alias)
	if d.URL != nil && *d.URL != row.URL {
		if err := s.checkURL(*d.URL); err != nil {
			m.problems["url"] = fault.From(err).Message
		}
	}
	if d.URL != nil {
		s.setURL(m, row, *d.URL)
	}
	if row.URL == "" && !row.IsProgram() {
		m.problems["url"] = "this key is required"
	}
	set(&m.changed, "transport", &row.Transport, d.Transport)
	set(&m.changed, "authType", &row.AuthType, d.AuthType)
	s.setSecret(m, "authBearer", &row.AuthBearer, d.AuthBearer, BearerRow(row.ID))
	s.mergeHeaders(m, row, d.Headers)
	addMissingHeaders(m, row, d.MissingHeaders)
	if d.AllowedTools != nil {
		setList(&m.changed, "allowedTools", &row.AllowedTools, *d.AllowedTools)
	}
	if d.DenyTools != nil {
		setList(&m.changed, "denyTools", &row.DenyTools, *d.DenyTools)
	}
	s.mergeOverrides(m, row, d.ToolOverrides)
	set(&m.changed, "enabled", &row.Enabled, d.Enabled)
	set(&m.changed, "timeout", &row.TimeoutMS, d.TimeoutMS)
	set(&m.changed, "maxConcurrent", &row.MaxConcurrent, d.MaxConcurrent)
	set(&m.changed, "sessionMode", &row.SessionMode, d.SessionMode)
	set(&m.changed, "definitionPolicy", &row.DefinitionPolicy, d.DefinitionPolicy)
	set(&m.changed, "protocolVersion", &row.ProtocolVersion, d.ProtocolVersion)
	set(&m.changed, "taskTimeout", &row.TaskTimeoutMS, d.TaskTimeoutMS)
	mergeResultLimit(m, row, d.ResultLimit)
	if row.Transport == models.TransportSSE && row.ProtocolVersion == wire.Revision20260728 {
		m.problems["protocolVersion"] = "HTTP+SSE ends with 2024-11-05. Choose another version, or another transport."
	}
	m.mergePersonal(row, &d.Personal)
	s.mergeOAuth(m, row, d)
	s.mergeTLS(m, row, d)
	mergeForwarded(m, row, d)
	if row.AuthType == models.UpstreamAuthBearer && !row.IsPersonal() && row.AuthBearer == "" && !slices.Contains(m.missing, "authBearer") {
		m.missing = append(m.missing, "authBearer")
	}
	return m
}

// BearerRow identifies the sealed bearer token of a server. The token is bound
// to it.
func BearerRow(serverID string) string { return "servers/" + serverID + "/auth_bearer" }

// HeaderRow identifies a sealed header value of a server. The value is bound to
// it.
func HeaderRow(serverID, name string) string { return "servers/" + serverID + "/headers/" + name }

// ClientSecretRow identifies the sealed OAuth client secret of a server.
func ClientSecretRow(serverID string) string { return "servers/" + serverID + "/oauth_client_secret" }

// ownHeaders are set by the gateway or by HTTP on every upstream request, so a
// configuration can't change them.
var ownHeaders = []string{
	"Accept", "Accept-Encoding", "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Host", "Keep-Alive", "Last-Event-Id",
	"Mcp-Method", "Mcp-Name", "Mcp-Protocol-Version", "Mcp-Session-Id", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// headerProblem returns why a configuration can't have a header, or "".
func headerProblem(given string) string {
	name := http.CanonicalHeaderKey(given)
	switch {
	case !httpguts.ValidHeaderFieldName(given):
		return "not a valid header name"
	case slices.Contains(ownHeaders, name) || strings.HasPrefix(name, "Mcp-Param-"):
		return "this header is set by the gateway"
	}
	return ""
}

func (s *Store) mergeHeaders(m *merge, row *models.Server, declared map[string]string) {
	if declared == nil {
		return
	}
	headers := maps.Clone(row.Headers)
	if headers == nil {
		headers = models.StringMap{}
	}
	seen := map[string]string{}
	for _, given := range slices.Sorted(maps.Keys(declared)) {
		name, value := http.CanonicalHeaderKey(given), declared[given]
		field := "headers." + given
		other, twice := seen[name]
		seen[name] = given
		switch {
		case twice:
			m.problems[field] = fmt.Sprintf("header names are case-insensitive: %q already exists", other)
		case headerProblem(given) != "":
			m.problems[field] = headerProblem(given)
		case !httpguts.ValidHeaderFieldValue(value):
			m.problems[field] = "a header value can't contain control characters"
		default:
			s.mergeHeader(m, field, headers, name, value, HeaderRow(row.ID, name))
		}
	}
	if len(headers) > declaration.MaxHeaders {
		m.problems["headers"] = "too many headers"
	}
	row.Headers = headers
}

// addMissingHeaders stores headers without a value. Requests to the server fail
// until they have one.
func addMissingHeaders(m *merge, row *models.Server, names []string) {
	for _, name := range names {
		name = http.CanonicalHeaderKey(name)
		if _, there := row.Headers[name]; there || !httpguts.ValidHeaderFieldName(name) || slices.Contains(ownHeaders, name) {
			continue
		}
		row.Headers = maps.Clone(row.Headers)
		if row.Headers == nil {
			row.Headers = models.StringMap{}
		}
		row.Headers[name] = ""
		m.changed = append(m.changed, "headers."+name)
	}
}

// mergeHeader stores the declared value of a header. A header with a missing
// value stays, so that calls fail instead of being sent without it.
func (s *Store) mergeHeader(m *merge, field string, headers models.StringMap, name, value, row string) {
	stored, known := headers[name]
	s.setSecret(m, field, &stored, &value, row)
	switch {
	case stored != "":
		headers[name] = stored
	case value == secrets.Placeholder:
		headers[name] = ""
		if !known {
			m.changed = append(m.changed, field)
		}
	case known:
		delete(headers, name)
		if !slices.Contains(m.changed, field) {
			m.changed = append(m.changed, field)
		}
	}
}

// setSecret stores a declared secret. An unchanged one keeps its sealed text,
// so that applying a file again changes nothing. "" clears it, and the
// placeholder means the stored one.
func (s *Store) setSecret(m *merge, field string, stored, declared *string, row string) {
	s.setChecked(m, field, stored, declared, row, func(text string) string {
		if !httpguts.ValidHeaderFieldValue(text) {
			return "a secret can't contain control characters"
		}
		return ""
	})
}

// setChecked is like setSecret for secrets with the problem that check returns.
func (s *Store) setChecked(m *merge, field string, stored, declared *string, row string, check func(text string) string) {
	if declared == nil || *declared == "" && *stored == "" {
		return
	}
	if *declared == secrets.Placeholder {
		if *stored == "" {
			m.missing = append(m.missing, field)
		}
		return
	}
	if why := check(*declared); why != "" {
		m.problems[field] = why
		return
	}
	if *declared != "" && *stored != "" && s.sameSecret(*stored, *declared, row) {
		return
	}
	if why := m.may.refuses(*declared); why != "" {
		m.problems[field] = why
		return
	}
	next := ""
	if *declared != "" {
		var err error
		if next, err = s.secrets.Store(*declared, row); err != nil {
			m.problems[field] = fault.From(err).Message
			return
		}
	}
	*stored = next
	m.changed = append(m.changed, field)
}

// sameSecret reports whether the declared secret equals the stored one.
func (s *Store) sameSecret(stored, declared, row string) bool {
	if isReference(stored) || isReference(declared) {
		return stored == declared
	}
	v, err := s.secrets.Resolve(stored, row)
	return err == nil && v.Reveal() == declared
}

// isReference reports whether a secret is a `${NAME}` reference, which may be
// displayed, and not a sealed literal.
func isReference(stored string) bool {
	_, ok := secrets.Reference(stored)
	return ok
}

func set[T comparable](changed *[]string, field string, dst, src *T) {
	if src != nil && *dst != *src {
		*dst = *src
		*changed = append(*changed, field)
	}
}

// setInt is set for numbers of a declaration.
func setInt(changed *[]string, field string, dst *int, src *int64) {
	if src != nil {
		n := int(*src)
		set(changed, field, dst, &n)
	}
}

func setList(changed *[]string, field string, dst *models.StringList, src []string) {
	if !slices.Equal(*dst, src) {
		*dst = src
		*changed = append(*changed, field)
	}
}

func sorted(list []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(list)))
}

func without(list []string, name string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == name })
}

package projects

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
)

// mergeProject writes the declared fields over the row and returns the
// declarative names of those that changed.
func mergeProject(row *models.Project, d *ProjectDeclaration) []string {
	var changed []string
	set(&changed, "name", &row.Name, d.Name)
	set(&changed, "description", &row.Description, d.Description)
	set(&changed, "authMode", &row.AuthMode, d.AuthMode)
	set(&changed, "oauthAccess", &row.OAuthAccess, d.OAuthAccess)
	set(&changed, "codeMode.enabled", &row.CodeModeEnabled, d.CodeModeEnabled)
	set(&changed, "codeMode.timeout", &row.CodeModeTimeoutMS, d.CodeModeTimeoutMS)
	set(&changed, "codeMode.allowFetch", &row.CodeModeAllowFetch, d.CodeModeFetch)
	set(&changed, "toolExposure", &row.ToolExposure, d.ToolExposure)
	if d.ToolNameLimit != nil {
		limit := int(*d.ToolNameLimit)
		set(&changed, "toolNameLimit", &row.ToolNameLimit, &limit)
	}
	if d.DisabledTools != nil {
		setList(&changed, "disabledTools", &row.DisabledTools, sorted(*d.DisabledTools))
	}
	set(&changed, "rateLimit.perSecond", &row.RatePerSecond, d.RatePerSecond)
	if d.RateBurst != nil {
		burst := int(*d.RateBurst)
		set(&changed, "rateLimit.burst", &row.RateBurst, &burst)
	}
	set(&changed, "recordPayloads", &row.RecordPayloads, d.RecordPayloads)
	return changed
}

// mergeServer writes the declared fields over the row. It returns the names
// of those that changed, and what is wrong with those that cannot be used.
func (s *Store) mergeServer(row *models.Server, alias string, d *ServerDeclaration) (changed []string, problems map[string]string) {
	problems = map[string]string{}
	set(&changed, "alias", &row.Alias, &alias)
	row.AliasFold = foldAlias(alias)
	if d.URL != nil && *d.URL != row.URL {
		if err := s.checkURL(*d.URL); err != nil {
			problems["url"] = fault.From(err).Message
		}
	}
	set(&changed, "url", &row.URL, d.URL)
	if row.URL == "" {
		problems["url"] = "this key is required"
	}
	set(&changed, "transport", &row.Transport, d.Transport)
	set(&changed, "authType", &row.AuthType, d.AuthType)
	s.setSecret(&changed, problems, "authBearer", &row.AuthBearer, d.AuthBearer, BearerRow(row.ID))
	s.mergeHeaders(&changed, problems, row, d.Headers)
	addMissingHeaders(&changed, row, d.MissingHeaders)
	if d.AllowedTools != nil {
		setList(&changed, "allowedTools", &row.AllowedTools, *d.AllowedTools)
	}
	if d.DenyTools != nil {
		setList(&changed, "denyTools", &row.DenyTools, *d.DenyTools)
	}
	set(&changed, "enabled", &row.Enabled, d.Enabled)
	set(&changed, "timeout", &row.TimeoutMS, d.TimeoutMS)
	set(&changed, "maxConcurrent", &row.MaxConcurrent, d.MaxConcurrent)
	set(&changed, "sessionMode", &row.SessionMode, d.SessionMode)
	set(&changed, "definitionPolicy", &row.DefinitionPolicy, d.DefinitionPolicy)
	set(&changed, "oauth.clientId", &row.OAuthClientID, d.OAuthClientID)
	s.setSecret(&changed, problems, "oauth.clientSecret", &row.OAuthClientSecret, d.OAuthClientSecret, ClientSecretRow(row.ID))
	if d.OAuthScopes != nil {
		setList(&changed, "oauth.scopes", &row.OAuthScopes, *d.OAuthScopes)
	}
	return changed, problems
}

// BearerRow names the sealed bearer token of a server, to which it is bound.
func BearerRow(serverID string) string { return "servers/" + serverID + "/auth_bearer" }

// HeaderRow names a sealed header value of a server, to which it is bound.
func HeaderRow(serverID, name string) string { return "servers/" + serverID + "/headers/" + name }

// ClientSecretRow names the sealed OAuth client secret of a server.
func ClientSecretRow(serverID string) string { return "servers/" + serverID + "/oauth_client_secret" }

// ownHeaders are set by the gateway or by HTTP itself on every upstream
// request, so that no configuration may change them.
var ownHeaders = []string{
	"Accept", "Accept-Encoding", "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Host", "Keep-Alive", "Last-Event-Id",
	"Mcp-Method", "Mcp-Name", "Mcp-Protocol-Version", "Mcp-Session-Id", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

func (s *Store) mergeHeaders(changed *[]string, problems map[string]string, row *models.Server, declared map[string]string) {
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
			problems[field] = fmt.Sprintf("header names are the same ignoring case, and %q is there too", other)
		case !httpguts.ValidHeaderFieldName(given):
			problems[field] = "this is not a header name"
		case slices.Contains(ownHeaders, name) || strings.HasPrefix(name, "Mcp-Param-"):
			problems[field] = "the gateway sets this header itself"
		case !httpguts.ValidHeaderFieldValue(value):
			problems[field] = "a header value holds no control characters"
		default:
			stored := headers[name]
			s.setSecret(changed, problems, field, &stored, &value, HeaderRow(row.ID, name))
			headers[name] = stored
			if stored == "" {
				delete(headers, name)
			}
		}
	}
	if len(headers) > MaxHeaders {
		problems["headers"] = "too many headers"
	}
	row.Headers = headers
}

// addMissingHeaders stores headers that have no value yet. Requests to the
// server fail until they have one.
func addMissingHeaders(changed *[]string, row *models.Server, names []string) {
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
		*changed = append(*changed, "headers."+name)
	}
}

// setSecret stores a declared secret. An equal one keeps its sealed text, so
// that applying a file again changes nothing; "" clears it.
func (s *Store) setSecret(changed *[]string, problems map[string]string, field string, stored, declared *string, row string) {
	if declared == nil || *declared == "" && *stored == "" {
		return
	}
	if !httpguts.ValidHeaderFieldValue(*declared) {
		problems[field] = "a secret holds no control characters"
		return
	}
	if *declared != "" && *stored != "" && s.sameSecret(*stored, *declared, row) {
		return
	}
	next := ""
	if *declared != "" {
		var err error
		if next, err = s.secrets.Store(*declared, row); err != nil {
			problems[field] = fault.From(err).Message
			return
		}
	}
	*stored = next
	*changed = append(*changed, field)
}

// sameSecret reports whether the declared secret is what is stored already.
func (s *Store) sameSecret(stored, declared, row string) bool {
	if isReference(stored) || isReference(declared) {
		return stored == declared
	}
	v, err := s.secrets.Resolve(stored, row)
	return err == nil && v.Reveal() == declared
}

// isReference reports whether a secret is a `${NAME}` reference, which may be
// shown, and not a sealed literal.
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

package projects

import (
	"bytes"
	"context"
	"encoding/json"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
)

type exportFile struct {
	Projects map[string]exportProject `json:"projects"`
}

type exportProject struct {
	Name           string                  `json:"name"`
	Description    string                  `json:"description"`
	AuthMode       models.AuthMode         `json:"authMode"`
	OAuthAccess    models.OAuthAccess      `json:"oauthAccess"`
	CodeMode       exportCodeMode          `json:"codeMode"`
	Servers        map[string]exportServer `json:"mcpServers"`
	ToolExposure   models.ToolExposure     `json:"toolExposure"`
	ToolNameLimit  int                     `json:"toolNameLimit"`
	DisabledTools  []string                `json:"disabledTools"`
	RateLimit      exportRateLimit         `json:"rateLimit"`
	Limits         []models.Limit          `json:"limits,omitempty"`
	RecordPayloads bool                    `json:"recordPayloads"`
	SecretRefs     []string                `json:"secretRefs,omitempty"`
}

type exportCodeMode struct {
	Enabled    bool  `json:"enabled"`
	Timeout    int64 `json:"timeout"`
	AllowFetch bool  `json:"allowFetch"`
}

type exportRateLimit struct {
	PerSecond float64 `json:"perSecond"`
	Burst     int     `json:"burst"`
}

type exportServer struct {
	URL              string                  `json:"url"`
	Transport        models.Transport        `json:"transport"`
	AuthType         models.AuthType         `json:"authType"`
	AuthBearer       string                  `json:"authBearer,omitempty"`
	Headers          map[string]string       `json:"headers"`
	AllowedTools     []string                `json:"allowedTools"`
	DenyTools        []string                `json:"denyTools"`
	Tools            models.ToolOverrides    `json:"tools,omitempty"`
	Enabled          bool                    `json:"enabled"`
	Timeout          int64                   `json:"timeout"`
	MaxConcurrent    int64                   `json:"maxConcurrent"`
	SessionMode      models.SessionMode      `json:"sessionMode"`
	DefinitionPolicy models.DefinitionPolicy `json:"definitionPolicy"`
	OAuth            exportOAuth             `json:"oauth"`
}

type exportOAuth struct {
	ClientID     string   `json:"clientId"`
	ClientSecret string   `json:"clientSecret,omitempty"`
	Scopes       []string `json:"scopes"`
}

// Export returns the declarative file of the project with the slug, or of every
// project if slug is empty. Literal secrets are replaced with the placeholder;
// applying the file keeps them. It returns NOT_FOUND for an unknown slug.
func (s *Store) Export(ctx context.Context, slug string) ([]byte, error) {
	rows, err := s.Projects(ctx)
	if err != nil {
		return nil, err
	}
	file := exportFile{Projects: map[string]exportProject{}}
	for _, row := range rows {
		if slug != "" && row.Slug != slug {
			continue
		}
		servers, err := s.Servers(ctx, row.ID)
		if err != nil {
			return nil, err
		}
		file.Projects[row.Slug] = projectFile(row, servers)
	}
	if slug != "" && len(file.Projects) == 0 {
		return nil, fault.NotFound("project", slug)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(file); err != nil {
		return nil, fault.Internal(err)
	}
	return b.Bytes(), nil
}

func projectFile(row models.Project, servers []models.Server) exportProject {
	p := exportProject{
		Name: row.Name, Description: row.Description, AuthMode: row.AuthMode, OAuthAccess: row.OAuthAccess,
		CodeMode: exportCodeMode{Enabled: row.CodeModeEnabled, Timeout: row.CodeModeTimeoutMS, AllowFetch: row.CodeModeAllowFetch},
		Servers:  map[string]exportServer{}, ToolExposure: row.ToolExposure, ToolNameLimit: row.ToolNameLimit,
		DisabledTools: list(row.DisabledTools), RateLimit: exportRateLimit{PerSecond: row.RatePerSecond, Burst: row.RateBurst},
		Limits: row.Limits, RecordPayloads: row.RecordPayloads, SecretRefs: row.SecretRefs,
	}
	for _, server := range servers {
		headers := map[string]string{}
		for name, stored := range server.Headers {
			headers[name] = shown(stored)
		}
		p.Servers[server.Alias] = exportServer{
			URL: server.URL, Transport: server.Transport, AuthType: server.AuthType,
			AuthBearer: bearerShown(server), Headers: headers,
			AllowedTools: list(server.AllowedTools), DenyTools: list(server.DenyTools), Tools: server.ToolOverrides,
			Enabled: server.Enabled, Timeout: server.TimeoutMS, MaxConcurrent: server.MaxConcurrent,
			SessionMode: server.SessionMode, DefinitionPolicy: server.DefinitionPolicy,
			OAuth: exportOAuth{ClientID: server.OAuthClientID, ClientSecret: secretShown(server.OAuthClientSecret), Scopes: list(server.OAuthScopes)},
		}
	}
	return p
}

// shown returns a stored secret in its exported form: a reference unchanged,
// and the placeholder for a literal or missing secret.
func shown(stored string) string {
	if isReference(stored) {
		return stored
	}
	return secrets.Placeholder
}

// secretShown is shown for an optional secret, which is "" if absent.
func secretShown(stored string) string {
	if stored == "" {
		return ""
	}
	return shown(stored)
}

// bearerShown returns the exported bearer token. If the server requires one, an
// absent token is shown as missing.
func bearerShown(server models.Server) string {
	if server.AuthType == models.UpstreamAuthBearer {
		return shown(server.AuthBearer)
	}
	return secretShown(server.AuthBearer)
}

func list(l models.StringList) []string {
	if l == nil {
		return []string{}
	}
	return l
}

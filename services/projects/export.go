package projects

import (
	"bytes"
	"context"
	"encoding/json"

	"mcpgateway/models"
	"mcpgateway/services/access/grants"
	"mcpgateway/services/access/groups"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
	"mcpgateway/services/projects/toolsets"
	"mcpgateway/services/secrets"
)

type exportFile struct {
	Groups   map[string]exportGroup   `json:"groups,omitempty"`
	Projects map[string]exportProject `json:"projects"`
}

type exportProject struct {
	Name          string                  `json:"name"`
	Description   string                  `json:"description"`
	AuthMode      models.AuthMode         `json:"authMode"`
	OAuthAccess   models.OAuthAccess      `json:"oauthAccess"`
	CodeMode      exportCodeMode          `json:"codeMode"`
	Servers       map[string]exportServer `json:"mcpServers"`
	ToolExposure  models.ToolExposure     `json:"toolExposure"`
	ToolNameLimit int                     `json:"toolNameLimit"`
	DisabledTools []string                `json:"disabledTools"`
	RateLimit     exportRateLimit         `json:"rateLimit"`
	Limits        []models.Limit          `json:"limits,omitempty"`
	exportIdentity
	RecordPayloads bool                `json:"recordPayloads"`
	PersonalKeys   *exportPersonalKeys `json:"personalKeys,omitempty"` // if they are on
	SecretRefs     []string            `json:"secretRefs,omitempty"`
	Retention      *exportRetention    `json:"retention,omitempty"` // if it differs from the defaults

	Toolsets map[string]exportToolset `json:"toolsets,omitempty"`
	Access   *exportAccess            `json:"access,omitempty"`
	Recipes  map[string]exportRecipe  `json:"recipes,omitempty"`
}

type exportRetention struct {
	Calls    int `json:"calls"`
	Payloads int `json:"payloads"`
	Runs     int `json:"runs"`
}

var defaultRetention = exportRetention{declaration.DefaultCallDays, declaration.DefaultPayloadDays, declaration.DefaultRuns}

// exportIdentity has only the keys that differ from their defaults.
type exportIdentity struct {
	ToolNames         models.ToolNames `json:"toolNames,omitempty"`
	ValidateArguments bool             `json:"validateArguments,omitempty"`
	ResultLimit       int64            `json:"resultLimit,omitempty"`
	Instructions      string           `json:"instructions,omitempty"`
	Icon              string           `json:"icon,omitempty"`
	WebsiteURL        string           `json:"websiteUrl,omitempty"`
	ServerCard        bool             `json:"serverCard,omitempty"`
	Published         bool             `json:"published,omitempty"`
}

// exportToolset has only the keys that differ from their defaults.
type exportToolset struct {
	Name         string              `json:"name,omitempty"` // the slug by default
	Description  string              `json:"description,omitempty"`
	Query        string              `json:"query,omitempty"`
	Include      []string            `json:"include,omitempty"`
	Exclude      []string            `json:"exclude,omitempty"`
	OffersOf     []string            `json:"offersOf,omitempty"`
	ToolExposure models.ToolExposure `json:"toolExposure,omitempty"`
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

type exportPersonalKeys struct {
	Enabled bool `json:"enabled"`
	MaxDays int  `json:"maxDays"`
}

// exportServer has only settings for a program, because apply can't declare it.
type exportServer struct {
	*exportAddress
	AllowedTools     []string                `json:"allowedTools"`
	DenyTools        []string                `json:"denyTools"`
	Tools            models.ToolOverrides    `json:"tools,omitempty"`
	Enabled          bool                    `json:"enabled"`
	Timeout          int64                   `json:"timeout"`
	MaxConcurrent    int64                   `json:"maxConcurrent"`
	SessionMode      models.SessionMode      `json:"sessionMode,omitempty"`
	DefinitionPolicy models.DefinitionPolicy `json:"definitionPolicy"`
	ProtocolVersion  string                  `json:"protocolVersion,omitempty"` // if it is not auto
	TaskTimeout      int64                   `json:"taskTimeout,omitempty"`     // if it is not the default
	ResultLimit      *int64                  `json:"resultLimit,omitempty"`     // if it is not that of the project
	OAuth            *exportOAuth            `json:"oauth,omitempty"`
	TLS              *exportTLS              `json:"tls,omitempty"`
	ForwardHeaders   map[string]string       `json:"forwardHeaders,omitempty"`

	Connection      models.ConnectionMode `json:"connection,omitempty"` // if it is personal
	PersonalHeaders []string              `json:"personalHeaders,omitempty"`
	InventoryPerson string                `json:"inventoryPerson,omitempty"`
}

type exportAddress struct {
	URL        string            `json:"url"`
	Transport  models.Transport  `json:"transport"`
	AuthType   models.AuthType   `json:"authType"`
	AuthBearer string            `json:"authBearer,omitempty"`
	Headers    map[string]string `json:"headers"`
}

type exportOAuth struct {
	ClientID     string   `json:"clientId"`
	ClientSecret string   `json:"clientSecret,omitempty"`
	Scopes       []string `json:"scopes"`

	Grant      models.OAuthGrantType `json:"grant,omitempty"`
	AuthMethod models.ClientAuth     `json:"authMethod,omitempty"`
	PrivateKey string                `json:"privateKey,omitempty"`
	KeyID      string                `json:"keyId,omitempty"`
	TokenURL   string                `json:"tokenUrl,omitempty"`
	Audience   string                `json:"audience,omitempty"`
}

type exportTLS struct {
	CA   string `json:"ca,omitempty"`
	Cert string `json:"cert,omitempty"`
	Key  string `json:"key,omitempty"`
}

// ExportOptions configure an export.
type ExportOptions struct {
	Project string // slug of the only project; empty for all projects and the groups of users
	People  bool   // with the email addresses of users
}

// Export returns the declarative file of the project with the slug, or of every
// project and group if slug is empty, without users. Literal secrets are replaced with the
// placeholder; applying the file keeps them. It returns NOT_FOUND for an unknown
// slug.
func (s *Store) Export(ctx context.Context, slug string) ([]byte, error) {
	return s.ExportWith(ctx, ExportOptions{Project: slug})
}

// ExportWith is Export with options.
func (s *Store) ExportWith(ctx context.Context, o ExportOptions) ([]byte, error) {
	slug := o.Project
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
		exported := projectFile(row, servers)
		if err := s.addPersonal(ctx, &exported, servers, o.People); err != nil {
			return nil, err
		}
		if exported.Toolsets, err = s.toolsetsFile(ctx, row.ID); err != nil {
			return nil, err
		}
		if exported.Recipes, err = s.recipesFile(ctx, row.ID); err != nil {
			return nil, err
		}
		access, err := grants.Exported(s.db.WithContext(ctx), row.ID, o.People)
		if err != nil {
			return nil, fault.Internal(err)
		}
		exported.Access = accessFile(access)
		file.Projects[row.Slug] = exported
	}
	if slug != "" && len(file.Projects) == 0 {
		return nil, fault.NotFound("project", slug)
	}
	if slug == "" {
		all, err := groups.Exported(s.db.WithContext(ctx), o.People)
		if err != nil {
			return nil, fault.Internal(err)
		}
		file.Groups = groupsFile(all)
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
		exportIdentity: exportIdentity{
			ToolNames: unless(models.NamesPrefixed, row.ToolNames), ValidateArguments: row.ValidateArguments, ResultLimit: row.ResultLimit,
			Instructions: row.Instructions, Icon: row.Icon, WebsiteURL: row.WebsiteURL, ServerCard: row.ServerCard, Published: row.Published,
		},
	}
	if row.PersonalKeysEnabled {
		p.PersonalKeys = &exportPersonalKeys{Enabled: true, MaxDays: row.PersonalKeysMaxDays}
	}
	if kept := (exportRetention{row.RetentionCalls, row.RetentionPayloads, row.RetentionRuns}); kept != defaultRetention {
		p.Retention = &kept
	}
	for _, server := range servers {
		p.Servers[server.Alias] = serverFile(server)
	}
	return p
}

// serverFile returns the exported server.
func serverFile(server models.Server) exportServer {
	file := exportServer{
		AllowedTools: list(server.AllowedTools), DenyTools: list(server.DenyTools), Tools: server.ToolOverrides,
		Enabled: server.Enabled, Timeout: server.TimeoutMS, MaxConcurrent: server.MaxConcurrent, DefinitionPolicy: server.DefinitionPolicy,
		ProtocolVersion: unless(models.ProtocolAuto, server.ProtocolVersion), TaskTimeout: unless(defaultTaskTimeoutMS, server.TaskTimeoutMS), ResultLimit: server.ResultLimit,
	}
	if server.IsProgram() {
		return file
	}
	headers := map[string]string{}
	for name, stored := range server.Headers {
		headers[name] = shown(stored)
	}
	file.exportAddress = &exportAddress{URL: server.URL, Transport: server.Transport, AuthType: server.AuthType, AuthBearer: bearerShown(server), Headers: headers}
	file.SessionMode, file.OAuth, file.TLS, file.ForwardHeaders = server.SessionMode, oauthFile(server), tlsFile(server), forwardFile(server)
	return file
}

// unless returns a value, or the zero value for its default.
func unless[T comparable](standard, v T) T {
	if v == standard {
		var none T
		return none
	}
	return v
}

// toolsetsFile returns the exported toolsets of a project by slug.
func (s *Store) toolsetsFile(ctx context.Context, projectID string) (map[string]exportToolset, error) {
	rows, err := toolsets.Of(s.db.WithContext(ctx), projectID)
	if err != nil {
		return nil, err
	}
	file := make(map[string]exportToolset, len(rows))
	for _, row := range rows {
		t := exportToolset{
			Name: row.Name, Description: row.Description, Query: row.Query, Include: row.Include, Exclude: row.Exclude, OffersOf: row.OffersOf, ToolExposure: row.ToolExposure,
		}
		if t.Name == row.Slug {
			t.Name = ""
		}
		file[row.Slug] = t
	}
	return file, nil
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
	if server.AuthType == models.UpstreamAuthBearer && !server.IsPersonal() {
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

package api

import (
	"net/url"
	"slices"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/services/access/reach"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
	"mcpgateway/services/projects"
	"mcpgateway/services/projects/toolsets"
	"mcpgateway/web"
)

// Projects serves the project records.
type Projects struct {
	store    *projects.Store
	toolsets *toolsets.Store
}

// NewProjects returns the handlers over the stores.
func NewProjects(store *projects.Store, toolsets *toolsets.Store) *Projects {
	return &Projects{store: store, toolsets: toolsets}
}

type projectRecord struct {
	ProjectSlug    string              `json:"projectSlug"`
	Name           string              `json:"name"`
	Description    string              `json:"description"`
	AuthMode       models.AuthMode     `json:"authMode"`
	OAuthAccess    models.OAuthAccess  `json:"oauthAccess"`
	CodeMode       codeModeRecord      `json:"codeMode"`
	ToolExposure   models.ToolExposure `json:"toolExposure"`
	ToolNameLimit  int                 `json:"toolNameLimit"`
	DisabledTools  []string            `json:"disabledTools"`
	RateLimit      rateLimitRecord     `json:"rateLimit"`
	Limits         []models.Limit      `json:"limits"`
	RecordPayloads bool                `json:"recordPayloads"`
	PersonalKeys   personalKeysRecord  `json:"personalKeys"`
	SecretRefs     []string            `json:"secretRefs"`
	Retention      retentionRecord     `json:"retention"`

	ToolNames         models.ToolNames `json:"toolNames"`
	ValidateArguments bool             `json:"validateArguments"`
	ResultLimit       int64            `json:"resultLimit"`
	Instructions      string           `json:"instructions"`
	Icon              string           `json:"icon"`
	WebsiteURL        string           `json:"websiteUrl"`
	ServerCard        bool             `json:"serverCard"`
	Published         bool             `json:"published"`

	CreatedAt time.Time       `json:"createdAt"`
	UpdatedAt time.Time       `json:"updatedAt"`
	Warnings  []fault.Warning `json:"warnings,omitzero"` // not in lists
}

type codeModeRecord struct {
	Enabled    bool  `json:"enabled"`
	Timeout    int64 `json:"timeout"`
	AllowFetch bool  `json:"allowFetch"`
}

type retentionRecord struct {
	Calls    int `json:"calls"`
	Payloads int `json:"payloads"`
	Runs     int `json:"runs"`
}

type personalKeysRecord struct {
	Enabled bool `json:"enabled"`
	MaxDays int  `json:"maxDays"`
}

type rateLimitRecord struct {
	PerSecond float64 `json:"perSecond"`
	Burst     int     `json:"burst"`
}

func projectOf(row models.Project) projectRecord {
	return projectRecord{
		ProjectSlug: row.Slug, Name: row.Name, Description: row.Description, AuthMode: row.AuthMode, OAuthAccess: row.OAuthAccess,
		CodeMode:     codeModeRecord{Enabled: row.CodeModeEnabled, Timeout: row.CodeModeTimeoutMS, AllowFetch: row.CodeModeAllowFetch},
		ToolExposure: row.ToolExposure, ToolNameLimit: row.ToolNameLimit, DisabledTools: nonNil(row.DisabledTools),
		RateLimit:      rateLimitRecord{PerSecond: row.RatePerSecond, Burst: row.RateBurst},
		Limits:         append([]models.Limit{}, row.Limits...),
		RecordPayloads: row.RecordPayloads, SecretRefs: nonNil(row.SecretRefs),
		PersonalKeys: personalKeysRecord{Enabled: row.PersonalKeysEnabled, MaxDays: row.PersonalKeysMaxDays},
		Retention:    retentionRecord{Calls: row.RetentionCalls, Payloads: row.RetentionPayloads, Runs: row.RetentionRuns},
		ToolNames:    row.ToolNames, ValidateArguments: row.ValidateArguments, ResultLimit: row.ResultLimit,
		Instructions: row.Instructions, Icon: row.Icon, WebsiteURL: row.WebsiteURL, ServerCard: row.ServerCard, Published: row.Published,
		CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt,
	}
}

// List serves GET /api/projects: those that the caller may see.
func (p *Projects) List(c *fiber.Ctx) error {
	rows, err := p.store.Projects(c.UserContext())
	if err != nil {
		return err
	}
	mine := reach.Of(c.UserContext())
	rows = slices.DeleteFunc(rows, func(row models.Project) bool { return !mine.Sees(&row) })
	return RespondList(c, rows, projectOf)
}

// Get serves GET /api/projects/:projectSlug.
func (p *Projects) Get(c *fiber.Ctx) error {
	row, err := p.store.Project(c.UserContext(), c.Params("projectSlug"))
	if err != nil {
		return err
	}
	servers, err := p.store.Servers(c.UserContext(), row.ID)
	if err != nil {
		return err
	}
	warnings, err := p.toolsets.Warnings(c.UserContext(), &row)
	if err != nil {
		return err
	}
	if shared, ok := projects.Shared(row, servers); ok {
		warnings = append(warnings, shared.Warning())
	}
	return respondProject(c, row, warnings)
}

// Create serves POST /api/projects with a record, its projectSlug and
// optionally mcpServers as in the declarative file.
func (p *Projects) Create(c *fiber.Ctx) error {
	body, err := web.JSONBody(c)
	if err != nil {
		return err
	}
	slug, declaration, err := declaration.ParseProject(body)
	if err != nil {
		return err
	}
	if slug == nil {
		return fault.Validation(map[string]string{"projectSlug": "this key is required"})
	}
	saved, err := p.store.CreateProject(c.UserContext(), *slug, declaration)
	if err != nil {
		return err
	}
	c.Location("/api/projects/" + url.PathEscape(saved.Project.Slug))
	c.Status(fiber.StatusCreated)
	return respondProject(c, saved.Project, saved.Warnings)
}

// Update serves PATCH /api/projects/:projectSlug. Absent keys are unchanged.
func (p *Projects) Update(c *fiber.Ctx) error {
	body, err := web.JSONBody(c)
	if err != nil {
		return err
	}
	slug, declaration, err := declaration.ParseProject(body)
	if err != nil {
		return err
	}
	if slug != nil && *slug != c.Params("projectSlug") {
		return fault.Validation(map[string]string{"projectSlug": "the slug can't be changed, because clients use it in their URL: create another project"})
	}
	saved, err := p.store.UpdateProject(c.UserContext(), c.Params("projectSlug"), declaration)
	if err != nil {
		return err
	}
	return respondProject(c, saved.Project, saved.Warnings)
}

// Delete serves DELETE /api/projects/:projectSlug. It also deletes the
// project's servers and keys.
func (p *Projects) Delete(c *fiber.Ctx) error {
	if err := p.store.DeleteProject(c.UserContext(), c.Params("projectSlug")); err != nil {
		return err
	}
	return c.SendStatus(fiber.StatusNoContent)
}

func respondProject(c *fiber.Ctx, row models.Project, warnings []fault.Warning) error {
	record := projectOf(row)
	record.Warnings = append([]fault.Warning{}, warnings...)
	return c.JSON(record)
}

func nonNil(l models.StringList) []string {
	if l == nil {
		return []string{}
	}
	return l
}

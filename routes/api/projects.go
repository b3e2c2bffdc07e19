package api

import (
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/services/projects"
)

// Projects serves the project records.
type Projects struct{ store *projects.Store }

// NewProjects returns the handlers over the store.
func NewProjects(store *projects.Store) *Projects { return &Projects{store: store} }

type projectRecord struct {
	ProjectSlug   string              `json:"projectSlug"`
	Name          string              `json:"name"`
	Description   string              `json:"description"`
	AuthMode      models.AuthMode     `json:"authMode"`
	CodeMode      codeModeRecord      `json:"codeMode"`
	ToolExposure  models.ToolExposure `json:"toolExposure"`
	ToolNameLimit int                 `json:"toolNameLimit"`
	DisabledTools []string            `json:"disabledTools"`
	RateLimit     rateLimitRecord     `json:"rateLimit"`
	CreatedAt     time.Time           `json:"createdAt"`
	UpdatedAt     time.Time           `json:"updatedAt"`
}

type codeModeRecord struct {
	Enabled    bool  `json:"enabled"`
	Timeout    int64 `json:"timeout"`
	AllowFetch bool  `json:"allowFetch"`
}

type rateLimitRecord struct {
	PerSecond float64 `json:"perSecond"`
	Burst     int     `json:"burst"`
}

func projectOf(row models.Project) projectRecord {
	return projectRecord{
		ProjectSlug: row.Slug, Name: row.Name, Description: row.Description, AuthMode: row.AuthMode,
		CodeMode:     codeModeRecord{Enabled: row.CodeModeEnabled, Timeout: row.CodeModeTimeoutMS, AllowFetch: row.CodeModeAllowFetch},
		ToolExposure: row.ToolExposure, ToolNameLimit: row.ToolNameLimit, DisabledTools: nonNil(row.DisabledTools),
		RateLimit: rateLimitRecord{PerSecond: row.RatePerSecond, Burst: row.RateBurst},
		CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt,
	}
}

// List serves GET /api/projects.
func (p *Projects) List(c *fiber.Ctx) error {
	rows, err := p.store.Projects(c.UserContext())
	if err != nil {
		return err
	}
	return answerList(c, rows, projectOf)
}

// Get serves GET /api/projects/:projectSlug.
func (p *Projects) Get(c *fiber.Ctx) error {
	row, err := p.store.Project(c.UserContext(), c.Params("projectSlug"))
	if err != nil {
		return err
	}
	return c.JSON(projectOf(row))
}

func nonNil(l models.StringList) []string {
	if l == nil {
		return []string{}
	}
	return l
}

package api

import (
	"net/url"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
	"mcpgateway/services/projects/toolsets"
	"mcpgateway/services/toolsearch"
	"mcpgateway/services/toolset"
	"mcpgateway/services/toolset/views"
	"mcpgateway/web"
)

// Toolsets serves the toolsets of projects.
type Toolsets struct {
	directory Directory
	store     *toolsets.Store
	public    *url.URL
}

// NewToolsets returns the handlers. public is the origin of the endpoints.
func NewToolsets(directory Directory, store *toolsets.Store, public *url.URL) *Toolsets {
	return &Toolsets{directory: directory, store: store, public: public}
}

type toolsetRecord struct {
	Slug         string              `json:"slug"`
	ProjectSlug  string              `json:"projectSlug"`
	Name         string              `json:"name"`
	Description  string              `json:"description"`
	Query        string              `json:"query"`
	Include      []string            `json:"include"`
	Exclude      []string            `json:"exclude"`
	OffersOf     []string            `json:"offersOf"`
	ToolExposure models.ToolExposure `json:"toolExposure"`
	Tools        int                 `json:"tools"`
	Total        int                 `json:"total"`
	Endpoints    endpointsRecord     `json:"endpoints"`
	CreatedAt    time.Time           `json:"createdAt"`
	UpdatedAt    time.Time           `json:"updatedAt"`
	Warnings     []fault.Warning     `json:"warnings,omitzero"` // not in lists
}

type endpointsRecord struct {
	Request string `json:"request"`
	SSE     string `json:"sse"`
}

func (t *Toolsets) record(project *toolset.Snapshot, row *models.Toolset) toolsetRecord {
	base := t.public.JoinPath("v1", "mcp", project.Project.Slug, "toolsets", row.Slug)
	return toolsetRecord{
		Slug: row.Slug, ProjectSlug: project.Project.Slug, Name: row.Name, Description: row.Description,
		Query: row.Query, Include: nonNil(row.Include), Exclude: nonNil(row.Exclude), OffersOf: nonNil(row.OffersOf), ToolExposure: row.ToolExposure,
		Tools: len(views.Preview(project, row).AllTools()), Total: len(project.AllTools()),
		Endpoints: endpointsRecord{Request: base.JoinPath("request").String(), SSE: base.JoinPath("sse").String()},
		CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt,
	}
}

// List serves GET /api/projects/:projectSlug/toolsets.
func (t *Toolsets) List(c *fiber.Ctx) error {
	project, err := t.directory.Project(c.Params("projectSlug"))
	if err != nil {
		return err
	}
	rows, err := t.store.List(c.UserContext(), project.Project.ID)
	if err != nil {
		return err
	}
	return RespondList(c, rows, func(row models.Toolset) toolsetRecord { return t.record(project, &row) })
}

// Get serves GET /api/projects/:projectSlug/toolsets/:toolset.
func (t *Toolsets) Get(c *fiber.Ctx) error {
	project, err := t.directory.Project(c.Params("projectSlug"))
	if err != nil {
		return err
	}
	row, err := t.store.Get(c.UserContext(), project.Project.ID, c.Params("toolset"))
	if err != nil {
		return err
	}
	return t.respond(c, &row)
}

// respond responds with a toolset and its warnings.
func (t *Toolsets) respond(c *fiber.Ctx, row *models.Toolset) error {
	project, err := t.directory.Project(c.Params("projectSlug"))
	if err != nil {
		return err
	}
	moved, err := t.store.Moved(c.UserContext(), project.Project.Slug, []models.Toolset{*row})
	if err != nil {
		return err
	}
	record := t.record(project, row)
	record.Warnings = append([]fault.Warning{}, views.Warnings(project, row)...)
	if m, ok := moved[row.ID]; ok {
		record.Warnings = append(record.Warnings, m.Warning(row.Slug))
	}
	return c.JSON(record)
}

// Create serves POST /api/projects/:projectSlug/toolsets.
func (t *Toolsets) Create(c *fiber.Ctx) error {
	body, err := web.JSONBody(c)
	if err != nil {
		return err
	}
	slug, d, err := declaration.ParseToolset(body)
	if err != nil {
		return err
	}
	if slug == nil {
		return fault.Validation(map[string]string{"slug": "this key is required"})
	}
	row, err := t.store.Create(c.UserContext(), c.Params("projectSlug"), *slug, d)
	if err != nil {
		return err
	}
	c.Location("/api/projects/" + url.PathEscape(c.Params("projectSlug")) + "/toolsets/" + url.PathEscape(row.Slug))
	c.Status(fiber.StatusCreated)
	return t.respond(c, &row)
}

// Update serves PATCH /api/projects/:projectSlug/toolsets/:toolset. Absent keys
// are unchanged.
func (t *Toolsets) Update(c *fiber.Ctx) error {
	body, err := web.JSONBody(c)
	if err != nil {
		return err
	}
	slug, d, err := declaration.ParseToolset(body)
	if err != nil {
		return err
	}
	if slug != nil && *slug != c.Params("toolset") {
		return fault.Validation(map[string]string{"slug": "the slug can't be changed, because clients use it in their URL: create another toolset"})
	}
	row, err := t.store.Update(c.UserContext(), c.Params("projectSlug"), c.Params("toolset"), d)
	if err != nil {
		return err
	}
	return t.respond(c, &row)
}

// Delete serves DELETE /api/projects/:projectSlug/toolsets/:toolset. ?force=true
// deletes it even if it is in use.
func (t *Toolsets) Delete(c *fiber.Ctx) error {
	force := c.Query("force")
	if force != "" && force != "true" && force != "false" {
		return fault.Invalid("force must be true or false.")
	}
	if err := t.store.Delete(c.UserContext(), c.Params("projectSlug"), c.Params("toolset"), force == "true"); err != nil {
		return err
	}
	return c.SendStatus(fiber.StatusNoContent)
}

type previewRecord struct {
	Items    []previewItem   `json:"items"`
	Count    int             `json:"count"`
	Total    int             `json:"total"`
	Warnings []fault.Warning `json:"warnings"`
}

type previewItem struct {
	Name   string `json:"name"`
	Server string `json:"server"`
	Title  string `json:"title"`
	Hidden bool   `json:"hidden"`
}

// Preview serves POST /api/projects/:projectSlug/toolsets/preview. It stores
// nothing.
func (t *Toolsets) Preview(c *fiber.Ctx) error {
	body, err := web.JSONBody(c)
	if err != nil {
		return err
	}
	d, err := declaration.ParseToolsetPreview(body)
	if err != nil {
		return err
	}
	row, err := toolsets.Draft(d)
	if err != nil {
		return err
	}
	project, err := t.directory.Project(c.Params("projectSlug"))
	if err != nil {
		return err
	}
	p := previewRecord{Items: []previewItem{}, Total: len(project.AllTools()), Warnings: append([]fault.Warning{}, views.Warnings(project, &row)...)}
	for _, tool := range views.Preview(project, &row).AllTools() {
		p.Items = append(p.Items, previewItem{Name: tool.FullName, Server: tool.Server.Config.Alias, Title: toolsearch.TitleOf(tool), Hidden: tool.Hidden != toolset.Visible})
	}
	p.Count = len(p.Items)
	return c.JSON(p)
}

package api

import (
	"encoding/json"
	"net/url"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
	"mcpgateway/services/projects/toolstate"
	"mcpgateway/services/recipes"
	"mcpgateway/services/toolset"
	"mcpgateway/web"
)

// Recipes serves the recipes of projects and the proposed ones.
type Recipes struct {
	directory Directory
	store     *recipes.Store
	tools     *toolstate.Store
}

// NewRecipes returns the handlers. tools turns the tools of recipes on and off.
func NewRecipes(directory Directory, store *recipes.Store, tools *toolstate.Store) *Recipes {
	return &Recipes{directory: directory, store: store, tools: tools}
}

// The states of a recipe in responses.
const (
	recipeActive   = "active"
	recipeProposed = "proposed" // waits for an approval; clients don't see it
)

type recipeRecord struct {
	ID          string              `json:"id"`
	ProjectSlug string              `json:"projectSlug"`
	Name        string              `json:"name"`
	Tool        string              `json:"tool"`
	State       string              `json:"state"`
	Description string              `json:"description"`
	InputSchema json.RawMessage     `json:"inputSchema"`
	Code        string              `json:"code"`
	Effect      models.RecipeEffect `json:"effect"`
	Tools       []string            `json:"tools"`
	Missing     []string            `json:"missing"` // of tools, those that the project doesn't have or show
	Enabled     *bool               `json:"enabled,omitempty"`
	Version     int64               `json:"version,omitempty"`
	Versions    []recipeVersion     `json:"versions,omitempty"` // not in lists
	ProposedBy  string              `json:"proposedBy,omitempty"`
	RunID       string              `json:"runId,omitempty"`
	CreatedAt   time.Time           `json:"createdAt"`
	UpdatedAt   *time.Time          `json:"updatedAt,omitempty"`
}

type recipeVersion struct {
	Version int64     `json:"version"`
	SavedBy string    `json:"savedBy"`
	SavedAt time.Time `json:"savedAt"`
}

func recipeOf(project *toolset.Snapshot, row *models.Recipe) recipeRecord {
	enabled := recipes.IsOn(project, row.Name)
	return recipeRecord{
		ID: row.ID, ProjectSlug: project.Project.Slug, Name: row.Name, Tool: toolset.RecipeName(row.Name), State: recipeActive, Description: row.Description,
		InputSchema: json.RawMessage(row.InputSchema), Code: row.Code, Effect: row.Effect, Tools: nonNil(row.Tools), Missing: nonNil(recipes.Missing(project, row)),
		Enabled: &enabled, Version: row.Version, CreatedAt: row.CreatedAt, UpdatedAt: &row.UpdatedAt,
	}
}

func proposalOf(project *toolset.Snapshot, row *models.RecipeProposal) recipeRecord {
	return recipeRecord{
		ID: row.ID, ProjectSlug: project.Project.Slug, Name: row.Name, Tool: toolset.RecipeName(row.Name), State: recipeProposed, Description: row.Description,
		InputSchema: json.RawMessage(row.InputSchema), Code: row.Code, Effect: row.Effect, Tools: nonNil(row.Tools),
		Missing: nonNil(recipes.Missing(project, &models.Recipe{Tools: row.Tools})), ProposedBy: row.Principal, RunID: row.RunID, CreatedAt: row.CreatedAt,
	}
}

// List serves GET /api/projects/:projectSlug/recipes: the recipes by name, then
// the proposed ones, oldest first.
func (r *Recipes) List(c *fiber.Ctx) error {
	project, err := r.directory.Project(c.Params("projectSlug"))
	if err != nil {
		return err
	}
	rows, err := r.store.List(c.UserContext(), project.Project.ID)
	if err != nil {
		return err
	}
	proposals, err := r.store.Proposals(c.UserContext(), project.Project.ID)
	if err != nil {
		return err
	}
	records := make([]recipeRecord, 0, len(rows)+len(proposals))
	for i := range rows {
		records = append(records, recipeOf(project, &rows[i]))
	}
	for i := range proposals {
		records = append(records, proposalOf(project, &proposals[i]))
	}
	return RespondList(c, records, func(record recipeRecord) recipeRecord { return record })
}

// Get serves GET /api/projects/:projectSlug/recipes/:id.
func (r *Recipes) Get(c *fiber.Ctx) error {
	project, err := r.directory.Project(c.Params("projectSlug"))
	if err != nil {
		return err
	}
	row, err := r.store.Get(c.UserContext(), project.Project.ID, c.Params("id"))
	if fault.Is(err, fault.CodeNotFound) {
		proposal, err := r.store.Proposal(c.UserContext(), project.Project.ID, c.Params("id"))
		if err != nil {
			return err
		}
		return c.JSON(proposalOf(project, &proposal))
	}
	if err != nil {
		return err
	}
	return r.respond(c, &row)
}

// respond responds with a recipe and its versions.
func (r *Recipes) respond(c *fiber.Ctx, row *models.Recipe) error {
	project, err := r.directory.Project(c.Params("projectSlug"))
	if err != nil {
		return err
	}
	versions, err := r.store.Versions(c.UserContext(), row.ID)
	if err != nil {
		return err
	}
	record := recipeOf(project, row)
	for _, v := range versions {
		record.Versions = append(record.Versions, recipeVersion{Version: v.Version, SavedBy: v.SavedBy, SavedAt: v.SavedAt})
	}
	return c.JSON(record)
}

// Create serves POST /api/projects/:projectSlug/recipes.
func (r *Recipes) Create(c *fiber.Ctx) error {
	body, err := web.JSONBody(c)
	if err != nil {
		return err
	}
	name, enabled, d, err := declaration.ParseRecipe(body)
	if err != nil {
		return err
	}
	if name == nil {
		return fault.Validation(map[string]string{"name": "this key is required"})
	}
	row, err := r.store.Create(c.UserContext(), c.Params("projectSlug"), *name, d)
	if err != nil {
		return err
	}
	if err := r.turn(c, row.Name, enabled); err != nil {
		return err
	}
	c.Location("/api/projects/" + url.PathEscape(c.Params("projectSlug")) + "/recipes/" + row.ID)
	c.Status(fiber.StatusCreated)
	return r.respond(c, &row)
}

// turn turns the tool of a recipe on or off, unless enabled is nil.
func (r *Recipes) turn(c *fiber.Ctx, name string, enabled *bool) error {
	if enabled == nil {
		return nil
	}
	return r.tools.SetTool(c.UserContext(), c.Params("projectSlug"), toolset.RecipeName(name), enabled, nil)
}

// Update serves PATCH /api/projects/:projectSlug/recipes/:id. Absent keys are
// unchanged. A change of the recipe is its next version.
func (r *Recipes) Update(c *fiber.Ctx) error {
	body, err := web.JSONBody(c)
	if err != nil {
		return err
	}
	name, enabled, d, err := declaration.ParseRecipe(body)
	if err != nil {
		return err
	}
	if name != nil {
		project, err := r.directory.Project(c.Params("projectSlug"))
		if err != nil {
			return err
		}
		row, err := r.store.Get(c.UserContext(), project.Project.ID, c.Params("id"))
		if err != nil {
			return err
		}
		if *name != row.Name {
			return fault.Validation(map[string]string{"name": "the name can't be changed, because clients call the recipe by it: create another recipe"})
		}
	}
	row, err := r.store.Update(c.UserContext(), c.Params("projectSlug"), c.Params("id"), d)
	if err != nil {
		return err
	}
	if err := r.turn(c, row.Name, enabled); err != nil {
		return err
	}
	return r.respond(c, &row)
}

// Delete serves DELETE /api/projects/:projectSlug/recipes/:id. A proposed recipe is
// rejected.
func (r *Recipes) Delete(c *fiber.Ctx) error {
	slug, id := c.Params("projectSlug"), c.Params("id")
	err := r.store.Delete(c.UserContext(), slug, id)
	if fault.Is(err, fault.CodeNotFound) {
		err = r.store.Reject(c.UserContext(), slug, id)
	}
	if err != nil {
		return err
	}
	return c.SendStatus(fiber.StatusNoContent)
}

// Approve serves POST /api/projects/:projectSlug/recipes/:id/approve. The body is
// empty or has keys that replace those of the proposal.
func (r *Recipes) Approve(c *fiber.Ctx) error {
	name, d := (*string)(nil), &declaration.Recipe{}
	if len(c.BodyRaw()) > 0 {
		body, err := web.JSONBody(c)
		if err != nil {
			return err
		}
		if name, _, d, err = declaration.ParseRecipe(body); err != nil {
			return err
		}
	}
	row, err := r.store.Approve(c.UserContext(), c.Params("projectSlug"), c.Params("id"), name, d)
	if err != nil {
		return err
	}
	return r.respond(c, &row)
}

package recipes

import (
	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/admin/observe"
	"mcpgateway/routes/frame"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
	"mcpgateway/services/toolset"
	views "mcpgateway/views/admin/recipes"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/web"
)

// proposalPage renders a proposed recipe.
func (a *Pages) proposalPage(c *fiber.Ctx, p *toolset.Snapshot, row *models.RecipeProposal) error {
	props := views.ProposalProps{
		Frame: a.frame(c, p, row.Name, layout.Crumb{Label: row.Name}), Project: p.Project.Slug, ID: row.ID, Name: row.Name, Description: row.Description,
		Effect: string(row.Effect), By: observe.NewCallers(a.Keys, a.People).Of(c.UserContext(), row.Principal), At: row.CreatedAt, Now: a.Now(),
		Code: row.Code, Schema: []byte(row.InputSchema), Tools: toolsOf(p, row.Tools),
	}
	switch _, err := a.Traces.Get(c.UserContext(), p.Project.ID, row.RunID); {
	case err == nil:
		props.RunURL = paths.CodeTrace(p.Project.Slug, row.RunID)
	case !fault.Is(err, fault.CodeNotFound):
		return err
	}
	switch current, err := a.Store.Named(c.UserContext(), p.Project.ID, row.Name); {
	case err == nil:
		props.Replaces, props.Changes = current.Version, changesOf(current.Code, row.Code)
	case !fault.Is(err, fault.CodeNotFound):
		return err
	}
	return web.Render(c, views.Proposal(props))
}

// Proposal serves GET …/code-mode/proposals/:id.
func (a *Pages) Proposal(c *fiber.Ctx) error {
	p, row, err := a.proposal(c)
	if err != nil {
		return err
	}
	return a.proposalPage(c, p, &row)
}

func (a *Pages) proposal(c *fiber.Ctx) (*toolset.Snapshot, models.RecipeProposal, error) {
	p, err := a.Pages.Project(c)
	if err != nil {
		return nil, models.RecipeProposal{}, err
	}
	row, err := a.Store.Proposal(c.UserContext(), p.Project.ID, c.Params("id"))
	return p, row, err
}

// Approve serves POST …/proposals/:id/approve.
func (a *Pages) Approve(c *fiber.Ctx) error {
	p, row, err := a.proposal(c)
	if err != nil {
		return err
	}
	saved, err := a.Store.Approve(c.UserContext(), p.Project.Slug, row.ID, nil, &declaration.Recipe{})
	if err != nil {
		return frame.Failed(c, paths.RecipeProposal(p.Project.Slug, row.ID), err)
	}
	return frame.Done(c, paths.Recipe(p.Project.Slug, saved.ID), "Recipe approved. Clients can call it now.")
}

// Reject serves POST …/proposals/:id/reject.
func (a *Pages) Reject(c *fiber.Ctx) error {
	p, row, err := a.proposal(c)
	if err != nil {
		return err
	}
	if err := a.Store.Reject(c.UserContext(), p.Project.Slug, row.ID); err != nil {
		return frame.Failed(c, paths.RecipeProposal(p.Project.Slug, row.ID), err)
	}
	return frame.Done(c, paths.Recipes(p.Project.Slug), "Proposal "+row.Name+" rejected.")
}

package catalog

import (
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/frame"
	"mcpgateway/services/catalog"
	"mcpgateway/services/catalog/importer"
	"mcpgateway/services/fault"
	views "mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// ShowSource serves GET /admin/catalog/sources/:id.
func (a *Catalog) ShowSource(c *fiber.Ctx) error {
	row, err := a.store.Source(c.UserContext(), c.Params("id"))
	if err != nil {
		return err
	}
	return a.sourcePage(c, row, "")
}

func (a *Catalog) sourcePage(c *fiber.Ctx, row models.CatalogSource, problem string) error {
	title := ui.Clean(row.Name)
	return web.Render(c, views.CatalogSourcePage(views.CatalogSourceProps{
		Frame: a.frame(c, title, layout.Crumb{Label: title}), Now: time.Now(), Source: a.sourceOf(row), Error: problem,
	}))
}

// SaveSchedule serves POST /admin/catalog/sources/:id/schedule.
func (a *Catalog) SaveSchedule(c *fiber.Ctx) error {
	row, err := a.store.Source(c.UserContext(), c.Params("id"))
	if err != nil {
		return err
	}
	schedule := models.CatalogSchedule(web.FormValue(c, "schedule"))
	if err := a.store.UpdateSource(c.UserContext(), row.ID, catalog.SourceChange{Schedule: &schedule}); err != nil {
		fields, err := frame.Fields(c, err)
		if err != nil {
			return err
		}
		return a.sourcePage(c, row, fields["schedule"])
	}
	return frame.Done(c, paths.CatalogSource(row.ID), "Schedule saved.")
}

// Preview serves POST /admin/catalog/sources/:id/preview. It reads the source and
// renders the changes that a sync would make.
func (a *Catalog) Preview(c *fiber.Ctx) error {
	id := c.Params("id")
	row, err := a.store.Source(c.UserContext(), id)
	if err != nil {
		return err
	}
	plan, err := a.store.SyncSource(c.UserContext(), id, catalog.Run{DryRun: true})
	if err != nil {
		return frame.Failed(c, paths.CatalogSource(id), err)
	}
	props := planProps(plan)
	props.Frame, props.Title = a.frame(c, "Sync a source", layout.Crumb{Label: "Sync"}), "Sync "+row.Name
	props.ApplyURL, props.BackURL = paths.CatalogSource(id)+"/sync", paths.CatalogSource(id)
	if plan.Held {
		props.Hidden = []ui.Pair{{Name: "removals", Value: strconv.Itoa(plan.Deleted)}}
	}
	return web.Render(c, views.CatalogPlan(props))
}

// SyncSource serves POST /admin/catalog/sources/:id/sync. The field "removals" is
// the number of removals that the preview showed and the administrator approved.
func (a *Catalog) SyncSource(c *fiber.Ctx) error {
	run := catalog.Run{}
	if text := web.FormValue(c, "removals"); text != "" {
		approved, err := removals(text)
		if err != nil {
			return frame.Failed(c, paths.CatalogSource(c.Params("id")), err)
		}
		run.Approved = approved
	}
	plan, err := a.store.SyncSource(c.UserContext(), c.Params("id"), run)
	return a.synced(c, plan, err)
}

// ApproveRemovals serves POST /admin/catalog/sources/:id/approve: removals.
func (a *Catalog) ApproveRemovals(c *fiber.Ctx) error {
	approved, err := removals(web.FormValue(c, "removals"))
	if err != nil {
		return frame.Failed(c, paths.CatalogSource(c.Params("id")), err)
	}
	plan, err := a.store.ApproveRemovals(c.UserContext(), c.Params("id"), approved)
	return a.synced(c, plan, err)
}

func removals(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, fault.Invalid("The number of removals is invalid. Open the source and approve again.")
	}
	return n, nil
}

// synced redirects to the page of a source with the result of a sync.
func (a *Catalog) synced(c *fiber.Ctx, plan importer.Plan, err error) error {
	to := paths.CatalogSource(c.Params("id"))
	switch {
	case err != nil:
		return frame.Failed(c, to, err)
	case plan.Held:
		frame.PutFlash(c, layout.Flash{Tone: "warn", Text: "Nothing was applied: " + ui.Plural(plan.Deleted, "removal waits", "removals wait") + " for approval."})
		return c.Redirect(to, fiber.StatusSeeOther)
	case plan.Same:
		return frame.Done(c, to, "The file hasn't changed since the last sync.")
	}
	return frame.Done(c, to, "Synced: "+planWords(plan))
}

func planWords(plan importer.Plan) string {
	return ui.Count(plan.Added) + " new, " + ui.Count(plan.Updated) + " changed, " + ui.Count(plan.Deleted) + " removed."
}

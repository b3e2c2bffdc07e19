package tools

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/routes/frame"
	"mcpgateway/services/fault"
	"mcpgateway/services/toolset"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// SwitchMany serves POST /admin/projects/:projectSlug/tools. It turns the selected
// tools on or off, or with approve redirects to their review.
func (a *Tools) SwitchMany(c *fiber.Ctx) error {
	names := frame.PostedAll(c, "tool")
	if len(names) == 0 || len(names) > toolsPerPage {
		return frame.Failed(c, a.back(c), fault.Invalid("Select 1 to %d tools.", toolsPerPage))
	}
	project, err := a.pages.Project(c)
	if err != nil {
		return err
	}
	if web.FormValue(c, "approve") != "" {
		return c.Redirect(reviewPath(project, names), fiber.StatusSeeOther)
	}
	flash, err := a.switchAll(c.UserContext(), project, names, web.FormValue(c, "enabled") == "true")
	if err != nil {
		return frame.Failed(c, a.back(c), err)
	}
	frame.PutFlash(c, flash)
	return c.Redirect(a.back(c), fiber.StatusSeeOther)
}

// switchAll turns tools on or off and returns the message for the result. It does
// not turn on tools that need approval or that their servers hide.
func (a *Tools) switchAll(ctx context.Context, project *toolset.Snapshot, names []string, enabled bool) (layout.Flash, error) {
	var done int
	var waiting, filtered []string
	for _, name := range names {
		switch t := toolNamed(project, name); {
		case enabled && t != nil && t.Hidden == toolset.HiddenByApproval:
			waiting = append(waiting, name)
			continue
		case enabled && t != nil && t.Hidden != toolset.Visible && t.Hidden != toolset.HiddenByAdmin:
			filtered = append(filtered, name)
			continue
		}
		if err := a.store.SetTool(ctx, project.Project.Slug, name, &enabled, nil); err != nil {
			return layout.Flash{}, err
		}
		done++
	}
	return switched(project, enabled, done, waiting, filtered), nil
}

// switched returns the message for the result of switchAll.
func switched(project *toolset.Snapshot, enabled bool, done int, waiting, filtered []string) layout.Flash {
	flash := layout.Flash{Tone: "ok"}
	var parts []string
	if done > 0 || len(waiting)+len(filtered) == 0 {
		word := "turned off."
		if enabled {
			word = "turned on."
		}
		parts = append(parts, ui.Plural(done, "tool ", "tools ")+word)
	}
	if len(waiting) > 0 {
		flash.Tone, flash.LinkLabel, flash.LinkURL = "warn", "Review", reviewPath(project, waiting)
		parts = append(parts, ui.Plural(len(waiting), "tool needs approval first and was left as it was: ", "tools need approval first and were left as they are: ")+ui.FirstOf(waiting)+".")
	}
	if len(filtered) > 0 {
		flash.Tone = "warn"
		parts = append(parts, ui.Plural(len(filtered), "tool is off on its server and was left as it was: ", "tools are off on their servers and were left as they were: ")+ui.FirstOf(filtered)+".")
	}
	flash.Text = strings.Join(parts, " ")
	return flash
}

// maxReviewAddress is the maximum length of the URL of a review of named tools. It
// also fits into the cookie of a flash message.
const maxReviewAddress = 1500

// reviewPath returns the URL of the review of the named tools, or of all tools to
// approve if that URL would be too long.
func reviewPath(project *toolset.Snapshot, names []string) string {
	all := paths.ToolReview(project.Project.Slug)
	if to := all + "?" + (url.Values{"tool": names}).Encode(); len(to) <= maxReviewAddress {
		return to
	}
	return all
}

// toolNamed returns a tool by its full name, or nil.
func toolNamed(project *toolset.Snapshot, name string) *toolset.Tool {
	all := project.AllTools()
	if i := slices.IndexFunc(all, func(t *toolset.Tool) bool { return t.FullName == name }); i >= 0 {
		return all[i]
	}
	return nil
}

package tools

import (
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/routes/frame"
	"mcpgateway/services/fault"
	"mcpgateway/services/projects/toolstate"
	"mcpgateway/services/toolset"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// Decide serves POST …/tools/review. It approves the reviewed definitions or with
// do=off keeps their tools off. With "server" it approves the definitions of a
// server whose fingerprints are in "seen". With undo it revokes approvals.
func (a *Tools) Decide(c *fiber.Ctx) error {
	project, err := a.pages.Project(c)
	if err != nil {
		return err
	}
	reviewed := postedDefinitions(c)
	switch alias := web.FormValue(c, "server"); {
	case web.FormValue(c, "undo") != "":
		return a.unapprove(c, reviewed)
	case alias != "":
		selected, err := a.selected(c, project, alias)
		if err != nil {
			return frame.Failed(c, a.back(c), err)
		}
		return a.approveSeen(c, project, selected, web.FormValue(c, "seen"))
	case web.FormValue(c, "do") == "off":
		return a.keepOff(c, reviewed)
	}
	done, err := a.store.Approve(c.UserContext(), project.Project.Slug, reviewed)
	if err != nil {
		return frame.Failed(c, a.back(c), err)
	}
	return a.approved(c, done, "")
}

// unapprove revokes approvals.
func (a *Tools) unapprove(c *fiber.Ctx, approved []toolstate.Definition) error {
	done, err := a.store.Unapprove(c.UserContext(), c.Params("projectSlug"), approved)
	if err != nil {
		return frame.Failed(c, a.back(c), err)
	}
	text := ui.Plural(len(done.Done), "approval", "approvals") + " undone."
	if len(done.Skipped) > 0 {
		text += " " + ui.Plural(len(done.Skipped), "tool has", "tools have") + " changed since: " + ui.FirstOf(done.Skipped) + "."
	}
	return frame.Done(c, a.back(c), text)
}

// keepOff turns the reviewed tools off, so that they no longer wait for approval.
func (a *Tools) keepOff(c *fiber.Ctx, reviewed []toolstate.Definition) error {
	var names []string
	for _, t := range reviewed {
		names = append(names, t.Name)
	}
	slug := c.Params("projectSlug")
	changed, err := a.store.SwitchTools(c.UserContext(), slug, names, false)
	if err != nil {
		return frame.Failed(c, a.back(c), err)
	}
	flash := layout.Flash{Tone: "ok", Text: ui.Plural(len(changed), "tool", "tools") + " kept off."}
	if len(changed) > 0 {
		flash.Undo, err = a.undo.KeepUndo(c, paths.Tools(slug), url.Values{"do": {"on"}, "tool": changed, "back": {a.local(c, "here")}})
		if err != nil {
			return err
		}
	}
	frame.PutFlash(c, flash)
	return c.Redirect(a.back(c), fiber.StatusSeeOther)
}

// Approve serves POST /admin/projects/:projectSlug/tools/:name/approve. It approves
// the definition shown on the page of the tool.
func (a *Tools) Approve(c *fiber.Ctx) error {
	slug := c.Params("projectSlug")
	_, tool, err := a.pages.Tool(c)
	if err != nil {
		return err
	}
	to := paths.Tool(slug, tool.FullName)
	done, err := a.store.Approve(c.UserContext(), slug, []toolstate.Definition{{Name: tool.FullName, Hash: web.FormValue(c, "hash")}})
	if err != nil {
		return frame.Failed(c, to, err)
	}
	return a.approved(c, done, to)
}

// approveSeen approves the selected tools whose definitions are still those that
// the page had.
func (a *Tools) approveSeen(c *fiber.Ctx, project *toolset.Snapshot, selected []*toolset.Tool, seen string) error {
	known := readSeen(seen)
	var definitions []toolstate.Definition
	var skipped []string
	for _, t := range selected {
		switch {
		case t.Hidden != toolset.HiddenByApproval || len(definitions) == toolstate.MaxApprovals:
		case known[fingerprint(t)]:
			definitions = append(definitions, toolstate.Definition{Name: t.FullName, Hash: t.Hash})
		default:
			skipped = append(skipped, t.FullName)
		}
	}
	if len(definitions)+len(skipped) == 0 {
		return frame.Failed(c, a.back(c), fault.Invalid("None of these tools needs approval."))
	}
	var done toolstate.Approvals
	if len(definitions) > 0 {
		var err error
		if done, err = a.store.Approve(c.UserContext(), project.Project.Slug, definitions); err != nil {
			return frame.Failed(c, a.back(c), err)
		}
	}
	done.Skipped = append(done.Skipped, skipped...)
	return a.approved(c, done, "")
}

// approved redirects with the result of approving, and offers to undo it. to is the
// page of the approved tool, or empty for the posted return path.
func (a *Tools) approved(c *fiber.Ctx, done toolstate.Approvals, to string) error {
	slug := c.Params("projectSlug")
	flash := layout.Flash{Tone: "ok", Text: ui.Plural(len(done.Done), "tool", "tools") + " approved."}
	undoneAt := a.local(c, "here")
	switch {
	case len(done.Skipped) > 0:
		flash.Tone, flash.Text = "warn", skippedWords(done)
		flash.LinkLabel, flash.LinkURL = "Review", reviewNamed(slug, done.Skipped)
	case to != "":
		flash.Text, undoneAt = "Approved. Clients can use it now.", to
	}
	if to == "" {
		to = a.back(c)
	}
	if web.FormValue(c, "here") == "" {
		undoneAt = to
	}
	if len(done.Done) > 0 {
		form := url.Values{"undo": {"1"}, "back": {undoneAt}}
		for _, t := range done.Done {
			form.Add("tool", t.Hash+" "+t.Name)
		}
		var err error
		if flash.Undo, err = a.undo.KeepUndo(c, paths.ToolReview(slug), form); err != nil {
			return err
		}
	}
	frame.PutFlash(c, flash)
	return c.Redirect(to, fiber.StatusSeeOther)
}

// skippedWords counts the approved and the skipped tools, and names the latter.
func skippedWords(done toolstate.Approvals) string {
	why := "its definition has changed since"
	if len(done.Skipped) > 1 {
		why = "their definitions have changed since"
	}
	return ui.Count(len(done.Done)) + " approved, " + ui.Count(len(done.Skipped)) + " skipped: " + why + " (" + ui.FirstOf(done.Skipped) + ")."
}

// postedDefinitions returns the posted definitions, each with its hash and the name
// of the tool.
func postedDefinitions(c *fiber.Ctx) []toolstate.Definition {
	var all []toolstate.Definition
	for _, value := range frame.PostedAll(c, "tool") {
		hash, name, _ := strings.Cut(value, " ")
		all = append(all, toolstate.Definition{Name: name, Hash: hash})
	}
	return all
}

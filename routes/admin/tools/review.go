package tools

import (
	"net/url"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/routes/admin"
	"mcpgateway/routes/frame"
	"mcpgateway/services/projects"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset"
	views "mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// maxReviewedDiff is the maximum number of lines of a changed definition in a
// review.
const maxReviewedDiff = 60

// Review serves GET …/tools/review?query=&tool=: the definitions to approve, of
// tools that match the query and, if given, the names.
func (a *Tools) Review(c *fiber.Ctx) error {
	project, err := a.pages.Project(c)
	if err != nil {
		return err
	}
	p := views.ToolReviewProps{
		Frame: a.pages.ProjectFrame(c, project, layout.TabTools, "Review tools", layout.Crumb{Label: "Review tools"}), Project: a.pages.Head(project, layout.TabTools),
		Query: strings.TrimSpace(c.Query("query")), BackURL: c.OriginalURL(),
	}
	found, err := searched(project.AllTools(), p.Query)
	if err != nil {
		return frame.Failed(c, paths.Tools(project.Project.Slug), err)
	}
	addWaiting(&p, found, queriedAll(c, "tool"))
	return web.Render(c, views.ToolReview(p))
}

// addWaiting adds the tools to approve: the named ones, or all without names.
func addWaiting(p *views.ToolReviewProps, found []*toolset.Tool, named []string) {
	waiting := ofState(found, views.ToolChanged)
	if len(named) > 0 {
		waiting = slices.DeleteFunc(waiting, func(t *toolset.Tool) bool { return !slices.Contains(named, t.FullName) })
	}
	p.Total = len(waiting)
	for _, t := range waiting[:min(len(waiting), projects.MaxApprovals)] {
		p.Tools = append(p.Tools, reviewedTool(t))
	}
}

func reviewedTool(t *toolset.Tool) views.ReviewedTool {
	r := views.ReviewedTool{Row: admin.ToolRow(t), Hash: t.Hash, Changed: t.Previous != nil}
	if definition, err := rawjson.ParseObject(t.Definition, rawjson.Lenient); err == nil {
		r.Parameters = definition.Object("inputSchema").Object("properties").Names()
	}
	if t.Previous == nil {
		return r
	}
	lines, _ := toolset.DiffDefinitions(t.Previous, t.Raw) // without a diff if it would be too long
	for _, line := range lines[:min(len(lines), maxReviewedDiff)] {
		r.Changes = append(r.Changes, ui.DiffLine{Op: line.Op, Text: line.Text})
	}
	return r
}

func queriedAll(c *fiber.Ctx, name string) []string {
	var all []string
	for _, value := range c.Context().QueryArgs().PeekMulti(name) {
		all = append(all, string(value))
	}
	return all
}

// ApproveMany serves POST …/tools/review. It approves the reviewed definitions, or
// with undo revokes these approvals.
func (a *Tools) ApproveMany(c *fiber.Ctx) error {
	slug := c.Params("projectSlug")
	seen := postedDefinitions(c)
	if web.FormValue(c, "undo") != "" {
		done, err := a.store.Unapprove(c.UserContext(), slug, seen)
		if err != nil {
			return frame.Failed(c, a.back(c), err)
		}
		return frame.Done(c, a.back(c), ui.Plural(len(done.Done), "approval", "approvals")+" undone."+skippedWords(done.Skipped))
	}
	done, err := a.store.Approve(c.UserContext(), slug, seen)
	if err != nil {
		return frame.Failed(c, a.back(c), err)
	}
	return a.approved(c, slug, a.back(c), done)
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
	done, err := a.store.Approve(c.UserContext(), slug, []projects.ToolDefinition{{Name: tool.FullName, Hash: web.FormValue(c, "hash")}})
	if err != nil {
		return frame.Failed(c, to, err)
	}
	return a.approved(c, slug, to, done)
}

// approved redirects with the result of approving, and offers to undo it.
func (a *Tools) approved(c *fiber.Ctx, slug, to string, done projects.Approvals) error {
	flash := layout.Flash{Tone: "ok", Text: ui.Plural(len(done.Done), "tool", "tools") + " approved." + skippedWords(done.Skipped)}
	if len(done.Skipped) > 0 {
		flash.Tone = "warn"
	}
	if len(done.Done) > 0 {
		form := url.Values{"undo": {"1"}, "back": {to}}
		for _, t := range done.Done {
			form.Add("tool", t.Hash+" "+t.Name)
		}
		token, err := a.undo.KeepUndo(c, paths.ToolReview(slug), form)
		if err != nil {
			return err
		}
		flash.Undo = token
	}
	frame.PutFlash(c, flash)
	return c.Redirect(to, fiber.StatusSeeOther)
}

// skippedWords names the skipped tools, or returns "".
func skippedWords(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return " " + ui.Plural(len(names), "tool was", "tools were") + " skipped because the definition has changed since: " + ui.FirstOf(names) + "."
}

// postedDefinitions returns the posted definitions, each with its hash and the name
// of the tool.
func postedDefinitions(c *fiber.Ctx) []projects.ToolDefinition {
	var all []projects.ToolDefinition
	for _, value := range frame.PostedAll(c, "tool") {
		hash, name, _ := strings.Cut(value, " ")
		all = append(all, projects.ToolDefinition{Name: name, Hash: hash})
	}
	return all
}

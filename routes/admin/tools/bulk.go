package tools

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"net/url"
	"slices"
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

// Bulk serves POST /admin/projects/:projectSlug/tools. The field "do" is approve,
// on or off, for the tools in the fields "tool", those of the servers in "server",
// or with "all" those that match the filters of the URL in "back". With an alias
// after a space, it concerns the matching tools of that server. Approvals require
// the fingerprints of the page in "seen".
func (a *Tools) Bulk(c *fiber.Ctx) error {
	project, err := a.pages.Project(c)
	if err != nil {
		return err
	}
	do, alias, _ := strings.Cut(web.FormValue(c, "do"), " ")
	selected, err := a.selected(c, project, alias)
	if err != nil {
		return frame.Failed(c, a.back(c), err)
	}
	switch do {
	case "approve":
		return a.approveSeen(c, project, selected, web.FormValue(c, "seen"))
	case "on", "off":
		return a.switchSelected(c, project, selected, do == "on")
	}
	return frame.Failed(c, a.back(c), fault.Invalid("Choose an action."))
}

// selected returns the tools that a posted form selects, in the order of the
// snapshot. A non-empty alias selects the matching tools of that server.
func (a *Tools) selected(c *fiber.Ctx, project *toolset.Snapshot, alias string) ([]*toolset.Tool, error) {
	names, servers, all := frame.PostedAll(c, "tool"), frame.PostedAll(c, "server"), web.FormValue(c, "all") != ""
	if alias != "" {
		names, servers, all = nil, []string{alias}, false
	}
	var matched []*toolset.Tool
	if all || len(servers) > 0 {
		var err error
		if matched, err = a.matchingForm(c, project); err != nil {
			return nil, err
		}
	}
	chosen := map[string]bool{}
	for _, name := range names {
		chosen[name] = true
	}
	for _, t := range matched {
		if all || slices.Contains(servers, t.Server.Config.Alias) {
			chosen[t.FullName] = true
		}
	}
	tools := slices.DeleteFunc(slices.Clone(project.AllTools()), func(t *toolset.Tool) bool { return !chosen[t.FullName] })
	if len(tools) == 0 {
		return nil, fault.Invalid("Select at least one tool.")
	}
	return tools, nil
}

// matchingForm returns the tools that match the filters of the page that posted a
// form.
func (a *Tools) matchingForm(c *fiber.Ctx, project *toolset.Snapshot) ([]*toolset.Tool, error) {
	back, err := url.Parse(a.back(c))
	if err != nil {
		return nil, fault.Invalid("The address of the list is invalid.")
	}
	f := readFilters(back.Query())
	found, err := searched(project.AllTools(), f.query)
	if err != nil {
		return nil, err
	}
	used, err := a.usage.ToolUse(c.UserContext(), project.Project.ID)
	if err != nil {
		return nil, err
	}
	return matching(found, f, used), nil
}

// switchSelected turns tools on or off, and offers to undo it.
func (a *Tools) switchSelected(c *fiber.Ctx, project *toolset.Snapshot, selected []*toolset.Tool, enabled bool) error {
	flash, changed, err := a.switchAll(c.UserContext(), project, selected, enabled)
	if err != nil {
		return frame.Failed(c, a.back(c), err)
	}
	if len(changed) > 0 {
		do := "on"
		if enabled {
			do = "off"
		}
		form := url.Values{"do": {do}, "tool": changed, "back": {a.back(c)}}
		if flash.Undo, err = a.undo.KeepUndo(c, paths.Tools(project.Project.Slug), form); err != nil {
			return err
		}
	}
	frame.PutFlash(c, flash)
	return c.Redirect(a.back(c), fiber.StatusSeeOther)
}

// switchAll turns tools on or off and returns the message for the result, and the
// changed tools. It does not turn on tools that need approval or that their
// servers hide. A tool to approve that was kept off waits for approval again.
func (a *Tools) switchAll(ctx context.Context, project *toolset.Snapshot, selected []*toolset.Tool, enabled bool) (flash layout.Flash, changed []string, err error) {
	var waiting, filtered, names []string
	for _, t := range selected {
		switch {
		case enabled && t.Hidden == toolset.HiddenByApproval:
			waiting = append(waiting, t.FullName)
		case enabled && t.Hidden != toolset.Visible && t.Hidden != toolset.HiddenByAdmin:
			filtered = append(filtered, t.FullName)
		case enabled && t.Hidden == toolset.HiddenByAdmin && t.Pending:
			waiting = append(waiting, t.FullName)
			names = append(names, t.FullName)
		default:
			names = append(names, t.FullName)
		}
	}
	if len(names) > 0 {
		if changed, err = a.store.SwitchTools(ctx, project.Project.Slug, names, enabled); err != nil {
			return layout.Flash{}, nil, err
		}
	}
	done := 0
	for _, name := range names {
		if !slices.Contains(waiting, name) {
			done++
		}
	}
	return switched(project, enabled, done, waiting, filtered), changed, nil
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
		flash.Tone, flash.LinkLabel, flash.LinkURL = "warn", "Review", reviewNamed(project.Project.Slug, waiting)
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

// reviewNamed returns the URL of the review of the named tools, or of all tools to
// approve if that URL would be too long.
func reviewNamed(slug string, names []string) string {
	all := paths.ToolReview(slug)
	if to := all + "?" + (url.Values{"tool": names}).Encode(); len(to) <= maxReviewAddress {
		return to
	}
	return all
}

// fingerprintSize is the length of the encoded fingerprint of a definition in a
// page.
const fingerprintSize = 16

// fingerprint identifies a definition of a tool.
func fingerprint(t *toolset.Tool) string {
	sum := sha256.Sum256([]byte(t.FullName + "\x00" + t.Hash))
	return base64.RawURLEncoding.EncodeToString(sum[:fingerprintSize*3/4])
}

// seenOf returns the fingerprints of the first tools to approve, so that a page can
// request the approval of definitions without listing them.
func seenOf(tools []*toolset.Tool) string {
	var b strings.Builder
	n := 0
	for _, t := range tools {
		if t.Hidden == toolset.HiddenByApproval && n < toolstate.MaxApprovals {
			b.WriteString(fingerprint(t))
			n++
		}
	}
	return b.String()
}

// readSeen returns the set of fingerprints of a page.
func readSeen(text string) map[string]bool {
	seen := map[string]bool{}
	for ; len(text) >= fingerprintSize; text = text[fingerprintSize:] {
		seen[text[:fingerprintSize]] = true
	}
	return seen
}

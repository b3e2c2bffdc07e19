// Package tools serves the pages of a project's tools: the list, with actions on
// many tools, the review of definitions, and the test of the tool search.
package tools

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/routes/admin"
	"mcpgateway/routes/frame"
	"mcpgateway/services/activity/traffic"
	"mcpgateway/services/fault"
	"mcpgateway/services/projects/toolstate"
	"mcpgateway/services/toolsearch"
	"mcpgateway/services/toolset"
	"mcpgateway/views/paths"
	"mcpgateway/web"
	"mcpgateway/web/guard"
)

// Usage returns the use of tools. Implemented by traffic.Store.
type Usage interface {
	ToolUse(ctx context.Context, projectID string) (map[string]traffic.Use, error)
}

// Builtins returns the definitions of the built-in tools. Implemented by
// gateway.Gateway.
type Builtins interface {
	Builtins(project *toolset.Snapshot) []json.RawMessage
}

// Tools serves the tools of a project.
type Tools struct {
	pages    *admin.ProjectPages
	store    *toolstate.Store
	search   *toolsearch.Searcher
	usage    Usage
	builtins Builtins
	undo     *guard.Guards
	now      func() time.Time
}

// New returns the handlers.
func New(pages *admin.ProjectPages, store *toolstate.Store, search *toolsearch.Searcher, usage Usage, builtins Builtins, undo *guard.Guards, now func() time.Time) *Tools {
	return &Tools{pages: pages, store: store, search: search, usage: usage, builtins: builtins, undo: undo, now: now}
}

// Switch serves POST /admin/projects/:projectSlug/tools/:name/enabled.
func (a *Tools) Switch(c *fiber.Ctx) error {
	name, err := url.PathUnescape(c.Params("name"))
	if err != nil {
		return fault.NotFound("tool", c.Params("name"))
	}
	enabled := web.FormValue(c, "enabled") == "true"
	if err := a.store.SetTool(c.UserContext(), c.Params("projectSlug"), name, &enabled, nil); err != nil {
		return frame.Failed(c, a.back(c), err)
	}
	return c.Redirect(a.back(c), fiber.StatusSeeOther) // the switch itself shows the result
}

// back returns the posted return path if it is below the list of tools, else the
// list.
func (a *Tools) back(c *fiber.Ctx) string { return a.local(c, "back") }

// local returns the path in a posted field if it is below the list of tools, else
// the list.
func (a *Tools) local(c *fiber.Ctx, field string) string {
	list := paths.Tools(c.Params("projectSlug"))
	to := guard.LocalPath(web.FormValue(c, field), list)
	if to != list && !strings.HasPrefix(to, list+"?") && !strings.HasPrefix(to, list+"/") {
		return list
	}
	return to
}

// Package code serves the Code Mode pages of a project: the workbench that runs
// code, the settings with a preview of the declarations, and the stored runs.
package code

import (
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/routes/admin"
	"mcpgateway/services/access"
	"mcpgateway/services/access/keys"
	"mcpgateway/services/codemode"
	"mcpgateway/services/gateway"
	"mcpgateway/services/projects"
	"mcpgateway/services/toolset"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
)

// Options holds the dependencies of the Code Mode pages. All are required.
type Options struct {
	Pages        *admin.ProjectPages
	Store        *projects.Store
	Declarations *codemode.Declarations
	// Unchecked returns the reason why arguments for a raw definition cannot be
	// validated, or "". Implemented by schema.Validator.
	Unchecked    func(definition []byte) string
	Runner       *gateway.Gateway
	CanTypecheck bool
	Traces       *codemode.Traces
	Keys         *keys.Store
	People       *access.Users
	Now          func() time.Time
}

// Pages serves the Code Mode pages of a project.
type Pages struct{ Options }

// New returns the handlers.
func New(o Options) *Pages { return &Pages{o} }

// frame returns the frame of a page below Code Mode.
func (a *Pages) frame(c *fiber.Ctx, p *toolset.Snapshot, title string) layout.Frame {
	return a.Pages.ProjectFrame(c, p, layout.TabCodeMode, title, layout.Crumb{Label: title})
}

// runCrumbs adds the list of runs to the path of a run's page.
func runCrumbs(f layout.Frame, p *toolset.Snapshot) layout.Frame {
	last := len(f.Crumbs) - 1
	f.Crumbs = append(f.Crumbs[:last:last], layout.Crumb{Label: "Runs", URL: paths.CodeRuns(p.Project.Slug)}, f.Crumbs[last])
	return f
}

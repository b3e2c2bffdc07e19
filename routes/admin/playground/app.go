package playground

import (
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/access"
	"mcpgateway/services/apps"
	"mcpgateway/services/fault"
	"mcpgateway/services/gateway"
	"mcpgateway/services/toolset"
	views "mcpgateway/views/admin/tools"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/web"
	"mcpgateway/web/guard"
)

// App serves GET /admin/projects/:projectSlug/tools/:name/app: the page with the
// app of a tool in a sandboxed frame.
func (a *Playground) App(c *fiber.Ctx) error {
	project, tool, err := a.pages.Tool(c)
	if err != nil {
		return err
	}
	p := views.AppProps{Slug: project.Project.Slug, Name: tool.FullName}
	p.Frame = a.pages.ProjectFrame(c, project, layout.TabTools, tool.Name+", app", layout.Crumb{Label: tool.Name, URL: paths.Tool(p.Slug, tool.FullName)}, layout.Crumb{Label: "App"})
	app, err := a.readApp(c, project, tool)
	if err != nil {
		f := fault.From(err)
		p.Problem, p.Code = f.AdminMessage(), string(f.Code)
		c.Status(web.StatusOf(err))
		return web.Render(c, views.App(p))
	}
	p.URI, p.Size, p.Connect, p.Load, p.Embed, p.Refused = tool.App.URIs[0], len(app.Document), app.Policy.Connect, app.Policy.Load, app.Policy.Frame, app.Policy.Refused
	policy := strings.Replace(c.GetRespHeader(fiber.HeaderContentSecurityPolicy), "object-src", "frame-src 'self'; object-src", 1)
	c.Set(fiber.HeaderContentSecurityPolicy, policy)
	return web.Render(c, views.App(p))
}

// AppFrame serves GET /admin/projects/:projectSlug/tools/:name/app/frame: the
// document of the app, with a policy that gives it an opaque origin. A browser
// that opens it outside of a frame is redirected to the page.
func (a *Playground) AppFrame(c *fiber.Ctx) error {
	project, tool, err := a.pages.Tool(c)
	if err != nil {
		return err
	}
	if to := c.Get("Sec-Fetch-Dest"); to != "" && to != "iframe" {
		return c.Redirect(paths.ToolApp(project.Project.Slug, tool.FullName), fiber.StatusSeeOther)
	}
	app, err := a.readApp(c, project, tool)
	if err != nil {
		return err
	}
	c.Set(fiber.HeaderContentSecurityPolicy, app.Policy.Header())
	c.Set(fiber.HeaderReferrerPolicy, "no-referrer")
	c.Set(fiber.HeaderContentType, fiber.MIMETextHTMLCharsetUTF8)
	return c.Send(app.Document)
}

// readApp reads the app of a tool as the signed-in administrator.
func (a *Playground) readApp(c *fiber.Ctx, project *toolset.Snapshot, tool *toolset.Tool) (*apps.Resource, error) {
	client := &gateway.Client{
		Principal: access.Administrator(guard.UserOf(c).ID, project.Project.ID), Version: gateway.VersionLatestHandshake, RequestID: web.EventOf(c).RequestID,
	}
	result, err := a.gateway.ReadApp(c.UserContext(), project, client, tool)
	if err != nil {
		return nil, err
	}
	return apps.Read(result, project.Offers.Listed(tool.Server.Config.Alias, tool.App.URIs[0]))
}

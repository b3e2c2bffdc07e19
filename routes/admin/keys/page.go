package keys

import (
	"context"
	"slices"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/admin"
	"mcpgateway/routes/frame"
	"mcpgateway/services/access/keys"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
	"mcpgateway/services/toolset"
	views "mcpgateway/views/admin/keys"
	"mcpgateway/views/install"
	"mcpgateway/views/layout"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// Show serves GET /admin/projects/:projectSlug/keys/:id. For some minutes after
// its creation the page shows the text of the key, later only that it was shown.
// ?do=rotate and ?do=revoke open a dialog instead.
func (a *Keys) Show(c *fiber.Ctx) error {
	project, err := a.Pages.Project(c)
	if err != nil {
		return err
	}
	all, err := a.all(c.UserContext(), project.Project.ID)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(key views.Key) bool { return key.ID == c.Params("id") })
	if i < 0 {
		return fault.NotFound("key", c.Params("id"))
	}
	p := views.PageProps{Slug: project.Project.Slug, Key: all[i], Now: a.Now(), Do: c.Query("do")}
	p.Tools = frame.ToolChoiceOf(project.ToolsetsBySlug(), p.Key.Slugs())
	p.Frame = a.Pages.ProjectFrame(c, project, layout.TabKeys, p.Key.Called(), layout.Crumb{Label: p.Key.Called()})
	if p.Frame.Controls && p.Key.Usable(p.Now) {
		if err := a.Pages.WarnOlder(c, &p.Frame, "Changed tools of the key"); err != nil {
			return err
		}
	}
	var s shown
	if frame.OnceWith(c, a.Seal, a.Now(), &s) && p.Do == "" && p.Key.Usable(p.Now) {
		p.New = &views.NewKey{Text: s.Secret, Snippets: a.snippets(c, project, p.Key, s.Secret), Replaced: s.Replaced, OldUntil: s.OldUntil}
	}
	if p.FirstUse, err = a.firstUse(c.UserContext(), project, p.Key.ID); err != nil {
		return err
	}
	if p.Key.Usable(p.Now) && p.FirstUse.CallTool.At.IsZero() {
		p.Live = []string{topicName + ":" + p.Key.ID}
	}
	return web.Render(c, views.Page(p))
}

// snippets returns the snippets of all clients with the key. The client chosen
// last is visible.
func (a *Keys) snippets(c *fiber.Ctx, project *toolset.Snapshot, key views.Key, secret string) []ui.SnippetTab {
	name, endpoint := install.Endpoint(a.Public, project.Project.Slug, key.Slugs())
	tabs := install.Remote{Name: name, URL: endpoint, Key: "Bearer API_KEY", Secret: secret}.Tabs()
	admin.ChooseClient(c, tabs)
	return tabs
}

// firstUse returns the first requests of a key. Those that this process handled
// are in memory. Of others, the database has the time of the first use and the
// call.
func (a *Keys) firstUse(ctx context.Context, project *toolset.Snapshot, id string) (views.FirstUse, error) {
	row, err := a.Keys.Get(ctx, id)
	if err != nil {
		return views.FirstUse{}, err
	}
	u := a.localUse(project, row)
	if u.CallTool.At.IsZero() && row.LastUsedAt != nil {
		err = a.addStored(ctx, &u, row)
	}
	return u, err
}

// localUse returns the first requests of a key that this process handled.
func (a *Keys) localUse(project *toolset.Snapshot, row models.Key) views.FirstUse {
	u := views.FirstUse{Slug: project.Project.Slug, Prefix: row.Prefix, CreatedAt: row.CreatedAt, Tools: len(project.Tools)}
	use := a.Index.Use(row.ProjectID, row.ID)
	u.Initialize, u.ListTools = stepOf(use.First(keys.Initialize)), stepOf(use.First(keys.ListTools))
	if call := use.First(keys.CallTool); call != nil {
		u.CallTool, u.Tool, u.Failed = stepOf(call), call.Tool, call.Failed
	}
	if client := use.Client(); client.Name != "" {
		u.Client = client.Name + " " + client.Version
	}
	complete(&u)
	return u
}

// addStored adds what the database has about the first requests of a key.
func (a *Keys) addStored(ctx context.Context, u *views.FirstUse, row models.Key) error {
	if u.Initialize.At.IsZero() {
		u.Initialize.At = *row.LastUsedAt
	}
	call, err := a.Calls.First(ctx, activity.CallFilter{ProjectID: row.ProjectID, Principal: keys.Principal(row.ID), Since: row.CreatedAt})
	if err != nil || call == nil {
		return err
	}
	took := time.Duration(call.DurationUS) * time.Microsecond
	u.CallTool, u.Tool, u.Failed = views.Step{At: call.At.Add(took), Took: took}, call.Tool, call.Outcome != models.CallOK
	complete(u)
	return nil
}

func stepOf(s *keys.Step) views.Step {
	if s == nil {
		return views.Step{}
	}
	return views.Step{At: s.At, Took: s.Took}
}

// complete marks the requests that a later one implies: not every client sends
// all of them.
func complete(u *views.FirstUse) {
	if u.ListTools.At.IsZero() {
		u.ListTools.At = u.CallTool.At
	}
	if u.Initialize.At.IsZero() {
		u.Initialize.At = u.ListTools.At
	}
}

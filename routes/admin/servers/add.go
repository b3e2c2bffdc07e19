package servers

import (
	"net/url"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/admin"
	"mcpgateway/routes/frame"
	"mcpgateway/services/projects"
	"mcpgateway/services/toolset"
	shared "mcpgateway/views/admin"
	views "mcpgateway/views/admin/servers"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// Add serves POST …/servers. It tests the servers of the form and adds those that can
// be reached. Of those left from an earlier attempt it adds, discards or skips the
// test of the one that the button names.
func (a *Wizard) Add(c *fiber.Ctx) error {
	p, err := a.pages.Project(c)
	if err != nil {
		return err
	}
	candidates, err := a.candidates(c, "")
	if err != nil {
		return err
	}
	adding := addingOf(c)
	candidates = slices.DeleteFunc(candidates, func(one *candidate) bool { return one.draft.Number == adding.discard })
	adding.open = p.Project.AuthMode == models.AuthNone
	tested := slices.Collect(func(yield func(*candidate) bool) {
		for _, one := range candidates {
			if adding.includes(one) && !adding.skipsTest(one) && !yield(one) {
				return
			}
		}
	})
	a.try(c.UserContext(), p, web.EventOf(c).Background, tested)
	if slices.ContainsFunc(candidates, func(one *candidate) bool { return adding.includes(one) && adding.unconfirmed(one) }) {
		return a.rejected(c, p, candidates, adding.before, views.CheckProps{UnderstoodError: "confirm this, or leave the credentials out"})
	}
	if err := a.add(c.UserContext(), web.EventOf(c).Background, p.Project.Slug, candidates, adding); err != nil {
		return err
	}
	return a.outcome(c, p.Project.Slug, candidates, adding)
}

// adding holds which servers of a form are added, and how.
type adding struct {
	open       bool   // the project requires no authentication
	understood bool   // sharing credentials was confirmed
	anyway     bool   // unreachable servers are added, turned off
	untested   string // number of the row that is added without a test, or "all"
	retry      string // number of the only row to add; may be empty
	discard    string
	before     []string // ids of servers that were added before
}

func addingOf(c *fiber.Ctx) adding {
	return adding{
		understood: web.FormValue(c, "understood") != "", anyway: web.FormValue(c, "anyway") != "",
		untested: web.FormValue(c, "untested"), retry: web.FormValue(c, "retry"), discard: web.FormValue(c, "discard"), before: frame.PostedAll(c, "added"),
	}
}

// includes reports whether a server is to be added.
func (a adding) includes(one *candidate) bool {
	switch {
	case one.draft.Skip || a.discard != "":
		return false
	case a.retry != "":
		return one.draft.Number == a.retry
	case a.untested != "":
		return a.skipsTest(one)
	}
	return true
}

// skipsTest reports whether a server is added without a test.
func (a adding) skipsTest(one *candidate) bool {
	return a.untested == "all" || a.untested == one.draft.Number && a.untested != ""
}

// unconfirmed reports whether a server would share credentials with everyone, without
// a confirmation.
func (a adding) unconfirmed(one *candidate) bool {
	return a.open && !a.understood && one.hasCredentials()
}

// outcome redirects to the next step if all servers were added. Otherwise it renders
// those that were not: with the added ones, or in the form if there are none.
func (a *Wizard) outcome(c *fiber.Ctx, slug string, candidates []*candidate, adding adding) error {
	p, err := a.pages.Directory.Project(slug)
	if err != nil {
		return err
	}
	ids, left, local := adding.before, []*candidate(nil), []string(nil)
	for _, one := range candidates {
		switch {
		case one.server.ID != "":
			ids = append(ids, one.server.ID)
		case one.draft.Command != "":
			local = append(local, one.draft.Alias)
		case !one.draft.Skip:
			left = append(left, one)
		}
	}
	switch {
	case len(ids) == 0 && len(left) == 0 && adding.discard != "":
		return c.Redirect(paths.Servers(slug), fiber.StatusSeeOther)
	case len(ids) == 0 && len(left) == 0:
		return a.rejected(c, p, candidates, ids, views.CheckProps{Error: "Select at least one server."})
	case len(ids) == 0:
		return a.rejected(c, p, candidates, ids, views.CheckProps{Failed: true})
	case len(left) > 0:
		props := views.DoneProps{Added: a.addedServers(p, ids), Local: local, Understood: adding.understood}
		for _, one := range left {
			props.Left = append(props.Left, one.draft)
		}
		return a.donePage(c, p, props)
	}
	return a.added(c, p, candidates, ids, local)
}

// rejected renders the second step again for servers that were not added.
func (a *Wizard) rejected(c *fiber.Ctx, p *toolset.Snapshot, candidates []*candidate, ids []string, props views.CheckProps) error {
	again := a.again(c, slices.DeleteFunc(slices.Clone(candidates), func(one *candidate) bool { return one.server.ID != "" }))
	props.Drafts, props.AddedIDs, props.Anyway, props.Understood = again.Drafts, ids, again.Anyway, again.Understood
	if props.Failed { // problems of fields have their own message
		props.Failed = slices.ContainsFunc(props.Drafts, func(d views.Draft) bool { return d.Test.Failure != nil })
	}
	c.Status(fiber.StatusUnprocessableEntity)
	return a.checkPage(c, p, props)
}

// added redirects to the next step for added servers. A single one has its own next
// step.
func (a *Wizard) added(c *fiber.Ctx, p *toolset.Snapshot, candidates []*candidate, ids, local []string) error {
	i := slices.IndexFunc(candidates, func(one *candidate) bool { return one.server.ID != "" })
	if len(ids) > 1 || len(local) > 0 || i < 0 {
		values := url.Values{"added": {strings.Join(ids, ",")}}
		if len(local) > 0 {
			values.Set("local", strings.Join(local, ","))
		}
		return c.Redirect(paths.NewServer(p.Project.Slug)+"?"+values.Encode(), fiber.StatusSeeOther)
	}
	one := candidates[i]
	path := paths.Server(p.Project.Slug, one.server.ID)
	switch {
	case one.server.AuthType == models.UpstreamAuthOAuth:
		return frame.Done(c, path, "Server added. Sign in at "+shared.Provider(one.server.URL)+" to read its tools.")
	case !one.server.Enabled:
		return frame.Done(c, path, "Server added, turned off.")
	case one.draft.Test.NoToken:
		return frame.Done(c, path, "Server added. Add its token to read its tools.")
	case !one.read:
		return frame.Done(c, path, "Server added, but we couldn't connect. See why below.")
	}
	return frame.Done(c, paths.ServerFilters(p.Project.Slug, one.server.ID)+"?new=1", "Server added with "+ui.Plural(one.tools, "tool", "tools")+".")
}

// donePage renders the last step.
func (a *Wizard) donePage(c *fiber.Ctx, p *toolset.Snapshot, props views.DoneProps) error {
	if len(props.Added) == 0 {
		return c.Redirect(paths.Servers(p.Project.Slug), fiber.StatusSeeOther)
	}
	props.Frame, props.Slug = a.frame(c, p), p.Project.Slug
	for i := range props.Left {
		props.Left[i].Number = numberOf(i)
	}
	return web.Render(c, views.Done(props))
}

// addedServers returns the rows of the servers of a project with the ids.
func (a *Wizard) addedServers(p *toolset.Snapshot, ids []string) (all []views.Added) {
	for _, id := range ids {
		if server, err := admin.ServerOf(p, id); err == nil {
			all = append(all, a.addedServer(p, server))
		}
	}
	return all
}

// addedServer returns the row of an added server with its next step.
func (a *Wizard) addedServer(p *toolset.Snapshot, server *toolset.Server) views.Added {
	id, slug := server.Config.ID, p.Project.Slug
	state, _ := a.pages.Health.StateOf(server)
	tools, known := admin.CountTools(p, id)
	one := views.Added{ID: id, Alias: server.Config.Alias, State: state, Tools: tools, Sub: "Its tools are being read"}
	switch state.Kind {
	case shared.StateOK:
		one.Sub, one.Action, one.ActionURL = ui.Plural(known, "tool", "tools"), "Choose tools", paths.ServerFilters(slug, id)+"?new=1"
	case shared.StateUnconnected, shared.StateReconnect:
		one.Sub = "Sign in at " + shared.Provider(server.Config.URL) + " so that we can read its tools"
		one.State.Word, one.Action, one.ActionURL, one.Primary = "Sign-in needed", "Connect", admin.ConnectURL(&server.Config), true
	case shared.StateNoToken:
		one.Sub, one.Action, one.ActionURL, one.Primary = "Add its token so that we can read its tools", "Add token", paths.ServerEdit(slug, id)+"#credentials", true
	case shared.StateOff:
		one.Sub, one.Action, one.ActionURL = projects.MaskURL(server.Config.URL), "Open", paths.Server(slug, id)
	case shared.StateDown, shared.StateRefused:
		one.Action, one.ActionURL = "Open", paths.Server(slug, id)
		if failure := a.pages.Health.FailureOf(server); failure != nil {
			one.Sub = failure.Title
		}
	}
	return one
}

// splitNames returns the names of a list in a URL.
func splitNames(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}

// Package overview serves the first page of a project: its servers, the open
// steps of its setup, numbers, traffic, and what needs a user.
package overview

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/admin"
	"mcpgateway/services/access"
	"mcpgateway/services/access/keys"
	"mcpgateway/services/activity"
	"mcpgateway/services/activity/traffic"
	"mcpgateway/services/checklist"
	"mcpgateway/services/projects/toolsets"
	"mcpgateway/services/toolset"
	views "mcpgateway/views/admin/overview"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
	"mcpgateway/web/guard"
)

// Options are the dependencies of the overview.
type Options struct {
	Pages     *admin.ProjectPages
	Traffic   *traffic.Store
	Calls     *activity.Calls
	Keys      *keys.Store
	People    *access.Users
	Checklist *checklist.Store
	Toolsets  *toolsets.Store
	Public    *url.URL // origin of the endpoints
	Now       func() time.Time
}

// Overview serves the overview of projects.
type Overview struct{ Options }

// New returns the handler.
func New(o Options) *Overview { return &Overview{o} }

// The cookie of a user who hid the setup of a project. Its path is that of the
// project.
const (
	setupCookie    = "setup"
	setupCookieAge = 365 * 24 * time.Hour
	setupHidden    = "hidden"
)

// Show serves GET /admin/projects/:projectSlug?period=. ?setup=hide and
// ?setup=show hide and show the steps of the setup. ?check=1, an endpoint test,
// is a part of another page.
func (o *Overview) Show(c *fiber.Ctx) error {
	p, err := o.Pages.Project(c)
	if err != nil {
		return err
	}
	slug := p.Project.Slug
	if c.Query("check") != "" {
		return c.Redirect(layout.TabConnect.URL(slug)+"?check=1", fiber.StatusMovedPermanently)
	}
	if choice := c.Query("setup"); choice != "" {
		hideSetup(c, slug, choice == "hide")
		return c.Redirect(paths.Project(slug), fiber.StatusSeeOther)
	}
	f := o.Pages.ProjectFrame(c, p, layout.TabOverview, "Overview")
	v := &view{period: periodOf(c.Query("period")), hidden: isSetupHidden(c), csrf: f.CSRF(), admin: f.Admin(), limited: f.Limited()}
	f.Bar, f.Live = views.Bar(slug, v.admin), append(f.Live, v.topic())
	props := views.Props{
		Frame: f, Slug: slug, Name: p.Project.Name, Periods: v.periods(slug), Endpoint: o.Public.JoinPath("/v1/mcp", slug, "request").String(),
	}
	if props.Name == "" {
		props.Name = slug
	}
	props.Name = ui.Clean(props.Name)
	if props.Parts, err = o.parts(c.UserContext(), p, v); err != nil {
		return err
	}
	props.Access = v.access(&p.Project)
	if v.hidden && !v.progress.Finished() {
		props.ShowSetup = paths.Project(slug) + "?setup=show"
	}
	return web.Render(c, views.Page(props))
}

// isSetupHidden reports whether the user hid the setup of the project.
func isSetupHidden(c *fiber.Ctx) bool {
	user := guard.UserOf(c)
	return user != nil && c.Cookies(setupCookie) == setupHidden+"-"+user.ID
}

// hideSetup stores that the user hid the setup of a project, or shows it again.
func hideSetup(c *fiber.Ctx, slug string, hide bool) {
	cookie := fiber.Cookie{
		Name: setupCookie, Path: paths.Project(slug), Expires: time.Now().Add(setupCookieAge),
		HTTPOnly: true, Secure: c.Protocol() == "https", SameSite: fiber.CookieSameSiteLaxMode,
	}
	if user := guard.UserOf(c); hide && user != nil {
		cookie.Value = setupHidden + "-" + user.ID
	} else {
		cookie.Expires = time.Unix(0, 0)
	}
	c.Cookie(&cookie)
}

// view is one open page.
type view struct {
	period string
	hidden bool // the setup
	admin  bool
	csrf   string
	// limited reports whether the user is a maintainer without the page of those
	// who may sign in.
	limited bool

	numbers  numbers
	due      time.Time // when the numbers are read again
	progress *checklist.Progress
}

// periodNames are the periods of the page.
func periodNames() []string { return []string{"1h", "24h", "7d", "30d"} }

// defaultPeriod is the period of a page whose URL names none.
const defaultPeriod = "24h"

// periodOf returns the period of a URL, or the default.
func periodOf(name string) string {
	for _, known := range periodNames() {
		if name == known {
			return known
		}
	}
	return defaultPeriod
}

// periods returns the choice of the period.
func (v *view) periods(slug string) []ui.SegmentItem {
	var items []ui.SegmentItem
	for _, name := range periodNames() {
		items = append(items, ui.SegmentItem{Label: name, URL: paths.Project(slug) + "?period=" + name, Current: name == v.period})
	}
	return items
}

// lastWords returns the period in words.
func (v *view) lastWords() string {
	switch v.period {
	case "1h":
		return "last hour"
	case "7d":
		return "last 7 days"
	case "30d":
		return "last 30 days"
	}
	return "last 24 hours"
}

// access returns how clients authenticate.
func (v *view) access(p *models.Project) views.Access {
	switch p.AuthMode {
	case models.AuthNone:
		return views.Access{Word: "Open", Icon: "lock-open", URL: v.accessURL(p.Slug), Open: true}
	case models.AuthOAuth:
		return views.Access{Word: "Sign-in", Icon: "shield-check", URL: v.accessURL(p.Slug)}
	}
	return views.Access{Word: ui.Plural(len(v.numbers.usable()), "key", "keys"), Icon: "key-round", URL: paths.Keys(p.Slug)}
}

// accessURL returns the page about who may sign in, or for maintainers how clients
// connect.
func (v *view) accessURL(slug string) string {
	if v.limited {
		return layout.TabConnect.URL(slug)
	}
	return layout.TabAccess.URL(slug)
}

// parts returns the parts of the page in their current state.
func (o *Overview) parts(ctx context.Context, p *toolset.Snapshot, v *view) (parts views.Parts, err error) {
	now := o.Now()
	if !now.Before(v.due) {
		if v.numbers, err = o.read(ctx, p, v.period, now); err != nil {
			return parts, err
		}
		v.due = now.Add(numbersEvery)
	}
	if v.progress == nil || !v.progress.Finished() {
		if v.progress, err = o.Checklist.Of(ctx, p); err != nil {
			return parts, err
		}
	}
	called := v.progress.Called()
	servers := o.servers(p)
	parts = views.Parts{
		Status: status(p, servers), Setup: v.setup(p), Numbers: v.stats(p, called),
		Attention: o.attention(p, v, servers, now),
		Traffic:   views.Traffic{Called: called, Connect: layout.TabConnect.URL(p.Project.Slug)},
	}
	if !called && len(parts.Attention.Rows) == 0 {
		parts.Attention, parts.Traffic.Wide = ui.AttentionProps{}, true
	}
	if called {
		parts.Traffic.Topology = v.topology(p, servers, now)
		parts.Lists, err = o.lists(ctx, p, v)
	}
	return parts, err
}

// lists returns the busiest tools and the recent calls.
func (o *Overview) lists(ctx context.Context, p *toolset.Snapshot, v *view) (views.Lists, error) {
	slug := p.Project.Slug
	l := views.Lists{Called: true, ToolsURL: paths.Tools(slug), CallsURL: paths.Activity(slug), Tools: v.busiest(p)}
	calls, _, err := o.Calls.List(ctx, activity.CallFilter{ProjectID: p.Project.ID}, "", listRows)
	for _, call := range calls {
		row := views.CallRow{At: call.At, Tool: call.Tool, URL: paths.Activity(slug) + "/" + url.PathEscape(call.ID), Tone: ui.OK, Word: "OK", Latency: ui.Took(time.Duration(call.DurationUS) * time.Microsecond)}
		switch call.Outcome {
		case models.CallOK:
		case models.CallCancelled:
			row.Tone, row.Word = ui.Neutral, "Canceled"
		default:
			row.Tone, row.Word = ui.Bad, "Failed"
		}
		l.Calls = append(l.Calls, row)
	}
	return l, err
}

// busiest returns the tools with the most calls.
func (v *view) busiest(p *toolset.Snapshot) []views.ToolRow {
	var rows []views.ToolRow
	for _, row := range v.numbers.tools {
		tool := views.ToolRow{
			Name: row.Name, URL: activityURL(p.Project.Slug, v.period, clause{"tool", row.Name}), Calls: row.Calls,
			Share: float64(row.Calls) / float64(max(1, v.numbers.tools[0].Calls)), Failed: ui.Percent(row.Failed, row.Calls), Bad: isHigh(row.Failed, row.Calls),
		}
		if known(p, row.Name) {
			tool.URL = paths.Tool(p.Project.Slug, row.Name)
		}
		rows = append(rows, tool)
	}
	return rows
}

// known reports whether the project has a tool with the name.
func known(p *toolset.Snapshot, name string) bool {
	for _, t := range p.AllTools() {
		if t.FullName == name || strings.EqualFold(t.Name, name) {
			return true
		}
	}
	return false
}

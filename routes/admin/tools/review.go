package tools

import (
	"net/url"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/routes/frame"
	"mcpgateway/services/toolset"
	views "mcpgateway/views/admin/tools"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// Limits of the list of definitions.
const (
	reviewedAhead  = 60 // listed definitions after the shown one
	reviewedBefore = 20 // and before it
)

// reviewFilters are the parameters of the review.
type reviewFilters struct {
	query   string
	names   []string // only these tools; empty for all
	changed bool     // without new tools
	at      string   // the shown tool
	schema  bool     // shows the full schema instead of its changes
}

// readReview returns the filters of a URL's query.
func readReview(q url.Values) reviewFilters {
	return reviewFilters{query: strings.TrimSpace(q.Get("query")), names: q["tool"], changed: q.Get("show") == "changed", at: q.Get("at"), schema: q.Get("view") == "schema"}
}

// url returns the URL of the review with another shown tool.
func (f reviewFilters) url(slug, at string) string {
	q := url.Values{"tool": f.names}
	for name, value := range map[string]string{"query": f.query, "at": at} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if f.changed {
		q.Set("show", "changed")
	}
	if f.schema {
		q.Set("view", "schema")
	}
	if encoded := q.Encode(); encoded != "" {
		return paths.ToolReview(slug) + "?" + encoded
	}
	return paths.ToolReview(slug)
}

// reviewOf returns the URL of the review of a tool.
func reviewOf(slug, name string) string { return reviewFilters{}.url(slug, name) }

// waiting returns the tools to approve that match the filters, new ones first
// within a server as the server lists them. It returns the faults of the query.
func (f reviewFilters) waiting(project *toolset.Snapshot) ([]*toolset.Tool, error) {
	found, err := searched(project.AllTools(), f.query)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(found), func(t *toolset.Tool) bool {
		return t.Hidden != toolset.HiddenByApproval || len(f.names) > 0 && !slices.Contains(f.names, t.FullName)
	}), nil
}

// Review serves GET …/tools/review?query=&tool=&show=changed&at=&view=schema: the
// definitions to approve, of tools that match the query and, if given, the names.
func (a *Tools) Review(c *fiber.Ctx) error {
	project, err := a.pages.Project(c)
	if err != nil {
		return err
	}
	slug := project.Project.Slug
	q, err := url.ParseQuery(string(c.Context().QueryArgs().QueryString()))
	if err != nil {
		q = url.Values{}
	}
	f := readReview(q)
	waiting, err := f.waiting(project)
	if err != nil {
		return frame.Failed(c, paths.Tools(slug), err)
	}
	p := views.ReviewProps{
		Frame: a.pages.ProjectFrame(c, project, layout.TabTools, "Review", layout.Crumb{Label: "Review"}), Slug: slug, Now: a.now(),
	}
	p.Frame.Wide = layout.Full
	addReview(&p, f, waiting)
	if p.Tool != nil {
		p.Bar = views.ReviewBar(p)
	}
	return web.Render(c, views.Review(p))
}

// addReview adds the list, and the definition that is shown: the requested one, or
// the first.
func addReview(p *views.ReviewProps, f reviewFilters, waiting []*toolset.Tool) {
	isNew := func(t *toolset.Tool) bool { return t.Previous == nil }
	changed := slices.DeleteFunc(slices.Clone(waiting), isNew)
	every := f
	every.changed = false
	only := f
	only.changed = true
	p.Filters = []ui.SegmentItem{
		{Label: "All", URL: every.url(p.Slug, ""), Current: !f.changed},
		{Label: "Changed " + ui.Count(len(changed)), URL: only.url(p.Slug, ""), Current: f.changed},
	}
	if f.changed && len(changed) > 0 {
		waiting = changed
	}
	if len(waiting) == 0 {
		return
	}
	at := max(slices.IndexFunc(waiting, func(t *toolset.Tool) bool { return t.FullName == f.at }), 0)
	current := waiting[at]
	p.Total, p.Position, p.Title = len(waiting), at+1, "To approve"
	if servers := groupsOf(waiting); len(servers) == 1 {
		p.Title = servers[0].alias
	}
	from, to := max(at-reviewedBefore, 0), min(at+reviewedAhead, len(waiting))
	for i, t := range waiting[from:to] {
		p.Entries = append(p.Entries, views.ReviewEntry{Name: t.Name, URL: f.url(p.Slug, t.FullName), Changed: t.Previous != nil, Current: from+i == at})
	}
	p.More = len(waiting) - to
	p.HereURL, p.DoneURL = f.url(p.Slug, current.FullName), f.url(p.Slug, "")
	if at > 0 {
		p.PrevURL = f.url(p.Slug, waiting[at-1].FullName)
		p.DoneURL = p.PrevURL
	}
	if at+1 < len(waiting) {
		p.NextURL = f.url(p.Slug, waiting[at+1].FullName)
		p.DoneURL = p.NextURL
	}
	changes, full := f, f
	changes.schema, full.schema = false, true
	p.Views = []ui.SegmentItem{
		{Label: "Diff", URL: changes.url(p.Slug, current.FullName), Current: !f.schema},
		{Label: "Full schema", URL: full.url(p.Slug, current.FullName), Current: f.schema},
	}
	p.Tool = reviewedTool(current, f.schema)
	p.All = approveServer(waiting, current)
}

// approveServer returns the approval of all definitions of the server of the shown
// one, or nil if there are no others.
func approveServer(waiting []*toolset.Tool, current *toolset.Tool) *views.ApproveAll {
	var tools []*toolset.Tool
	for _, t := range waiting {
		if t.Server == current.Server {
			tools = append(tools, t)
		}
	}
	if len(tools) < 2 {
		return nil
	}
	alias := current.Server.Config.Alias
	return &views.ApproveAll{Server: alias, Label: approveAll(len(tools)) + " of " + alias, Seen: seenOf(tools)}
}

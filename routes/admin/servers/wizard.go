package servers

import (
	"cmp"
	"context"
	"io"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"
	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/admin"
	"mcpgateway/routes/frame"
	"mcpgateway/services/catalog"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
	"mcpgateway/services/inventory"
	"mcpgateway/services/projects"
	"mcpgateway/services/secrets"
	"mcpgateway/services/toolset"
	views "mcpgateway/views/admin/servers"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/web"
)

// choicesPerPage is the number of catalog servers on a page.
const choicesPerPage = 20

// Wizard serves the steps that add servers: paste or pick, check, done.
type Wizard struct {
	pages   *admin.ProjectPages
	reader  *inventory.Syncer
	store   *projects.Store
	catalog *catalog.Catalog
	seal    *secrets.KeyRing
	public  *url.URL
}

// NewWizard returns the handlers. seal encrypts the parts of a form that pages must
// not show, between the steps. public is the URL of the gateway for runners.
func NewWizard(pages *admin.ProjectPages, reader *inventory.Syncer, store *projects.Store, catalog *catalog.Catalog, seal *secrets.KeyRing, public *url.URL) *Wizard {
	return &Wizard{pages: pages, reader: reader, store: store, catalog: catalog, seal: seal, public: public}
}

// New serves GET …/servers/new: the first step, with ?entry= the second step for that
// catalog server (&alias= is its alias), or with ?added= the last step for servers of the project.
func (a *Wizard) New(c *fiber.Ctx) error {
	p, err := a.pages.Project(c)
	if err != nil {
		return err
	}
	if ids := c.Query("added"); ids != "" {
		return a.donePage(c, p, views.DoneProps{Added: a.addedServers(p, strings.Split(ids, ",")), Local: splitNames(c.Query("local"))})
	}
	if id := c.Query("entry"); id != "" {
		entry, err := a.catalog.Entry(id)
		if err != nil {
			return err
		}
		return a.checkPage(c, p, views.CheckProps{Source: "the catalog", Drafts: []views.Draft{a.draftOfEntry(p, entry, strings.TrimSpace(c.Query("alias")))}})
	}
	return a.pastePage(c, p, views.PasteProps{})
}

func (a *Wizard) frame(c *fiber.Ctx, p *toolset.Snapshot) layout.Frame {
	return a.pages.ProjectFrame(c, p, layout.TabServers, "Add servers", layout.Crumb{Label: "Add"})
}

func (a *Wizard) pastePage(c *fiber.Ctx, p *toolset.Snapshot, props views.PasteProps) error {
	props.Frame, props.Slug, props.Query = a.frame(c, p), p.Project.Slug, strings.TrimSpace(c.Query("query"))
	cursor, first := c.Query("cursor"), paths.NewServer(p.Project.Slug)+"?"+url.Values{"query": {props.Query}}.Encode()
	found, err := a.catalog.Entries(c.UserContext(), catalog.Search{Text: props.Query, Limit: choicesPerPage, Continue: cursor != "", Cursor: cursor})
	switch f := fault.From(err); {
	case err == nil:
		if cursor != "" {
			props.FirstURL = first
		}
		addChoices(&props, p, found)
	case f.Restart && cursor != "":
		return c.Redirect(first, fiber.StatusSeeOther)
	case f.Span != nil, f.Kind == fault.KindInvalid:
		props.QueryError = frame.QueryError(err)
	default:
		return err
	}
	return web.Render(c, views.Paste(props))
}

// addChoices adds the matching catalog servers.
func addChoices(props *views.PasteProps, p *toolset.Snapshot, found *catalog.Result[*models.CatalogEntry]) {
	props.Total = found.Total
	if found.NextCursor != "" {
		props.NextURL = paths.NewServer(p.Project.Slug) + "?" + url.Values{"query": {props.Query}, "cursor": {found.NextCursor}}.Encode()
	}
	for _, entry := range found.Rows {
		props.Choices = append(props.Choices, choiceOf(p, entry))
	}
}

func choiceOf(p *toolset.Snapshot, e *models.CatalogEntry) views.Choice {
	choice := views.Choice{
		ID: e.ID, Title: e.ServerTitle, Publisher: e.PublisherTitle, Description: e.Description,
		Verified: e.Verified, Refused: notRemote(e), Auth: credentialWords(e.AuthType),
	}
	choice.Added = e.RemoteURL != "" && slices.ContainsFunc(p.Servers, func(s *toolset.Server) bool { return s.Config.URL == projects.MaskURL(e.RemoteURL) })
	if choice.Refused != "" && e.RunsHere() {
		choice.RunURL = paths.RegistryEntry(e.PublisherName, e.ServerName) + "#run"
	}
	return choice
}

// notRemote returns the reason why a catalog server cannot be added to a project,
// or "".
func notRemote(e *models.CatalogEntry) string {
	if e.RemoteURL == "" {
		return "Runs as a program"
	}
	return ""
}

func credentialWords(authType string) string {
	switch authType {
	case "none":
		return "None"
	case "bearer":
		return "Token"
	case "header":
		return "Key"
	case "oauth":
		return "OAuth"
	}
	return "Unknown"
}

// Read serves POST …/servers/new. It parses the pasted text and renders the second
// step. It stores nothing.
func (a *Wizard) Read(c *fiber.Ctx) error {
	p, err := a.pages.Project(c)
	if err != nil {
		return err
	}
	text := strings.TrimSpace(web.FormValue(c, "pasted"))
	found, err := declaration.ParsePasted(text)
	if err != nil {
		fields, err := frame.Fields(c, err)
		if err != nil {
			return err
		}
		return a.pastePage(c, p, unreadable(text, fields))
	}
	props := views.CheckProps{Source: sourceOf(text)}
	if len(found.Notes) > 0 {
		props.Note = found.Notes[0]
	}
	for _, s := range found.Servers {
		props.Drafts = append(props.Drafts, a.draftOfPasted(s))
	}
	return a.checkPage(c, p, props)
}

// sourceOf names the format of a pasted text.
func sourceOf(text string) string {
	switch {
	case strings.HasPrefix(text, "http://"), strings.HasPrefix(text, "https://"):
		return "your URL"
	case strings.HasPrefix(text, "{"), strings.HasPrefix(text, `"`), strings.HasPrefix(text, "/"):
		return "your JSON"
	}
	return "your command"
}

// unreadable returns the page of an invalid pasted text.
func unreadable(text string, fields map[string]string) views.PasteProps {
	props := views.PasteProps{PasteError: pasteError(fields)}
	if secrets.MayHold(text) {
		props.PasteError += ". Fix the text and paste it again. It isn't kept, because it may hold secrets"
	} else {
		props.Pasted = text
	}
	return props
}

// pasteError returns the problems of a pasted text in one line.
func pasteError(fields map[string]string) string {
	var lines []string
	for _, path := range slices.Sorted(maps.Keys(fields)) {
		if path == "pasted" || path == "" {
			lines = append(lines, strings.TrimPrefix(fields[path], declaration.PastedHint))
		} else {
			lines = append(lines, path+": "+fields[path])
		}
	}
	return strings.Join(lines, "; ")
}

func (a *Wizard) checkPage(c *fiber.Ctx, p *toolset.Snapshot, props views.CheckProps) error {
	props.Frame, props.Slug, props.Open = a.frame(c, p), p.Project.Slug, p.Project.AuthMode == models.AuthNone
	props.Endpoint = a.public.String()
	for i := range props.Drafts {
		props.Drafts[i].Number = strconv.Itoa(i)
	}
	return web.Render(c, views.Check(props))
}

// Check serves POST …/servers/new/check. It tests the connections of the servers of
// the form: all, or the one that the button names. With ?row= it returns only that
// row. It also shows the form again for servers that are to be edited.
func (a *Wizard) Check(c *fiber.Ctx) error {
	p, err := a.pages.Project(c)
	if err != nil {
		return err
	}
	row := c.Query("row")
	candidates, err := a.candidates(c, row)
	if err != nil {
		return err
	}
	test, edit := cmp.Or(row, web.FormValue(c, "test")), web.FormValue(c, "edit")
	var chosen []*candidate
	for _, one := range candidates {
		one.draft.Open = one.draft.Number == edit
		if test == "all" && !one.draft.Skip || one.draft.Number == test {
			chosen = append(chosen, one)
		}
	}
	a.try(c.UserContext(), p, web.EventOf(c).Background, chosen)
	if row != "" && len(candidates) == 1 {
		return web.Render(c, a.part(views.DraftRow(p.Project.Slug, rowsOf(c), candidates[0].draft)))
	}
	return a.checkPage(c, p, a.again(c, candidates))
}

// part returns a part of a page, whose icons need the assets.
func (a *Wizard) part(part templ.Component) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		return part.Render(layout.WithAssets(ctx, a.pages.Assets), w)
	})
}

// Restart serves GET …/servers/new/check, which has no form without a POST.
func (a *Wizard) Restart(c *fiber.Ctx) error {
	p, err := a.pages.Project(c)
	if err != nil {
		return err
	}
	return c.Redirect(paths.NewServer(p.Project.Slug), fiber.StatusSeeOther)
}

// again returns the second step for a form that was submitted.
func (a *Wizard) again(c *fiber.Ctx, candidates []*candidate) views.CheckProps {
	props := views.CheckProps{
		AddedIDs: frame.PostedAll(c, "added"), Anyway: web.FormValue(c, "anyway") != "", Understood: web.FormValue(c, "understood") != "",
	}
	for _, one := range candidates {
		props.Drafts = append(props.Drafts, one.draft)
	}
	return props
}

// rowsOf returns the number of rows of the form.
func rowsOf(c *fiber.Ctx) int {
	n, _ := strconv.Atoi(web.FormValue(c, "count"))
	return n
}

// candidates parses the form of the second step; with only, just the row of that
// number.
func (a *Wizard) candidates(c *fiber.Ctx, only string) ([]*candidate, error) {
	n := rowsOf(c)
	if n < 1 || n > declaration.MaxServers {
		return nil, errIncomplete()
	}
	all := make([]*candidate, 0, n)
	for i := range n {
		number := strconv.Itoa(i)
		if only != "" && only != number {
			continue
		}
		one, err := a.candidate(c, number)
		if err != nil {
			return nil, err
		}
		if len(one.draft.Refused) == 0 {
			one.draft.Skip = n > 1 && web.FormValue(c, number+".add") == ""
		}
		all = append(all, one)
	}
	return all, nil
}

// errIncomplete returns the fault for a form without the sealed settings, which would
// be lost.
func errIncomplete() *fault.Fault {
	return fault.Invalid("Something was missing. Please start again.")
}

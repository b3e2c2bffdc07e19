package servers

import (
	"errors"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

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
	"mcpgateway/services/upstream"
	views "mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// choicesPerPage is the number of catalog servers on a page.
const choicesPerPage = 20

// Wizard serves the wizard for new servers: pick, connect, choose tools.
type Wizard struct {
	pages   *admin.ProjectPages
	reader  *inventory.Syncer
	store   *projects.Store
	catalog *catalog.Catalog
	seal    *secrets.KeyRing
}

// NewWizard returns the handlers. seal encrypts the parts of a form that pages must
// not show, between the steps.
func NewWizard(pages *admin.ProjectPages, reader *inventory.Syncer, store *projects.Store, catalog *catalog.Catalog, seal *secrets.KeyRing) *Wizard {
	return &Wizard{pages: pages, reader: reader, store: store, catalog: catalog, seal: seal}
}

// New serves GET …/servers/new: the first step, or with ?entry= the second step for
// that catalog server.
func (a *Wizard) New(c *fiber.Ctx) error {
	p, err := a.pages.Project(c)
	if err != nil {
		return err
	}
	if id := c.Query("entry"); id != "" {
		entry, err := a.catalog.Entry(id)
		if err != nil {
			return err
		}
		return a.connectPage(c, p, views.ServerConnectProps{Drafts: []views.ServerDraft{a.draftOfEntry(p, entry)}})
	}
	return a.pickPage(c, p, views.ServerNewProps{})
}

func (a *Wizard) pickPage(c *fiber.Ctx, p *toolset.Snapshot, props views.ServerNewProps) error {
	props.Frame = a.pages.ProjectFrame(c, p, layout.TabServers, "Add servers", layout.Crumb{Label: "Add servers"})
	props.Project, props.Query = a.pages.Head(p, layout.TabServers), strings.TrimSpace(c.Query("query"))
	cursor, first := c.Query("cursor"), paths.NewServer(p.Project.Slug)+"?"+url.Values{"query": {strings.TrimSpace(c.Query("query"))}}.Encode()
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
	return web.Render(c, views.ServerNew(props))
}

// addChoices adds the matching catalog servers.
func addChoices(props *views.ServerNewProps, p *toolset.Snapshot, found *catalog.Result[*models.CatalogEntry]) {
	props.Total = found.Total
	if found.NextCursor != "" {
		props.NextURL = paths.NewServer(p.Project.Slug) + "?" + url.Values{"query": {props.Query}, "cursor": {found.NextCursor}}.Encode()
	}
	for _, entry := range found.Rows {
		props.Choices = append(props.Choices, choiceOf(p, entry))
	}
}

func choiceOf(p *toolset.Snapshot, e *models.CatalogEntry) views.ServerChoice {
	choice := views.ServerChoice{
		ID: e.ID, Title: e.ServerTitle, Publisher: e.PublisherTitle, Description: e.Description,
		Verified: e.Verified, Refused: notRemote(e), Auth: credentialWords(e.AuthType),
	}
	choice.Added = e.RemoteURL != "" && slices.ContainsFunc(p.Servers, func(s *toolset.Server) bool { return s.Config.URL == projects.MaskURL(e.RemoteURL) })
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
		return a.pickPage(c, p, unreadable(text, fields))
	}
	var props views.ServerConnectProps
	if len(found.Notes) > 0 {
		props.Note = found.Notes[0]
	}
	for _, s := range found.Servers {
		props.Drafts = append(props.Drafts, a.draftOfPasted(s))
	}
	return a.connectPage(c, p, props)
}

// unreadable returns the page of an invalid pasted text.
func unreadable(text string, fields map[string]string) views.ServerNewProps {
	props := views.ServerNewProps{PasteError: pasteError(fields)}
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
			lines = append(lines, fields[path])
		} else {
			lines = append(lines, path+": "+fields[path])
		}
	}
	return strings.Join(lines, "; ")
}

func (a *Wizard) connectPage(c *fiber.Ctx, p *toolset.Snapshot, props views.ServerConnectProps) error {
	props.Frame = a.pages.ProjectFrame(c, p, layout.TabServers, "Add servers", layout.Crumb{Label: "Add servers"})
	props.Project, props.Open = a.pages.Head(p, layout.TabServers), p.Project.AuthMode == models.AuthNone
	return web.Render(c, views.ServerConnect(props))
}

// Add serves POST …/servers. It tests the servers of the form and adds the
// reachable ones. The others stay on the page with the reason.
func (a *Wizard) Add(c *fiber.Ctx) error {
	p, err := a.pages.Project(c)
	if err != nil {
		return err
	}
	candidates, err := a.candidates(c)
	if err != nil {
		return err
	}
	props := views.ServerConnectProps{Understood: web.FormValue(c, "understood") != ""}
	if p.Project.AuthMode == models.AuthNone && !props.Understood && slices.ContainsFunc(candidates, (*draftServer).hasCredentials) {
		props.UnderstoodError = "confirm this, or leave the credentials out"
	} else {
		a.try(c.UserContext(), web.EventOf(c).Background, candidates, web.FormValue(c, "untested") != "")
		if err := a.add(c.UserContext(), p.Project.Slug, candidates); err != nil {
			return err
		}
	}
	return a.outcome(c, p, props, candidates)
}

// outcome redirects to the next step if all servers were added, else it renders the
// form with the others.
func (a *Wizard) outcome(c *fiber.Ctx, p *toolset.Snapshot, props views.ServerConnectProps, candidates []*draftServer) error {
	for _, one := range candidates {
		if one.server.ID == "" {
			props.Drafts = append(props.Drafts, one.draft)
		} else {
			props.Added = append(props.Added, addedServer(p.Project.Slug, one))
		}
	}
	failed := slices.ContainsFunc(candidates, (*draftServer).failed)
	switch {
	case len(props.Added) > 0 && !failed:
		return a.added(c, p.Project.Slug, candidates)
	case len(props.Added) > 0:
		props.Failed = failedWords(candidates)
		return a.connectPage(c, p, props)
	case !failed && props.UnderstoodError == "":
		props.Error = "Select at least one server."
	}
	c.Status(fiber.StatusUnprocessableEntity)
	return a.connectPage(c, p, props)
}

// addedServer returns the row of an added server.
func addedServer(slug string, one *draftServer) views.AddedServer {
	added := views.AddedServer{Alias: one.server.Alias, URL: paths.Server(slug, one.server.ID)}
	switch {
	case one.server.AuthType == models.UpstreamAuthOAuth:
		added.State, added.Action = "Sign-in needed", "Connect"
	case !one.server.Enabled:
		added.State = "Turned off"
	case one.read:
		added.State, added.Action = ui.Plural(one.tools, "tool", "tools"), "Choose tools"
		added.ActionURL = paths.ServerFilters(slug, one.server.ID) + "?new=1"
	default:
		added.State = "Its tools haven't been read yet"
	}
	if added.ActionURL == "" {
		added.ActionURL = added.URL
	}
	return added
}

// failedWords names the selected servers that were not added.
func failedWords(candidates []*draftServer) string {
	var unreached, others []string
	for _, one := range candidates {
		switch {
		case !one.failed():
		case one.draft.Failed != "":
			unreached = append(unreached, one.draft.Alias)
		default:
			others = append(others, one.draft.Alias)
		}
	}
	var words []string
	if len(unreached) > 0 {
		words = append(words, "Couldn't connect to "+strings.Join(unreached, ", ")+".")
	}
	if len(others) > 0 {
		words = append(words, "Check "+strings.Join(others, ", ")+".")
	}
	return strings.Join(words, " ")
}

// notAdded names the rejected servers, for the message about the others.
func notAdded(candidates []*draftServer) string {
	var aliases []string
	for _, one := range candidates {
		if len(one.draft.Refused) > 0 {
			aliases = append(aliases, one.draft.Alias)
		}
	}
	if len(aliases) == 0 {
		return ""
	}
	return " Not added: " + strings.Join(aliases, ", ") + "."
}

// added redirects to the next step for added servers.
func (a *Wizard) added(c *fiber.Ctx, slug string, candidates []*draftServer) error {
	done := slices.DeleteFunc(slices.Clone(candidates), func(one *draftServer) bool { return one.server.ID == "" })
	rest := notAdded(candidates)
	if len(done) > 1 {
		return frame.Done(c, paths.Servers(slug), ui.Plural(len(done), "server", "servers")+" added."+rest)
	}
	one := done[0]
	path := paths.Server(slug, one.server.ID)
	switch {
	case one.server.AuthType == models.UpstreamAuthOAuth:
		return frame.Done(c, path, "Server added. Sign in at its provider to read its tools."+rest)
	case !one.server.Enabled:
		return frame.Done(c, path, "Server added, turned off."+rest)
	case !one.read:
		return frame.Done(c, path, "Server added, but we couldn't connect. See why below."+rest)
	}
	return frame.Done(c, paths.ServerFilters(slug, one.server.ID)+"?new=1", "Server added with "+ui.Plural(one.tools, "tool", "tools")+"."+rest)
}

// candidates parses the form of the second step.
func (a *Wizard) candidates(c *fiber.Ctx) ([]*draftServer, error) {
	n, err := strconv.Atoi(web.FormValue(c, "count"))
	if err != nil || n < 1 || n > declaration.MaxServers {
		return nil, fault.Invalid("Something was missing. Please start again.")
	}
	all := make([]*draftServer, 0, n)
	for i := range n {
		one, err := a.candidate(c, strconv.Itoa(i)+".")
		if err != nil {
			return nil, err
		}
		if len(one.draft.Refused) == 0 {
			one.draft.Skip = n > 1 && web.FormValue(c, strconv.Itoa(i)+".add") == ""
		}
		all = append(all, one)
	}
	return all, nil
}

// adviceFor returns advice for an error and the suggested authType.
func adviceFor(err error, authType string) (advice, suggested string) {
	if !fault.Is(err, fault.CodeUpstreamUnauthorized) {
		return "", authType
	}
	if authType != "none" {
		return "Token rejected. Check that the token is complete and hasn't expired.", authType
	}
	if offersOAuth(err) {
		return "Sign-in needed. OAuth is selected. You'll sign in at its provider after adding.", "oauth"
	}
	return "Credentials needed. Choose the method below.", authType
}

// offersOAuth reports whether a 401 response refers to protected resource metadata
// (RFC 9728, section 5.1).
func offersOAuth(err error) bool {
	var challenge *upstream.Challenge
	return errors.As(err, &challenge) && slices.ContainsFunc(challenge.WWWAuthenticate, func(s string) bool { return strings.Contains(s, "resource_metadata") })
}

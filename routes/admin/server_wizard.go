package admin

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/services/catalog"
	"mcpgateway/services/fault"
	"mcpgateway/services/projects"
	"mcpgateway/services/toolset"
	"mcpgateway/services/upstream"
	views "mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// choicesPerPage is how many servers of the catalog one page offers.
const choicesPerPage = 20

// CatalogReader reads the catalog; catalog.Catalog says how.
type CatalogReader interface {
	Entries(ctx context.Context, search catalog.Search) (*catalog.Found[*models.CatalogEntry], error)
	Entry(id string) (*models.CatalogEntry, error)
}

// ServerWizard serves the way to new servers: pick, connect, choose tools.
type ServerWizard struct {
	pages     *Pages
	directory ProjectDirectory
	reader    ServerReader
	store     ServerStore
	catalog   CatalogReader
	seal      Sealer
	need      NeedStepUp
}

// NewServerWizard returns the handlers. What pages must not show of a form on
// its way is sealed by seal; need says who has to prove who they are before
// servers are added.
func NewServerWizard(pages *Pages, directory ProjectDirectory, reader ServerReader, store ServerStore, catalog CatalogReader, seal Sealer, need NeedStepUp) *ServerWizard {
	return &ServerWizard{pages: pages, directory: directory, reader: reader, store: store, catalog: catalog, seal: seal, need: need}
}

// New serves GET …/servers/new: the catalog to pick from, or with ?entry= how
// that server is connected.
func (a *ServerWizard) New(c *fiber.Ctx) error {
	p, err := a.directory.Project(c.Params("projectSlug"))
	if err != nil {
		return err
	}
	if id := c.Query("entry"); id != "" {
		entry, err := a.catalog.Entry(id)
		if err != nil {
			return err
		}
		return a.connectPage(c, p, views.ServerConnectProps{Drafts: []views.ServerDraft{draftOfEntry(p, entry)}})
	}
	return a.pickPage(c, p, views.ServerNewProps{})
}

func (a *ServerWizard) pickPage(c *fiber.Ctx, p *toolset.Snapshot, props views.ServerNewProps) error {
	props.Frame = a.pages.Frame(c, title(p, "Add a server"), layout.SectionProjects)
	props.Project, props.Query = headOf(p, a.reader, layout.TabServers), strings.TrimSpace(c.Query("query"))
	cursor := c.Query("cursor")
	found, err := a.catalog.Entries(c.UserContext(), catalog.Search{Text: props.Query, Limit: choicesPerPage, Continue: cursor != "", Cursor: cursor})
	switch f := fault.From(err); {
	case err == nil:
		props.Total = found.Total
		base := serversPath(p.Project.Slug) + "/new?"
		if found.NextCursor != "" {
			props.NextURL = base + url.Values{"query": {props.Query}, "cursor": {found.NextCursor}}.Encode()
		}
		if cursor != "" {
			props.FirstURL = base + url.Values{"query": {props.Query}}.Encode()
		}
		for _, entry := range found.Rows {
			props.Choices = append(props.Choices, choiceOf(p, entry))
		}
	case f.Restart && cursor != "":
		return c.Redirect(serversPath(p.Project.Slug)+"/new?"+url.Values{"query": {props.Query}}.Encode(), fiber.StatusSeeOther)
	case f.Span != nil:
		props.QueryError = &ui.QueryError{Message: f.Message, Start: f.Span.Start, End: f.Span.End}
	case f.Kind == fault.KindInvalid:
		props.QueryError = &ui.QueryError{Message: f.Message}
	default:
		return err
	}
	return web.Render(c, views.ServerNew(props))
}

func choiceOf(p *toolset.Snapshot, e *models.CatalogEntry) views.ServerChoice {
	choice := views.ServerChoice{
		ID: e.ID, Title: e.ServerTitle, Publisher: e.PublisherTitle, Description: e.Description,
		Verified: e.Verified, Refused: notRemote(e), Auth: credentialWords(e.AuthType),
	}
	choice.Added = e.RemoteURL != "" && slices.ContainsFunc(p.Servers, func(s *toolset.Server) bool { return s.Config.URL == projects.MaskURL(e.RemoteURL) })
	return choice
}

// notRemote returns why a server of the catalog cannot be added to a project.
func notRemote(e *models.CatalogEntry) string {
	if e.RemoteURL == "" {
		return "Runs on your own machine only"
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
	return "Not known"
}

// Read serves POST …/servers/new: it reads what was pasted and asks how the
// servers in it are connected. Nothing is stored yet.
func (a *ServerWizard) Read(c *fiber.Ctx) error {
	p, err := a.directory.Project(c.Params("projectSlug"))
	if err != nil {
		return err
	}
	text := strings.TrimSpace(posted(c, "pasted"))
	found, err := projects.ParsePasted(text)
	if err != nil {
		fields, ok := Fields(c, err)
		if !ok {
			return err
		}
		props := views.ServerNewProps{PasteError: fields["pasted"]}
		if mayHoldSecrets(text) {
			props.PasteError += ". The text is not shown again, because it may hold secrets: mend it where it comes from, and paste it once more"
		} else {
			props.Pasted = text
		}
		return a.pickPage(c, p, props)
	}
	var props views.ServerConnectProps
	for _, s := range found {
		props.Drafts = append(props.Drafts, a.draftOfPasted(s))
	}
	return a.connectPage(c, p, props)
}

func (a *ServerWizard) connectPage(c *fiber.Ctx, p *toolset.Snapshot, props views.ServerConnectProps) error {
	props.Frame = a.pages.Frame(c, title(p, "Connect servers"), layout.SectionProjects)
	props.Project, props.Open = headOf(p, a.reader, layout.TabServers), p.Project.AuthMode == models.AuthNone
	props.ConfirmAt = a.need.confirmAt(c, serversPath(p.Project.Slug)+"/new")
	if entry := c.Query("entry"); entry != "" && props.ConfirmAt != "" {
		props.ConfirmAt = StepUpPath(serversPath(p.Project.Slug) + "/new?entry=" + url.QueryEscape(entry))
	}
	return web.Render(c, views.ServerConnect(props))
}

// Add serves POST …/servers: it connects to the servers of the form and adds
// those that answer. The others stay on the page with the reason.
func (a *ServerWizard) Add(c *fiber.Ctx) error {
	p, err := a.directory.Project(c.Params("projectSlug"))
	if err != nil {
		return err
	}
	candidates, err := a.candidates(c)
	if err != nil {
		return err
	}
	props := views.ServerConnectProps{Understood: posted(c, "understood") != ""}
	if p.Project.AuthMode == models.AuthNone && !props.Understood && slices.ContainsFunc(candidates, (*candidate).hasCredentials) {
		props.UnderstoodError = "confirm it, or leave the credentials out"
	} else {
		a.try(c.UserContext(), candidates, posted(c, "untested") != "")
		if err := a.add(c.UserContext(), p.Project.Slug, candidates); err != nil {
			return err
		}
	}
	added := 0
	for _, one := range candidates {
		if one.server.ID == "" {
			props.Drafts = append(props.Drafts, one.draft)
		} else {
			added++
		}
	}
	if added > 0 && !slices.ContainsFunc(candidates, (*candidate).failed) {
		return a.added(c, p.Project.Slug, candidates)
	}
	props.Error = leftWords(added, candidates, props)
	c.Status(fiber.StatusUnprocessableEntity)
	return a.connectPage(c, p, props)
}

// leftWords says what became of the form as a whole.
func leftWords(added int, candidates []*candidate, props views.ServerConnectProps) string {
	switch {
	case added > 0:
		return fmt.Sprintf("%s added. What is shown here was not", ui.Plural(added, "server was", "servers were"))
	case len(candidates) > 0 && !slices.ContainsFunc(candidates, (*candidate).failed) && props.UnderstoodError == "":
		return "choose at least one server"
	}
	return ""
}

// added leads to what comes next for servers that were added.
func (a *ServerWizard) added(c *fiber.Ctx, slug string, candidates []*candidate) error {
	var done []*candidate
	for _, one := range candidates {
		if one.server.ID != "" {
			done = append(done, one)
		}
	}
	if len(done) > 1 {
		return Done(c, serversPath(slug), ui.Plural(len(done), "server was", "servers were")+" added.")
	}
	one := done[0]
	path := serverPath(slug, one.server.ID)
	switch {
	case one.server.AuthType == models.UpstreamAuthOAuth:
		return Done(c, path, "The server is added. Connect it now: the provider asks you to agree.")
	case !one.read:
		return Done(c, path, "The server is added. Its tools have not been read yet.")
	}
	return Done(c, path+"/filters?new=1", "The server is added: "+ui.Plural(one.tools, "tool", "tools")+".")
}

// candidates reads the form of the second step.
func (a *ServerWizard) candidates(c *fiber.Ctx) ([]*candidate, error) {
	n, err := strconv.Atoi(posted(c, "count"))
	if err != nil || n < 1 || n > projects.MaxServers {
		return nil, fault.Invalid("the form is not complete: begin again")
	}
	all := make([]*candidate, 0, n)
	for i := range n {
		if one := a.candidate(c, strconv.Itoa(i)+"."); posted(c, strconv.Itoa(i)+".url") != "" || one.draft.Sealed != "" {
			one.draft.Skip = n > 1 && posted(c, strconv.Itoa(i)+".add") == ""
			all = append(all, one)
		}
	}
	return all, nil
}

// adviceFor says what may help against a failure.
func adviceFor(err error, authType string) (advice, suggested string) {
	if !fault.Is(err, fault.CodeUpstreamUnauthorized) {
		return "", authType
	}
	if authType != "none" {
		return "The server does not accept this token or key. Check that it is complete and still valid.", authType
	}
	if offersOAuth(err) {
		return "The server asks for a sign-in: OAuth is chosen below.", "oauth"
	}
	return "The server asks for credentials: choose which below.", authType
}

// offersOAuth reports whether a refusal names an authorization server (RFC
// 9728, section 5.1).
func offersOAuth(err error) bool {
	var challenge *upstream.Challenge
	return errors.As(err, &challenge) && slices.ContainsFunc(challenge.WWWAuthenticate, func(s string) bool { return strings.Contains(s, "resource_metadata") })
}

package connections

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/admin"
	"mcpgateway/routes/frame"
	"mcpgateway/services/access/reach"
	"mcpgateway/services/activity"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
	"mcpgateway/services/oauthclient"
	"mcpgateway/services/projects"
	"mcpgateway/services/toolset"
	views "mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// maxConnectionEvents is the maximum number of events on a connection's page.
const maxConnectionEvents = 15

// Counter counts the users with their own connection, by server ID. Implemented by
// connections.Store.
type Counter interface {
	Counts(ctx context.Context) (map[string]int, error)
}

// Pages serves the pages of OAuth connections.
type Pages struct {
	pages       *admin.ProjectPages
	connections *oauthclient.Connections
	people      Counter
	store       *projects.Store
	changes     *activity.Audit
	publicURL   *url.URL
	now         func() time.Time
}

// NewPages returns the handlers.
func NewPages(pages *admin.ProjectPages, connections *oauthclient.Connections, people Counter, store *projects.Store, changes *activity.Audit, publicURL *url.URL, now func() time.Time) *Pages {
	return &Pages{pages: pages, connections: connections, people: people, store: store, changes: changes, publicURL: publicURL, now: now}
}

// List serves GET /admin/connections?query=&state=.
func (a *Pages) List(c *fiber.Ctx) error {
	statuses, err := a.connections.Statuses(c.UserContext())
	if err != nil {
		return err
	}
	p := views.ConnectionsProps{
		Frame: a.pages.Frame(c, "Connections", layout.SectionConnections), Now: a.now(), Query: strings.TrimSpace(c.Query("query")), State: c.Query("state"),
	}
	fill(&p, a.rows(a.pages.Visible(c.UserContext()), statuses))
	if p.Personal, err = a.personal(c.UserContext()); err != nil {
		return err
	}
	return web.Render(c, views.Connections(p))
}

// fill adds the rows that match the query and the state.
func fill(p *views.ConnectionsProps, rows []views.ConnectionRow) {
	counts := map[string]int{}
	p.Total = len(rows)
	for _, row := range rows {
		if !admin.Mentions(row.Alias+" "+row.Project+" "+row.Slug, p.Query) {
			continue
		}
		counts[row.State.Kind]++
		if p.State == "" || p.State == row.State.Kind {
			p.Rows = append(p.Rows, row)
		}
	}
	p.Chips = admin.StateChips(paths.Connections, views.ConnectionStates(), p.Query, p.State, counts)
}

// personal returns the visible servers that everyone uses with their own account.
func (a *Pages) personal(ctx context.Context) ([]views.PersonalServer, error) {
	counts, err := a.people.Counts(ctx)
	if err != nil {
		return nil, err
	}
	var all []views.PersonalServer
	for _, project := range a.pages.Visible(ctx) {
		for _, server := range project.Servers {
			if config := server.Config; config.IsPersonal() {
				all = append(all, views.PersonalServer{
					Alias: ui.Clean(config.Alias), Project: ui.Clean(cmp.Or(project.Project.Name, project.Project.Slug)),
					URL: paths.Server(project.Project.Slug, config.ID) + "#people", People: counts[config.ID],
				})
			}
		}
	}
	slices.SortFunc(all, func(x, y views.PersonalServer) int {
		return cmp.Or(cmp.Compare(x.Project, y.Project), cmp.Compare(x.Alias, y.Alias))
	})
	return all, nil
}

// rows returns the connections of the projects' servers that use OAuth, worst
// state first.
func (a *Pages) rows(projects []*toolset.Snapshot, statuses map[string]oauthclient.Status) []views.ConnectionRow {
	var rows []views.ConnectionRow
	for _, project := range projects {
		for _, server := range project.Servers {
			if status, ok := statuses[server.Config.ID]; ok {
				rows = append(rows, connectionRow(project, server, status))
			}
		}
	}
	care := map[string]int{}
	for i, s := range views.ConnectionStates() {
		care[s.Kind] = i
	}
	slices.SortFunc(rows, func(x, y views.ConnectionRow) int {
		return cmp.Or(cmp.Compare(care[x.State.Kind], care[y.State.Kind]), cmp.Compare(x.Slug, y.Slug), cmp.Compare(x.Alias, y.Alias))
	})
	return rows
}

func connectionRow(p *toolset.Snapshot, server *toolset.Server, s oauthclient.Status) views.ConnectionRow {
	config := server.Config
	if s.State == oauthclient.NeedsReauth && !s.WasConnected() {
		s.State, s.Reason = oauthclient.NotConnected, "" // it was never connected, so "reconnect" does not apply
	}
	return views.ConnectionRow{
		ServerID: config.ID, Alias: config.Alias, URL: config.URL, Slug: p.Project.Slug, Project: ui.Clean(cmp.Or(p.Project.Name, p.Project.Slug)),
		Enabled: config.Enabled, State: views.ConnectionStateOf(string(s.State)), Reason: s.Reason,
		RefreshedAt: s.RefreshedAt, ExpiresAt: s.ExpiresAt, ConnectedAt: s.ConnectedAt, OwnClient: s.OwnClient,
	}
}

// Show serves GET /admin/connections/:id. A server without OAuth is redirected to
// its own page.
func (a *Pages) Show(c *fiber.Ctx) error {
	err := a.page(c, views.ConnectionProps{}, nil)
	if err == nil || fault.From(err).Kind != fault.KindConflict {
		return err
	}
	for _, project := range a.pages.Visible(c.UserContext()) {
		if server, notFound := admin.ServerOf(project, c.Params("id")); notFound == nil {
			frame.PutFlash(c, withoutOAuth(project.Project.Slug, server))
			return c.Redirect(paths.Server(project.Project.Slug, server.Config.ID), fiber.StatusSeeOther)
		}
	}
	return err
}

// withoutOAuth returns why a server has no connection.
func withoutOAuth(slug string, server *toolset.Server) layout.Flash {
	alias, config := ui.Clean(server.Config.Alias), server.Config
	if config.IsPersonal() {
		return layout.Flash{Tone: "warn", Text: "Everyone connects their own account to " + alias + ".", LinkLabel: "Connect mine", LinkURL: paths.MyConnection(config.ID)}
	}
	if config.AuthType == models.UpstreamAuthBearer && config.AuthBearer == "" {
		return layout.Flash{Tone: "warn", Text: alias + " needs a token.", LinkLabel: "Add token", LinkURL: paths.ServerEdit(slug, config.ID)}
	}
	return layout.Flash{Tone: "warn", Text: alias + " doesn't use OAuth.", LinkLabel: "Change it", LinkURL: paths.ServerEdit(slug, config.ID)}
}

// SaveClient serves POST /admin/connections/:id/client. It stores the client
// issued by the provider.
func (a *Pages) SaveClient(c *fiber.Ctx) error {
	p := views.ConnectionProps{ClientID: strings.TrimSpace(web.FormValue(c, "oauth.clientId")), Scopes: web.FormValue(c, "oauth.scopes")}
	status, err := a.connections.Status(c.UserContext(), c.Params("id"))
	if err != nil {
		return err
	}
	_, server, err := a.find(c.UserContext(), status)
	if err != nil {
		return err
	}
	stored := clientOf(server)
	err = frame.CheckUnchanged(c, stored, frame.NewEntry("Client ID", stored.ID, p.ClientID), frame.NewEntry("Scopes", stored.Scopes, strings.Join(strings.Fields(p.Scopes), " ")))
	if err == nil {
		_, err = a.store.UpdateServer(c.UserContext(), status.ServerID, nil, postedClient(c, p))
	}
	switch {
	case err != nil:
		return a.page(c, p, err)
	case p.ClientID == "":
		return frame.Done(c, paths.Connection(status.ServerID), "Client removed.")
	}
	frame.PutFlash(c, layout.Flash{Tone: "ok", Text: "Client saved.", LinkLabel: "Connect", LinkURL: paths.StartConnection(status.ServerID)})
	return c.Redirect(paths.Connection(status.ServerID), fiber.StatusSeeOther)
}

// postedClient returns the posted change of a server. An empty secret keeps the
// stored one unless the client is removed.
func postedClient(c *fiber.Ctx, p views.ConnectionProps) *declaration.Server {
	d := &declaration.Server{OAuthClientID: &p.ClientID, OAuthScopes: new(strings.Fields(p.Scopes))}
	if secret := strings.TrimSpace(web.FormValue(c, "oauth.clientSecret")); secret != "" || p.ClientID == "" {
		d.OAuthClientSecret = &secret
	}
	return d
}

// clientFields returns the errors of a client by form field. An error of a single
// scope belongs to the scopes field.
func clientFields(c *fiber.Ctx, failed error) (map[string]string, error) {
	fields, err := frame.Fields(c, failed)
	if fields == nil {
		return nil, err
	}
	named := map[string]string{}
	for name, why := range fields {
		name, _, _ = strings.Cut(name, "[")
		named[name] = why
	}
	return named, nil
}

// issuedClient is the client issued by the provider of a server, without its
// secret.
type issuedClient struct{ ID, Scopes string }

func clientOf(server *toolset.Server) issuedClient {
	return issuedClient{server.Config.OAuthClientID, strings.Join(server.Config.OAuthScopes, " ")}
}

// page renders a connection. failed is the error of a rejected save, or nil. After
// an error the form contains the entered values, else the stored ones.
func (a *Pages) page(c *fiber.Ctx, p views.ConnectionProps, failed error) (err error) {
	if p.Errors, err = clientFields(c, failed); err != nil {
		return err
	}
	status, err := a.connections.Status(c.UserContext(), c.Params("id"))
	if err != nil {
		return err
	}
	project, server, err := a.find(c.UserContext(), status)
	if err != nil {
		return err
	}
	if p.Events, err = a.events(c.UserContext(), status.ServerID); err != nil {
		return err
	}
	p.Frame, p.Now = a.pages.Frame(c, server.Config.Alias+" · Connections", layout.SectionConnections), a.now()
	mine := reach.Of(c.UserContext())
	p.Controls = mine.Administers(&project.Project)
	p.Crumbs = []layout.Crumb{{Label: "Connections", URL: paths.Connections}, {Label: ui.Clean(server.Config.Alias)}}
	p.Row, p.More = connectionRow(project, server, status), a.detail(project, status)
	p.More.ConnectedBy = mine.Text(p.More.ConnectedBy)
	fillClient(&p, server)
	return web.Render(c, views.Connection(p))
}

// fillClient sets the form to the stored client unless values were entered.
func fillClient(p *views.ConnectionProps, server *toolset.Server) {
	stored := clientOf(server)
	p.Seen, p.HasSecret = frame.Fingerprint(stored), server.Config.OAuthClientSecret != ""
	if p.Errors == nil {
		p.ClientID, p.Scopes = stored.ID, stored.Scopes
	}
}

// find returns the server of a status, with its project.
func (a *Pages) find(ctx context.Context, s oauthclient.Status) (*toolset.Snapshot, *toolset.Server, error) {
	for _, project := range a.pages.Visible(ctx) {
		if project.Project.ID == s.ProjectID {
			server, err := admin.ServerOf(project, s.ServerID)
			return project, server, err
		}
	}
	_, err := admin.ServerOf(&toolset.Snapshot{}, s.ServerID)
	return nil, nil, err
}

func (a *Pages) detail(p *toolset.Snapshot, s oauthclient.Status) views.ConnectionDetail {
	d := views.ConnectionDetail{
		Issuer: s.Issuer, Registration: string(s.Registration), Because: s.RegistrationReason, Granted: s.Scopes, Needed: s.ScopesNeeded,
		ConnectedBy: s.ConnectedBy, NextAttempt: s.NextAttemptAt, ErrorCode: s.ErrorCode, ErrorText: s.ErrorText, ErrorAt: s.ErrorAt,
	}
	if s.Issuer != "" && !s.OwnClient {
		d.RedirectURI = a.publicURL.JoinPath(oauthclient.CallbackPath, oauthclient.IssuerID(s.Issuer)).String()
	}
	d.Tools, _ = admin.CountTools(p, s.ServerID)
	return d
}

// events returns the latest audit events of a connection, newest first.
func (a *Pages) events(ctx context.Context, serverID string) ([]views.ConnectionEvent, error) {
	entries, _, err := a.changes.List(ctx, activity.Filter{Action: "connection", Object: serverID}, 0, maxConnectionEvents)
	if err != nil {
		return nil, err
	}
	events := make([]views.ConnectionEvent, 0, len(entries))
	for _, e := range entries {
		events = append(events, views.ConnectionEvent{
			At: e.At, Action: e.Action, Who: cmp.Or(reach.Of(ctx).AuditRow(e).ActorName, actorLabel(e.ActorKind)), Message: e.Detail["message"], Because: e.Detail["because"],
		})
	}
	return events, nil
}

// actorLabel returns the label of an actor without a name.
func actorLabel(kind string) string {
	if kind == string(activity.ActorSystem) {
		return "The gateway"
	}
	return kind
}

package servers

import (
	"cmp"
	"context"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/frame"
	"mcpgateway/services/access/reach"
	"mcpgateway/services/connections"
	"mcpgateway/services/declaration"
	"mcpgateway/services/oauthclient"
	"mcpgateway/services/toolset"
	shared "mcpgateway/views/admin"
	views "mcpgateway/views/admin/servers"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// People manages the connections of users to servers. Implemented by
// connections.Store.
type People interface {
	Of(ctx context.Context, serverID string) ([]connections.Theirs, error)
	Remove(ctx context.Context, serverID, userID string) (revoked bool, err error)
	RedirectURI(ctx context.Context, serverID string) (string, error)
}

// accountOf returns the stored values that the form of the account can change.
func accountOf(s *models.Server) any {
	return []any{s.IsPersonal(), s.PersonalHeaders, s.AuthType, s.AuthBearer != ""}
}

// fillAccount sets the form to the stored values unless it has errors.
func fillAccount(p *views.AccountProps, s *models.Server) {
	p.Seen = frame.Fingerprint(accountOf(s))
	if p.Errors == nil {
		p.Connection, p.PersonalHeaders = string(cmp.Or(s.Connection, models.ConnectionShared)), strings.Join(s.PersonalHeaders, " ")
	}
}

// SaveAccount serves POST …/servers/:id/account. Choosing everyone's own account
// removes the stored token.
func (a *Servers) SaveAccount(c *fiber.Ctx) error {
	p, server, err := a.pages.Server(c)
	if err != nil {
		return err
	}
	config := &server.Config
	entered := views.AccountProps{Connection: web.FormValue(c, "connection"), PersonalHeaders: strings.TrimSpace(web.FormValue(c, "personalHeaders"))}
	names := strings.FieldsFunc(entered.PersonalHeaders, func(r rune) bool { return r == ' ' || r == ',' || r == '\n' || r == '\r' || r == '\t' })
	d := &declaration.Server{Personal: declaration.Personal{Connection: new(models.ConnectionMode(entered.Connection)), Confirm: new(strings.TrimSpace(web.FormValue(c, "confirm")))}}
	if entered.Connection == string(models.ConnectionPersonal) {
		d.PersonalHeaders, d.AuthBearer = &names, new("")
	}
	err = frame.CheckUnchanged(c, accountOf(config), frame.NewEntry("Account", string(config.Connection), entered.Connection),
		frame.NewEntry("Personal headers", strings.Join(config.PersonalHeaders, " "), strings.Join(names, " ")))
	if err == nil {
		_, err = a.store.UpdateServer(c.UserContext(), config.ID, nil, d)
	}
	if err == nil {
		return frame.Done(c, paths.Server(p.Project.Slug, config.ID), savedAccount(entered.Connection))
	}
	fields, err := frame.Fields(c, err)
	if err != nil {
		return err
	}
	entered.Errors = map[string]string{}
	for name, why := range fields {
		name, _, _ = strings.Cut(name, "[")
		entered.Errors[name] = why
	}
	return a.editForm(c, p, server, views.EditProps{Account: entered})
}

func savedAccount(connection string) string {
	if connection == string(models.ConnectionPersonal) {
		return "Saved. Everyone now connects their own account under My connections."
	}
	return "Saved. All calls use one account."
}

// people returns the connections of users to a server, or nil for one with a
// shared account.
func (a *Servers) people(ctx context.Context, s *models.Server) (*views.People, error) {
	if !s.IsPersonal() {
		return nil, nil
	}
	all, err := a.persons.Of(ctx, s.ID)
	if err != nil {
		return nil, err
	}
	p := &views.People{Reader: s.InventoryUserID, SignsIn: s.AuthType == models.UpstreamAuthOAuth}
	mine := reach.Of(ctx)
	for _, one := range all {
		state := shared.ConnectionStateOf(string(one.Status.State))
		p.Rows = append(p.Rows, views.PersonRow{
			ID: one.UserID, Name: ui.Clean(mine.Call(one.UserID, one.Name, cmp.Or(one.Name, one.Label()))), Token: one.Status.Kind == models.KindToken, Tone: state.Tone, State: state.Word,
			Inventory: one.Status.Inventory && one.Status.State != oauthclient.NotConnected, ConnectedAt: one.Status.ConnectedAt, UsedAt: one.Status.UsedAt,
		})
	}
	if p.SignsIn {
		p.RedirectURI, err = a.persons.RedirectURI(ctx, s.ID)
	}
	return p, err
}

// RemovePerson serves POST …/servers/:id/connections/:personId/remove.
func (a *Servers) RemovePerson(c *fiber.Ctx) error {
	p, server, err := a.pages.Server(c)
	if err != nil {
		return err
	}
	revoked, err := a.persons.Remove(c.UserContext(), server.Config.ID, c.Params("personId"))
	if err != nil {
		return frame.Failed(c, peopleOf(p, server), err)
	}
	if !revoked {
		return frame.Done(c, peopleOf(p, server), "Connection removed. The provider didn't confirm that its token is revoked.")
	}
	return frame.Done(c, peopleOf(p, server), "Connection removed. Its token is revoked.")
}

// peopleOf returns the part of a server's page with the connections of users.
func peopleOf(p *toolset.Snapshot, server *toolset.Server) string {
	return paths.Server(p.Project.Slug, server.Config.ID) + "#people"
}

// SaveInventory serves POST …/servers/:id/inventory: whose connection reads the
// list of tools.
func (a *Servers) SaveInventory(c *fiber.Ctx) error {
	p, server, err := a.pages.Server(c)
	if err != nil {
		return err
	}
	if err := a.store.SetInventoryUser(c.UserContext(), server.Config.ID, web.FormValue(c, "person")); err != nil {
		return frame.Failed(c, peopleOf(p, server), err)
	}
	return frame.Done(c, peopleOf(p, server), "Saved.")
}

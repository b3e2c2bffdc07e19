// Package destinations serves the admin pages of the destinations of events.
package destinations

import (
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/frame"
	"mcpgateway/services/fault"
	"mcpgateway/services/outbox/delivery"
	"mcpgateway/services/outbox/destinations"
	"mcpgateway/services/secrets"
	views "mcpgateway/views/admin/destinations"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// maxLetters is the maximum number of undelivered events on a page.
const maxLetters = 50

// Options are the dependencies of Destinations.
type Options struct {
	Pages      *frame.Pages
	Store      *destinations.Store
	Deliveries *delivery.Deliveries
	Seal       *secrets.KeyRing // encrypts a new secret for the page that shows it
	Now        func() time.Time
}

// Destinations serves the pages.
type Destinations struct{ Options }

// New returns the handlers.
func New(o Options) *Destinations { return &Destinations{o} }

// List serves GET /admin/destinations.
func (d *Destinations) List(c *fiber.Ctx) error {
	rows, err := d.Store.All(c.UserContext())
	if err != nil {
		return err
	}
	p := views.ListProps{Frame: d.frame(c, "Destinations"), Now: d.Now()}
	for i := range rows {
		p.Rows = append(p.Rows, d.row(&rows[i]))
	}
	return web.Render(c, views.List(p))
}

func (d *Destinations) frame(c *fiber.Ctx, title string, below ...layout.Crumb) layout.Frame {
	f := d.Pages.Frame(c, title, layout.SectionSettings)
	f.Crumbs = append([]layout.Crumb{{Label: "Settings", URL: paths.Settings}}, below...)
	return f
}

func (d *Destinations) row(row *models.Destination) views.Row {
	return views.Row{
		ID: row.ID, Name: row.Name, Kind: string(row.Kind), Address: d.Store.ShownAddress(row), Filter: row.Filter, State: string(destinations.ConditionOf(row)),
		File: row.Kind == models.DestinationFile, LastAt: row.LastAt,
	}
}

// ShowNew serves GET /admin/destinations/new.
func (d *Destinations) ShowNew(c *fiber.Ctx) error {
	return d.form(c, views.NewProps{Form: views.Form{Kind: string(models.DestinationWebhook)}})
}

func (d *Destinations) form(c *fiber.Ctx, p views.NewProps) error {
	p.Frame = d.frame(c, "Add destination", layout.Crumb{Label: "Destinations", URL: paths.Destinations}, layout.Crumb{Label: "Add"})
	return web.Render(c, views.New(p))
}

func formOf(c *fiber.Ctx) views.Form {
	return views.Form{Name: strings.TrimSpace(web.FormValue(c, "name")), Kind: web.FormValue(c, "kind"), Filter: strings.TrimSpace(web.FormValue(c, "filter"))}
}

// Create serves POST /admin/destinations/new. The destination's page shows the
// secret of a webhook once.
func (d *Destinations) Create(c *fiber.Ctx) error {
	f := formOf(c)
	row, secret, err := d.Store.Create(c.UserContext(), destinations.New{
		Name: f.Name, Kind: models.DestinationKind(f.Kind), Address: trimmed(c, "address"), Secret: trimmed(c, "secret"), Filter: f.Filter,
	})
	if err != nil {
		p := views.NewProps{Form: f}
		if p.Errors, err = fields(c, err); err != nil {
			return err
		}
		return d.form(c, p)
	}
	return d.done(c, row.ID, secret, "Destination added.")
}

// done redirects to a destination's page, which shows the secret once.
func (d *Destinations) done(c *fiber.Ctx, id string, secret secrets.Value, message string) error {
	if secret.IsZero() {
		return frame.Done(c, paths.Destination(id), message)
	}
	if err := frame.PutOnce(c, d.Seal, d.Now(), paths.Destination(id), secret); err != nil {
		return err
	}
	return c.Redirect(paths.Destination(id), fiber.StatusSeeOther)
}

func trimmed(c *fiber.Ctx, name string) secrets.Value {
	return secrets.NewValue(strings.TrimSpace(frame.FormSecret(c, name).Reveal()))
}

// fields returns the problems of a form by field, or another error. A conflict is
// about the name, and an invalid query about the filter.
func fields(c *fiber.Ctx, err error) (map[string]string, error) {
	all, failed := frame.Fields(c, err)
	if text, ok := all[""]; ok {
		delete(all, "")
		if fault.From(err).Kind == fault.KindConflict {
			all["name"] = text
		} else {
			all["filter"] = text
		}
	}
	return all, failed
}

// Show serves GET /admin/destinations/:id.
func (d *Destinations) Show(c *fiber.Ctx) error {
	return d.page(c, views.PageProps{Secret: frame.Once(c, d.Seal, d.Now())}, true)
}

// page renders a destination. stored fills the form with what is stored.
func (d *Destinations) page(c *fiber.Ctx, p views.PageProps, stored bool) error {
	row, err := d.Store.Get(c.UserContext(), c.Params("id"))
	if err != nil {
		return err
	}
	state, err := d.Store.State(c.UserContext(), &row)
	if err != nil {
		return err
	}
	letters, err := d.Store.DeadLetters(c.UserContext(), row.ID, maxLetters)
	if err != nil {
		return err
	}
	p.Frame = d.frame(c, ui.Clean(row.Name), layout.Crumb{Label: "Destinations", URL: paths.Destinations}, layout.Crumb{Label: ui.Clean(row.Name)})
	p.Now, p.Row, p.FormerUntil, p.Delivered, p.FailingSince, p.NextAt = d.Now(), d.row(&row), row.FormerUntil, row.Delivered, row.FailingSince, row.NextAt
	p.LastStatus, p.LastReply, p.Dead, p.Waiting = row.LastStatus, row.LastReply, state.Dead, strconv.Itoa(state.Waiting)
	if state.WaitingMore {
		p.Waiting += " or more"
	}
	if stored {
		p.Form = views.Form{Name: row.Name, Kind: string(row.Kind), Filter: row.Filter}
	}
	for _, l := range letters {
		p.Letters = append(p.Letters, views.Letter{ID: l.ID, Kind: l.Kind, Project: l.Project, Reason: l.Reason, At: l.At, Again: l.AgainAt != nil})
	}
	return web.Render(c, views.Page(p))
}

// Save serves POST /admin/destinations/:id. Empty secrets stay.
func (d *Destinations) Save(c *fiber.Ctx) error {
	f := formOf(c)
	change := destinations.Change{Name: &f.Name, Filter: &f.Filter}
	if address := trimmed(c, "address"); !address.IsZero() {
		change.Address = &address
	}
	if secret := trimmed(c, "secret"); !secret.IsZero() {
		change.Secret = &secret
	}
	if _, err := d.Store.Update(c.UserContext(), c.Params("id"), change); err != nil {
		p := views.PageProps{Form: f}
		if p.Errors, err = fields(c, err); err != nil {
			return err
		}
		return d.page(c, p, false)
	}
	return frame.Done(c, paths.Destination(c.Params("id")), "Saved.")
}

// Activate serves POST /admin/destinations/:id/active.
func (d *Destinations) Activate(c *fiber.Ctx) error {
	on := web.FormValue(c, "active") == "true"
	if _, err := d.Store.Update(c.UserContext(), c.Params("id"), destinations.Change{Active: &on}); err != nil {
		return frame.Failed(c, paths.Destination(c.Params("id")), err)
	}
	message := "Turned off."
	if on {
		message = "Turned on. It gets the events from now on."
	}
	return frame.Done(c, paths.Destination(c.Params("id")), message)
}

// Test serves POST /admin/destinations/:id/test and shows the response.
func (d *Destinations) Test(c *fiber.Ctx) error {
	row, err := d.Store.Get(c.UserContext(), c.Params("id"))
	if err != nil {
		return err
	}
	reply := d.Deliveries.Test(c.UserContext(), &row)
	test := &views.Test{OK: reply.Err == nil, Status: reply.Status, Text: reply.Text, Took: ui.Took(reply.Took)}
	return d.page(c, views.PageProps{Test: test}, true)
}

// Rotate serves POST /admin/destinations/:id/rotate. The page shows the new secret
// once.
func (d *Destinations) Rotate(c *fiber.Ctx) error {
	row, secret, err := d.Store.Rotate(c.UserContext(), c.Params("id"), secrets.Value{})
	if err != nil {
		return frame.Failed(c, paths.Destination(c.Params("id")), err)
	}
	return d.done(c, row.ID, secret, "Secret rotated.")
}

// Retry serves POST /admin/destinations/:id/retry: the field letter is the ID of an
// undelivered event, all, or none to make only the next attempt now.
func (d *Destinations) Retry(c *fiber.Ctx) error {
	letter, to := web.FormValue(c, "letter"), paths.Destination(c.Params("id"))
	if letter == "none" {
		if err := d.Store.RetryNow(c.UserContext(), c.Params("id")); err != nil {
			return frame.Failed(c, to, err)
		}
		return frame.Done(c, to, "The next attempt is made now.")
	}
	if letter == "all" {
		letter = ""
	}
	queued, err := d.Store.Retry(c.UserContext(), c.Params("id"), letter)
	if err != nil {
		return frame.Failed(c, to, err)
	}
	return frame.Done(c, to, "Sending "+ui.Plural(int(queued), "event", "events")+" again.")
}

// Delete serves POST /admin/destinations/:id/delete.
func (d *Destinations) Delete(c *fiber.Ctx) error {
	if err := d.Store.Delete(c.UserContext(), c.Params("id")); err != nil {
		return frame.Failed(c, paths.Destination(c.Params("id")), err)
	}
	return frame.Done(c, paths.Destinations, "Destination deleted.")
}

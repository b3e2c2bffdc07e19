package signin

import (
	"net/url"
	"strings"

	"mcpgateway/web/guard"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/routes/frame"
	"mcpgateway/services/access"
	"mcpgateway/services/fault"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/web"
)

// resumePath stands for a kept form where only a path to come back to fits. No
// route has it.
const resumePath = "/login/resume"

// Resume continues where a user was before they signed in or confirmed who they
// are.
type Resume struct {
	guards *guard.Guards
	forms  *access.KeptForms
}

// NewResume returns it.
func NewResume(guards *guard.Guards, forms *access.KeptForms) *Resume {
	return &Resume{guards: guards, forms: forms}
}

// origin is the page where a user was, with the token of their form, if any.
type origin struct{ next, form string }

// queriedOrigin returns the origin in the address of a request.
func queriedOrigin(c *fiber.Ctx) origin {
	return origin{guard.LocalPath(c.Query("next"), paths.Home), c.Query("form")}
}

// postedOrigin returns the origin in a posted form.
func postedOrigin(c *fiber.Ctx) origin {
	return origin{guard.LocalPath(web.Posted(c, "next"), paths.Home), web.Posted(c, "form")}
}

// at returns a path that leads on to the origin.
func (o origin) at(path string) string {
	if o.form == "" {
		return withNext(path, o.next)
	}
	return withNext(path, o.next) + "&form=" + url.QueryEscape(o.form)
}

// path returns the origin as one path, which originOf reads again.
func (o origin) path() string {
	if o.form == "" {
		return o.next
	}
	return o.at(resumePath)
}

// originOf returns the origin of a path.
func originOf(path string) origin {
	if rest, ok := strings.CutPrefix(path, resumePath+"?"); ok {
		if q, err := url.ParseQuery(rest); err == nil {
			return origin{guard.LocalPath(q.Get("next"), paths.Home), q.Get("form")}
		}
	}
	return origin{next: guard.LocalPath(path, paths.Home)}
}

// Continue responds to a request with which a user signed in or confirmed who
// they are: their form is carried out, or they come back to the page. A form is only
// carried out for the user who posted it.
func (r *Resume) Continue(c *fiber.Ctx, in access.SignedIn, from origin) error {
	setSignedIn(c, r.guards, in)
	if from.form == "" {
		return c.Redirect(from.next, fiber.StatusSeeOther)
	}
	form, err := r.forms.Take(c.UserContext(), from.form, in.Session.Person.ID, in.Session.ID)
	if fault.Is(err, fault.CodeNotFound) {
		frame.PutFlash(c, layout.Flash{Tone: "warn", Text: "Your form wasn't sent. Forms are stored for 10 minutes, for the person who filled them in. Please enter it again."})
		return c.Redirect(from.next, fiber.StatusSeeOther)
	}
	if err != nil {
		return err
	}
	return r.guards.Replay(c, guard.Form(form), in.Cookie.Reveal(), in.Session.CSRF)
}

// Undo serves POST /admin/undo: it carries out the form that takes the last
// action back.
func (r *Resume) Undo(c *fiber.Ctx) error {
	p := guard.PersonOf(c)
	if p == nil {
		return fault.Unauthorized()
	}
	form, err := r.forms.Take(c.UserContext(), web.Posted(c, "form"), p.ID, p.SessionID)
	if fault.Is(err, fault.CodeNotFound) {
		return frame.Failed(c, paths.Home, fault.Invalid("This can no longer be undone."))
	}
	if err != nil {
		return err
	}
	return r.guards.Replay(c, guard.Form(form), r.guards.SessionCookie(c), p.CSRF)
}

// act returns what the form of an origin is about to do, in words.
func (r *Resume) act(c *fiber.Ctx, from origin) string {
	p := guard.PersonOf(c)
	if p == nil || from.form == "" {
		return ""
	}
	form, err := r.forms.Peek(c.UserContext(), from.form, p.ID, p.SessionID)
	if err != nil {
		return ""
	}
	path, _, _ := strings.Cut(form.URL, "?")
	return actOf(path)
}

// actOf returns what a form that is posted to path does, as "create a key".
// Forms that change no secrets have no words.
func actOf(path string) string {
	last := path[strings.LastIndex(path, "/")+1:]
	acts := map[string]string{
		"keys": "create a key", "rotate": "rotate a key", "revoke": "revoke a key", "people": "add a person", "password": "set a password",
		"disable": "block a person", "credentials": "change stored credentials", "client": "change an OAuth client",
		"servers": "add a server", "edit": "send stored credentials to a new address", "apply": "import a file",
	}
	people := strings.HasPrefix(path, paths.People+"/")
	switch {
	case people && last == "enable":
		return "unblock a person"
	case people && last == "delete":
		return "delete a person"
	case people && acts[last] == "":
		return "change a person"
	}
	return acts[last]
}

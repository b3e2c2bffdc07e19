package signin

import (
	"net/url"
	"strings"

	"mcpgateway/web/guard"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/routes/frame"
	"mcpgateway/services/access"
	"mcpgateway/services/access/storedforms"
	"mcpgateway/services/fault"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// resumePath encodes a stored form where only a return path is possible. It is not
// a route.
const resumePath = "/login/resume"

// Resume returns users to the page or the stored form that they left to sign in or
// to confirm their identity.
type Resume struct {
	guards *guard.Guards
	forms  *storedforms.Store
}

// NewResume returns a Resume.
func NewResume(guards *guard.Guards, forms *storedforms.Store) *Resume {
	return &Resume{guards: guards, forms: forms}
}

// origin is the page to return to, with the token of a stored form or "".
type origin struct {
	next, form string
	large      bool // the form was too large to be stored
}

// queriedOrigin returns the origin in the query of a request.
func queriedOrigin(c *fiber.Ctx) origin {
	return origin{guard.LocalPath(c.Query("next"), paths.Home), c.Query("form"), c.Query("large") != ""}
}

// postedOrigin returns the origin in a posted form.
func postedOrigin(c *fiber.Ctx) origin {
	return origin{guard.LocalPath(web.FormValue(c, "next"), paths.Home), web.FormValue(c, "form"), web.FormValue(c, "large") != ""}
}

// at returns path with the origin as parameters.
func (o origin) at(path string) string {
	path = paths.WithNext(path, o.next)
	if o.form != "" {
		path += "&form=" + url.QueryEscape(o.form)
	}
	if o.large {
		path += "&large=1"
	}
	return path
}

// path encodes the origin as one path for originOf.
func (o origin) path() string {
	if o.form == "" && !o.large {
		return o.next
	}
	return o.at(resumePath)
}

// originOf decodes a path from origin.path.
func originOf(path string) origin {
	if rest, ok := strings.CutPrefix(path, resumePath+"?"); ok {
		if q, err := url.ParseQuery(rest); err == nil {
			return origin{guard.LocalPath(q.Get("next"), paths.Home), q.Get("form"), q.Get("large") != ""}
		}
	}
	return origin{next: guard.LocalPath(path, paths.Home)}
}

// Continue responds to a successful sign-in or confirmation. It submits the stored
// form, redirects to the page that the form fills again, or to the page. A form is
// used only for the user who posted it.
func (r *Resume) Continue(c *fiber.Ctx, in access.SignedIn, from origin) error {
	setSignedIn(c, r.guards, in)
	if from.next == paths.Home {
		from.next = homeOf(in.Session.Person.EffectiveRole)
	}
	if from.large {
		frame.PutFlash(c, layout.Flash{Tone: "warn", Text: "Your form was too large to keep and wasn't sent. Please enter it again."})
	}
	if from.form == "" {
		return c.Redirect(from.next, fiber.StatusSeeOther)
	}
	user, session := in.Session.Person.ID, in.Session.ID
	form, err := r.forms.Peek(c.UserContext(), from.form, user, session)
	if err == nil && form.Draft {
		return c.Redirect(withDraft(from.next, from.form), fiber.StatusSeeOther)
	}
	if err == nil {
		form, err = r.forms.Take(c.UserContext(), from.form, user, session)
	}
	if fault.Is(err, fault.CodeNotFound) {
		frame.PutFlash(c, layout.Flash{Tone: "warn", Text: "Your form wasn't sent. Forms are stored for 10 minutes, for the user who filled them in. Please enter it again."})
		return c.Redirect(from.next, fiber.StatusSeeOther)
	}
	if err != nil {
		return err
	}
	return r.guards.Replay(c, guard.Form(form), in.Cookie.Reveal(), in.Session.CSRF)
}

// Undo serves POST /admin/undo. It submits the stored form that undoes the last
// action.
func (r *Resume) Undo(c *fiber.Ctx) error {
	p := guard.UserOf(c)
	if p == nil {
		return fault.Unauthorized()
	}
	form, err := r.forms.Take(c.UserContext(), web.FormValue(c, "form"), p.ID, p.SessionID)
	if fault.Is(err, fault.CodeNotFound) {
		return frame.Failed(c, paths.Home, fault.Invalid("This can no longer be undone."))
	}
	if err != nil {
		return err
	}
	return r.guards.Replay(c, guard.Form(form), r.guards.SessionCookie(c), p.CSRF)
}

// act describes the stored form of an origin. It is zero without one.
func (r *Resume) act(c *fiber.Ctx, from origin) ui.Act {
	p := guard.UserOf(c)
	if p == nil || from.form == "" {
		return ui.Act{}
	}
	form, err := r.forms.Peek(c.UserContext(), from.form, p.ID, p.SessionID)
	if err != nil {
		return ui.Act{}
	}
	return storedAct(form)
}

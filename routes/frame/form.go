package frame

import (
	"maps"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
	"mcpgateway/views/layout"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// PostedSecret returns a field of the form that nobody else may read.
func PostedSecret(c *fiber.Ctx, name string) secrets.Value {
	return secrets.NewValue(web.Posted(c, name))
}

// PostedAll returns every value of a field of the posted form.
func PostedAll(c *fiber.Ctx, name string) []string {
	var all []string
	for _, value := range c.Request().PostArgs().PeekMulti(name) {
		all = append(all, string(value))
	}
	return all
}

// PostedFields returns a function that returns every value of a field of the
// posted form.
func PostedFields(c *fiber.Ctx) func(name string) []string {
	return func(name string) []string { return PostedAll(c, name) }
}

// QueryError returns what is wrong with a query, for the search box.
func QueryError(err error) *ui.QueryError {
	f := fault.From(err)
	problem := &ui.QueryError{Message: f.Message}
	if f.Span != nil {
		problem.Start, problem.End = f.Span.Start, f.Span.End
	}
	return problem
}

// Done answers a form that was carried out: the browser goes to the page that
// shows the result, with a message.
func Done(c *fiber.Ctx, to, message string) error {
	PutFlash(c, layout.Flash{Tone: "ok", Text: message})
	return c.Redirect(to, fiber.StatusSeeOther)
}

// Failed answers a form of one button that could not be carried out for a
// reason that the person can do something about: the page it came from says
// why. It returns other errors as they are.
func Failed(c *fiber.Ctx, to string, err error) error {
	switch f := fault.From(err); f.Kind {
	case fault.KindConflict, fault.KindValidation, fault.KindInvalid, fault.KindUpstream, fault.KindUnavailable, fault.KindDisabled, fault.KindRateLimited:
		PutFlash(c, layout.Flash{Tone: "bad", Text: f.AdminMessage()})
		return c.Redirect(to, fiber.StatusSeeOther)
	default:
		return err
	}
}

// Fields returns what is wrong with a form, by the names of its fields, and
// sets the status 422 with which the form is shown again; nil for no error. It
// returns an error that is not about the form as it is. A message about the form
// as a whole stands under "".
func Fields(c *fiber.Ctx, err error) (map[string]string, error) {
	if err == nil {
		return nil, nil
	}
	f := fault.From(err)
	switch f.Kind {
	case fault.KindValidation, fault.KindConflict, fault.KindInvalid, fault.KindDisabled:
	default:
		return nil, err
	}
	c.Status(fiber.StatusUnprocessableEntity)
	if len(f.Fields) == 0 {
		return map[string]string{"": f.AdminMessage()}, nil
	}
	return maps.Clone(f.Fields), nil
}

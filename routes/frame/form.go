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

// FormSecret returns a secret field of the posted form.
func FormSecret(c *fiber.Ctx, name string) secrets.Value {
	return secrets.NewValue(web.FormValue(c, name))
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

// QueryError returns the description of an invalid query for the search box.
func QueryError(err error) *ui.QueryError {
	f := fault.From(err)
	problem := &ui.QueryError{Message: f.Message}
	if f.Span != nil {
		problem.Start, problem.End = f.Span.Start, f.Span.End
	}
	return problem
}

// Done responds to a successful form: it redirects to the page with the result
// and shows a message there.
func Done(c *fiber.Ctx, to, message string) error {
	PutFlash(c, layout.Flash{Tone: "ok", Text: message})
	return c.Redirect(to, fiber.StatusSeeOther)
}

// Failed responds to a failed form of one button if the user can fix the cause:
// it redirects to the page of the form, which shows the reason. It returns
// other errors unchanged.
func Failed(c *fiber.Ctx, to string, err error) error {
	switch f := fault.From(err); f.Kind {
	case fault.KindConflict, fault.KindValidation, fault.KindInvalid, fault.KindUpstream, fault.KindUnavailable, fault.KindDisabled, fault.KindRateLimited:
		PutFlash(c, layout.Flash{Tone: "bad", Text: f.AdminMessage()})
		return c.Redirect(to, fiber.StatusSeeOther)
	default:
		return err
	}
}

// Fields returns the problems of a form by field name and sets status 422, or
// nil without an error. A problem of the form as a whole has the key "". Errors
// that are not about the form are returned unchanged.
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

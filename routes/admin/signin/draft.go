package signin

import (
	"net/url"
	"strings"

	"github.com/a-h/templ"
	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/access/storedforms"
	"mcpgateway/services/fault"
	"mcpgateway/views/admin"
	"mcpgateway/web/compress"
	"mcpgateway/web/guard"
	"mcpgateway/web/refill"
)

// draftQuery is the query parameter with the token of a stored form that fills the
// form of the page.
const draftQuery = "draft"

// withDraft returns the path of a page whose form is filled again.
func withDraft(next, token string) string {
	path, fragment, _ := strings.Cut(next, "#")
	separator := "?"
	if strings.Contains(path, "?") {
		separator = "&"
	}
	path += separator + draftQuery + "=" + url.QueryEscape(token)
	if fragment != "" {
		path += "#" + fragment
	}
	return path
}

// Fill follows the guards of pages. On a page with ?draft=, it fills the form with
// the values of the stored form, which stays stored until it expires. Nothing is
// sent before the user does so.
func (r *Resume) Fill(c *fiber.Ctx) error {
	err := c.Next()
	p, token := guard.UserOf(c), c.Query(draftQuery)
	if err != nil || p == nil || token == "" || c.Response().StatusCode() != fiber.StatusOK ||
		!strings.HasPrefix(string(c.Response().Header.ContentType()), fiber.MIMETextHTML) {
		return err
	}
	form, err := r.forms.Peek(c.UserContext(), token, p.ID, p.SessionID)
	if fault.Is(err, fault.CodeNotFound) || err == nil && !form.Draft {
		return nil // an old link; the page is complete without it
	}
	if err != nil {
		return err
	}
	return fillPage(c, form, guard.MaskToken(p.CSRF))
}

// fillPage fills the form of the rendered page, or adds one that sends the values
// if the page has no such form.
func fillPage(c *fiber.Ctx, form storedforms.Form, csrf string) error {
	values, err := url.ParseQuery(string(form.Body))
	if err != nil {
		return nil //nolint:nilerr // not a form
	}
	values.Del(guard.CSRFField)
	page, err := refill.Parse(c.Response().Body())
	if err != nil {
		return err
	}
	path, _, _ := strings.Cut(form.URL, "?")
	notice := admin.DraftProps{CSRF: csrf, Files: form.Files}
	if !page.Fill(path, values) && !form.Files {
		notice.Action, notice.Values = form.URL, values
	}
	fragment, err := templ.ToGoHTML(c.UserContext(), admin.DraftNotice(notice))
	if err != nil {
		return err
	}
	if err := page.Insert(string(fragment)); err != nil {
		return err
	}
	body, err := page.Render()
	if err != nil {
		return err
	}
	compress.Never(c) // the page contains what the user entered
	c.Response().SetBody(body)
	return nil
}

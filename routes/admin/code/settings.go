package code

import (
	"context"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/routes/frame"
	"mcpgateway/services/access/reach"
	"mcpgateway/services/codemode"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
	"mcpgateway/services/toolset"
	"mcpgateway/services/typescript"
	views "mcpgateway/views/admin/code"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// Limits of the preview of declarations.
const (
	maxPreview      = 24 << 10 // bytes of declarations
	maxPreviewNotes = 20       // number of notes
	maxNotedTools   = 1000     // tools whose schemas are checked for notes
	maxFilter       = 200      // bytes of the filter
	maxNamespaces   = 60       // number of namespaces
)

// Settings serves GET …/code-mode/settings. ?filter= filters the
// declarations.
func (a *Pages) Settings(c *fiber.Ctx) error {
	p, err := a.Pages.Project(c)
	if err != nil {
		return err
	}
	return a.settingsPage(c, p, views.SettingsProps{Form: settingsOf(p)}, nil)
}

// settingsOf returns the stored settings.
func settingsOf(p *toolset.Snapshot) views.Settings {
	return views.Settings{
		Enabled: p.Project.CodeModeEnabled, Timeout: ui.Seconds(p.Project.CodeModeTimeoutMS), AllowFetch: p.Project.CodeModeAllowFetch,
	}
}

// settingsPage renders the settings. failed is the error of a rejected save, or nil.
func (a *Pages) settingsPage(c *fiber.Ctx, p *toolset.Snapshot, props views.SettingsProps, failed error) (err error) {
	if props.Errors, err = frame.Fields(c, failed); err != nil {
		return err
	}
	preview, err := a.preview(c.UserContext(), p, filterOf(c))
	if err != nil {
		return err
	}
	props.Frame, props.Slug, props.Stored, props.Preview = a.frame(c, p, "Settings"), p.Project.Slug, settingsOf(p), preview
	props.Seen = frame.Fingerprint(props.Stored)
	return web.Render(c, views.SettingsPage(props))
}

// filterOf returns the ?filter= parameter.
func filterOf(c *fiber.Ctx) string { return clipFilter(c.Query("filter")) }

// preview returns the declarations of a project's tools, as models see them.
func (a *Pages) preview(ctx context.Context, p *toolset.Snapshot, filter string) (views.Preview, error) {
	declared, err := a.Declarations.Filtered(ctx, p, filter)
	if err != nil {
		return views.Preview{}, err
	}
	preview := views.Preview{
		Filter: filter, Bytes: len(declared.Text), Tokens: typescript.SizeInTokens(declared.Text), Tools: declared.Tools, All: len(toolset.ForModels(p.Tools)),
	}
	preview.Text, preview.Cut = beginningOfLines(declared.Text, maxPreview)
	preview.Text = ui.Clean(preview.Text)
	notes := a.notes(p, declared, filter, &preview)
	preview.Notes = notes[:min(len(notes), maxPreviewNotes)]
	preview.MoreNotes = len(notes) - len(preview.Notes)
	preview.Namespaces = namespaces(p)
	return preview, nil
}

// notes returns the parts of the schemas that types and checks do not cover. It
// also sets preview.ListTokens, the size of the same tools as a plain list.
func (a *Pages) notes(p *toolset.Snapshot, declared *typescript.Declared, filter string, preview *views.Preview) []string {
	var notes []string
	for _, w := range declared.Warnings {
		notes = append(notes, w.Message)
	}
	looked := 0
	for _, tool := range toolset.ForModels(p.Tools) {
		if !codemode.Matches(tool, filter) {
			continue
		}
		preview.ListTokens += typescript.SizeInTokens(string(tool.Definition))
		if looked++; looked > maxNotedTools {
			continue
		}
		if why := a.Unchecked(tool.Definition); why != "" {
			notes = append(notes, "arguments of "+tool.FullName+" aren't checked: "+why)
		}
	}
	return notes
}

// beginningOfLines returns the complete lines within the first limit bytes of
// text, and whether text was truncated.
func beginningOfLines(text string, limit int) (string, bool) {
	if len(text) <= limit {
		return text, false
	}
	text = text[:limit]
	if end := strings.LastIndexByte(text, '\n'); end > 0 {
		text = text[:end]
	}
	return strings.ToValidUTF8(text, ""), true
}

// Download serves GET …/code-mode/declarations: the full text of the preview.
func (a *Pages) Download(c *fiber.Ctx) error {
	p, err := a.Pages.Project(c)
	if err != nil {
		return err
	}
	declared, err := a.Declarations.Filtered(c.UserContext(), p, filterOf(c))
	if err != nil {
		return err
	}
	done := false
	web.Download(c, fiber.MIMETextPlainCharsetUTF8, p.Project.Slug+".d.ts", func() ([]byte, error) {
		if done {
			return nil, io.EOF
		}
		done = true
		return []byte(declared.Text), nil
	})
	return nil
}

// Save serves POST …/code-mode/settings.
func (a *Pages) Save(c *fiber.Ctx) error {
	p, err := a.Pages.Project(c)
	if err != nil {
		return err
	}
	was, form := settingsOf(p), views.Settings{Enabled: web.FormValue(c, "enabled") != "", Timeout: strings.TrimSpace(web.FormValue(c, "timeout")), AllowFetch: web.FormValue(c, "allowFetch") != ""}
	owner := reach.Of(c.UserContext()).AdministersAll()
	if !owner && !form.AllowFetch {
		form.AllowFetch = was.AllowFetch // left out of the form
	}
	ms, err := milliseconds(form.Timeout)
	if err == nil {
		err = frame.CheckUnchanged(c, was, frame.NewEntry("Code Mode", views.OnOff(was.Enabled), views.OnOff(form.Enabled)), frame.NewEntry("Timeout", was.Timeout, form.Timeout),
			frame.NewEntry("Allow fetch", views.OnOff(was.AllowFetch), views.OnOff(form.AllowFetch)))
	}
	if err == nil {
		d := &declaration.Project{CodeModeEnabled: &form.Enabled, CodeModeTimeoutMS: &ms}
		if owner || web.FormValue(c, "allowFetch") != "" {
			d.CodeModeFetch = &form.AllowFetch
		}
		_, err = a.Store.UpdateProject(c.UserContext(), p.Project.Slug, d)
	}
	if err != nil {
		return a.settingsPage(c, p, views.SettingsProps{Form: form}, err)
	}
	next := paths.CodeSettings(p.Project.Slug)
	if web.FormValue(c, "next") == "workbench" {
		next = paths.CodeMode(p.Project.Slug)
	}
	return frame.Done(c, next, savedWords(p.Project.CodeModeEnabled, form.Enabled))
}

// milliseconds parses a timeout in seconds.
func milliseconds(typed string) (int64, error) {
	n, err := strconv.ParseFloat(typed, 64)
	ms := math.Round(n * 1000)
	if err != nil || !(ms >= float64(codemode.MinTimeout.Milliseconds()) && ms <= float64(codemode.MaxTimeout.Milliseconds())) {
		return 0, fault.Validation(map[string]string{"timeout": "enter a number of seconds from 1 to 300"})
	}
	return int64(ms), nil
}

func savedWords(was, is bool) string {
	switch {
	case is && !was:
		return "Code Mode turned on. Clients see it at their next tools/list."
	case was && !is:
		return "Code Mode turned off."
	default:
		return "Settings saved."
	}
}

// Package playground serves the page of a tool. It builds a form from the tool's
// schema, calls the tool with the entered arguments, and shows the result.
package playground

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"time"

	"mcpgateway/web/conn"
	"mcpgateway/web/guard"

	"github.com/a-h/templ"
	"github.com/gofiber/fiber/v2"

	"mcpgateway/routes/admin"
	"mcpgateway/routes/frame"
	"mcpgateway/services/access"
	"mcpgateway/services/activity/traffic"
	"mcpgateway/services/fault"
	"mcpgateway/services/gateway"
	"mcpgateway/services/projects"
	"mcpgateway/services/projects/toolstate"
	"mcpgateway/services/query"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset"
	views "mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// Limits of arguments entered as JSON.
const (
	maxTypedJSON = 256 << 10 // bytes
	maxTypedDeep = 64        // levels
)

// Usage returns the use of tools. Implemented by traffic.Store.
type Usage interface {
	ToolUse(ctx context.Context, projectID string) (map[string]traffic.Use, error)
}

// Playground serves the page of a tool, with a form that calls the tool.
type Playground struct {
	pages   *admin.ProjectPages
	gateway *gateway.Gateway
	usage   Usage
	store   *projects.Store
	states  *toolstate.Store
	stepUp  *guard.Guards
}

// New returns the handlers. gateway performs the calls, store changes the
// overrides, and stepUp enforces the confirmation before references change.
func New(pages *admin.ProjectPages, gateway *gateway.Gateway, usage Usage, store *projects.Store, states *toolstate.Store, stepUp *guard.Guards) *Playground {
	return &Playground{pages: pages, gateway: gateway, usage: usage, store: store, states: states, stepUp: stepUp}
}

// Show serves GET /admin/projects/:projectSlug/tools/:name. With ?as=json the
// arguments are edited as JSON.
func (a *Playground) Show(c *fiber.Ctx) error {
	project, tool, err := a.pages.Tool(c)
	if err != nil {
		return err
	}
	form := a.form(c, project, tool, c.Query("as") == "json")
	if form.AsJSON {
		form.Typed = "{}"
	}
	return a.page(c, project, tool, form)
}

// Try serves POST /admin/projects/:projectSlug/tools/:name/try. It calls the tool
// like tools/call of a client and renders the outcome. A script that accepts an
// event stream receives the progress of the call. With turn=json it calls nothing
// and renders the entered values as JSON; turn=form does the reverse.
func (a *Playground) Try(c *fiber.Ctx) error {
	project, tool, err := a.pages.Tool(c)
	if err != nil {
		return err
	}
	form := a.form(c, project, tool, web.FormValue(c, "as") == "json")
	if web.FormValue(c, "turn") == "json" && !form.AsJSON {
		form.AsJSON, form.Typed = true, typedJSON(form.Fields, frame.PostedFields(c))
		form.Fields = nil
		return a.page(c, project, tool, form)
	}
	if web.FormValue(c, "turn") == "form" && form.AsJSON && form.Plain == "" {
		return a.turnIntoForm(c, project, tool, form)
	}
	arguments, ok := readForm(c, &form)
	live := frame.WantsLive(c)
	switch {
	case ok && live:
		return a.callLive(c, a.newTry(c, project, tool, arguments))
	case ok:
		form.Result = callWatched(c, a.newTry(c, project, tool, arguments))
	case !live: // the script replaces only a part of the page and requires status 200
		c.Status(fiber.StatusUnprocessableEntity)
	}
	return a.page(c, project, tool, form)
}

// callLive calls the tool and streams its progress.
func (a *Playground) callLive(c *fiber.Ctx, start *toolCall) error {
	return frame.RespondLive(c, a.pages.Assets, func(ctx context.Context, live *frame.LiveStream) (templ.Component, string) {
		return views.TryOutcome(*start.call(ctx, func(step views.TryProgress) { live.Show(views.TryStep(step)) })), ""
	})
}

// callWatched calls the tool. The call is cancelled when the browser disconnects.
func callWatched(c *fiber.Ctx, start *toolCall) *views.TryResult {
	ctx, cancel := context.WithCancel(c.UserContext())
	defer cancel()
	defer conn.WatchDisconnect(c, cancel)()
	return start.call(ctx, nil)
}

// turnIntoForm renders the form filled with the arguments entered as JSON, or an
// error that names the arguments that the form cannot represent.
func (a *Playground) turnIntoForm(c *fiber.Ctx, project *toolset.Snapshot, tool *toolset.Tool, typed views.TryProps) error {
	if strings.TrimSpace(web.FormValue(c, "arguments")) == "" {
		return a.page(c, project, tool, a.form(c, project, tool, false))
	}
	if arguments, ok := readForm(c, &typed); ok {
		object, err := rawjson.ParseObject(arguments, rawjson.Strict)
		if err != nil {
			return err
		}
		filled := a.form(c, project, tool, false)
		homeless := fillIn(filled.Fields, object)
		if len(homeless) == 0 {
			return a.page(c, project, tool, filled)
		}
		typed.Problem = "the form can't show " + quotedNames(homeless) + ". Keep editing as JSON, or remove them first."
	}
	c.Status(fiber.StatusUnprocessableEntity)
	return a.page(c, project, tool, typed)
}

// quotedNames returns the first names of a list, quoted, as text.
func quotedNames(names []string) string {
	const most = 3
	quoted := make([]string, 0, most)
	for _, name := range names[:min(len(names), most)] {
		quoted = append(quoted, `"`+ui.Beginning(ui.Clean(name), 64)+`"`)
	}
	text := strings.Join(quoted, ", ")
	if more := len(names) - most; more > 0 {
		text += " and " + strconv.Itoa(more) + " more"
	}
	return text
}

// form returns the empty Playground of a tool.
func (a *Playground) form(c *fiber.Ctx, project *toolset.Snapshot, tool *toolset.Tool, asJSON bool) views.TryProps {
	at := paths.Tool(project.Project.Slug, tool.FullName)
	p := views.TryProps{URL: at + "/try", AsJSON: asJSON}
	if person := guard.UserOf(c); person != nil {
		p.CSRF = guard.MaskToken(person.CSRF)
	}
	fields, ok := argumentFields(schemaOf(tool, "inputSchema"))
	switch {
	case !ok:
		p.AsJSON, p.Plain = true, "The parameters of this tool don't fit a form."
	case !asJSON:
		p.Fields = fields
	}
	return p
}

// readForm returns the entered arguments and sets their errors in the form.
func readForm(c *fiber.Ctx, form *views.TryProps) (arguments []byte, ok bool) {
	if !form.AsJSON {
		return readArguments(form.Fields, frame.PostedFields(c))
	}
	form.Typed = web.FormValue(c, "arguments")
	raw := []byte(strings.TrimSpace(form.Typed))
	switch {
	case len(raw) > maxTypedJSON:
		form.Problem = "use at most 256 KiB"
	case rawjson.CheckDepth(raw, maxTypedDeep) != nil:
		form.Problem = "use valid JSON with at most 64 levels"
	default:
		if _, err := rawjson.ParseObject(raw, rawjson.Strict); err != nil {
			form.Problem = "use a JSON object: " + err.Error()
		}
	}
	return raw, form.Problem == ""
}

// toolCall is one call of the Playground.
type toolCall struct {
	gateway *gateway.Gateway
	project *toolset.Snapshot
	client  *gateway.Client
	params  []byte
}

// newTry returns the call of a tool by the signed-in administrator.
func (a *Playground) newTry(c *fiber.Ctx, project *toolset.Snapshot, tool *toolset.Tool, arguments []byte) *toolCall {
	client := &gateway.Client{
		Principal: access.Administrator(guard.UserOf(c).ID, project.Project.ID), Version: gateway.VersionLatestHandshake, RequestID: web.EventOf(c).RequestID,
	}
	params := append([]byte(`{"name":`), rawjson.Quote(tool.Name)...)
	params = append(append(append(params, `,"arguments":`...), arguments...), `,"_meta":{"progressToken":"playground"}}`...)
	return &toolCall{gateway: a.gateway, project: project, client: client, params: params}
}

// call calls the tool and returns the outcome. show is called for each collected
// progress step and may be nil. Cancelling ctx cancels the call.
func (t *toolCall) call(ctx context.Context, show func(views.TryProgress)) *views.TryResult {
	start := time.Now()
	heard := &progressRecorder{start: start, show: show}
	t.client.Notify = heard.notify
	raw, err := t.gateway.Handle(ctx, t.project, t.client, "tools/call", t.params, nil)
	result := &views.TryResult{MS: time.Since(start).Milliseconds(), RequestID: t.client.RequestID, Progress: heard.take()}
	if err != nil {
		failedCall(result, err)
		return result
	}
	readResult(result, raw)
	return result
}

// failedCall sets the error of a call without a result.
func failedCall(result *views.TryResult, err error) {
	result.Word = "Failed"
	var refused *gateway.RPCError
	if errors.As(err, &refused) {
		result.Message, result.Code = "The server returned an error.", "JSON-RPC error"
		if o, err := rawjson.ParseObject(refused.Raw, rawjson.Lenient); err == nil {
			if message, _ := o.String("message"); message != "" {
				result.Message = ui.Beginning(message, maxBlockText)
			}
			if code := o.Get("code"); code != nil {
				result.Code = "JSON-RPC error " + ui.Beginning(string(code), 32)
			}
		}
		return
	}
	f := fault.From(err)
	result.Message, result.Code = f.Message, string(f.Code)
}

func (a *Playground) page(c *fiber.Ctx, project *toolset.Snapshot, tool *toolset.Tool, form views.TryProps) error {
	return a.pageWith(c, project, tool, form, func(*views.ToolProps) {})
}

// pageWith renders the page of a tool with changed properties.
func (a *Playground) pageWith(c *fiber.Ctx, project *toolset.Snapshot, tool *toolset.Tool, form views.TryProps, change func(*views.ToolProps)) error {
	p := toolProps(project, tool)
	change(&p)
	used, err := a.usage.ToolUse(c.UserContext(), project.Project.ID)
	if err != nil {
		return err
	}
	p.Use = useFacts(project.Project.Slug, tool, used[tool.Name])
	p.Frame, p.Project, p.Try = a.pages.ProjectFrame(c, project, layout.TabTools, tool.Name, layout.Crumb{Label: tool.Name}), a.pages.Head(project, layout.TabTools), form
	if p.Frame.Controls {
		if err := a.pages.WarnOlder(c, &p.Frame, "Overrides"); err != nil {
			return err
		}
	}
	return web.Render(c, views.Tool(p))
}

// toolProps converts a tool for its page.
func toolProps(project *toolset.Snapshot, tool *toolset.Tool) views.ToolProps {
	p := views.ToolProps{
		Row: admin.ToolRow(tool), ReadOnly: tool.Access == toolset.AccessRead, Destructive: tool.Access == toolset.AccessDestructive, Reason: string(tool.Hidden), Approvable: tool.Hidden == toolset.HiddenByApproval, Hash: tool.Hash, Repairs: tool.Repairs,
		Input: schemaOf(tool, "inputSchema"), Output: schemaOf(tool, "outputSchema"), Annotations: annotationsOf(project.Project.Slug, tool),
	}
	p.Recipe = tool.Recipe != nil
	p.Override, p.HasApp = overrideProps(tool), len(tool.App.URIs) > 0 && tool.Hidden == toolset.Visible
	if tool.Broken != "" {
		p.Reason += ": " + tool.Broken
	}
	var indented bytes.Buffer
	if json.Indent(&indented, tool.Definition, "", "  ") == nil {
		p.Definition = ui.Beginning(indented.String(), maxShownJSON)
	}
	if tool.Previous != nil {
		lines, _ := toolset.DiffDefinitions(tool.Previous, tool.Raw) // without a diff if it would be too long
		for _, line := range lines {
			p.Changes = append(p.Changes, ui.DiffLine{Op: line.Op, Text: line.Text})
		}
		p.Changes = ui.Hunks(p.Changes, contextLines)
	}
	return p
}

// contextLines is the number of unchanged lines around changes of a definition.
const contextLines = 3

// useFacts returns how much a tool is used, with a link to its calls.
func useFacts(slug string, tool *toolset.Tool, use traffic.Use) []ui.Fact {
	last := "Not in the last " + ui.Count(int(traffic.UsePeriod/(24*time.Hour))) + " days"
	if !use.Last.IsZero() {
		last = ui.Ago(time.Now(), use.Last)
	}
	calls := (&query.Query{Clauses: []query.Clause{{Qualifier: "tool", Value: tool.Name}}}).Canonical()
	return []ui.Fact{
		{Label: "Calls, 7 d", Value: ui.Count(use.Calls), URL: paths.Activity(slug) + "?" + url.Values{"query": {calls}, "period": {"7d"}}.Encode()},
		{Label: "Last used", Value: last},
	}
}

func schemaOf(tool *toolset.Tool, name string) []byte {
	definition, err := rawjson.ParseObject(tool.Definition, rawjson.Lenient)
	if err != nil {
		return nil
	}
	return definition.Get(name)
}

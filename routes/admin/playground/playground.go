// Package playground serves the page of a tool. It makes a form of the tool's
// schema, calls the tool with what was typed, and shows the result.
package playground

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
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
	"mcpgateway/services/fault"
	"mcpgateway/services/gateway"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset"
	views "mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// Bounds of what the Playground takes.
const (
	maxTypedJSON = 256 << 10 // bytes
	maxTypedDeep = 64        // levels
)

// Playground serves the page of a tool, on which the tool is tried.
type Playground struct {
	pages   *admin.ProjectPages
	gateway *gateway.Gateway
}

// New returns the handlers. gateway carries out the calls.
func New(pages *admin.ProjectPages, gateway *gateway.Gateway) *Playground {
	return &Playground{pages: pages, gateway: gateway}
}

// Show serves GET /admin/projects/:projectSlug/tools/:name; with ?as=json the
// arguments of the Playground are typed as JSON.
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

// Try serves POST /admin/projects/:projectSlug/tools/:name/try: it calls the
// tool as tools/call of a client would, and shows how that ended. A script that
// accepts an event stream sees meanwhile what the tool says of its progress.
// With turn=json nothing is called: what was filled in is shown as raw JSON, to
// be typed on, and with turn=form the other way round.
func (a *Playground) Try(c *fiber.Ctx) error {
	project, tool, err := a.pages.Tool(c)
	if err != nil {
		return err
	}
	form := a.form(c, project, tool, web.Posted(c, "as") == "json")
	if web.Posted(c, "turn") == "json" && !form.AsJSON {
		form.AsJSON, form.Typed = true, typedJSON(form.Fields, frame.PostedFields(c))
		form.Fields = nil
		return a.page(c, project, tool, form)
	}
	if web.Posted(c, "turn") == "form" && form.AsJSON && form.Plain == "" {
		return a.turnIntoForm(c, project, tool, form)
	}
	arguments, ok := readForm(c, &form)
	live := frame.WantsLive(c)
	switch {
	case ok && live:
		return a.callLive(c, a.newTry(c, project, tool, arguments))
	case ok:
		form.Result = callWatched(c, a.newTry(c, project, tool, arguments))
	case !live: // a part of a page that a script replaces is no failure of its own
		c.Status(fiber.StatusUnprocessableEntity)
	}
	return a.page(c, project, tool, form)
}

// callLive calls the tool and answers with what it says of its progress.
func (a *Playground) callLive(c *fiber.Ctx, start *try) error {
	return frame.AnswerLive(c, a.pages.Assets, func(ctx context.Context, live *frame.LiveAnswer) (templ.Component, string) {
		return views.TryOutcome(*start.call(ctx, func(step views.TryProgress) { live.Show(views.TryStep(step)) })), ""
	})
}

// callWatched calls the tool. It ends early when the browser leaves.
func callWatched(c *fiber.Ctx, start *try) *views.TryResult {
	ctx, cancel := context.WithCancel(c.UserContext())
	defer cancel()
	defer conn.WatchDisconnect(c, cancel)()
	return start.call(ctx, nil)
}

// turnIntoForm shows what was typed as JSON in the fields of the form, or says
// what that has no place for.
func (a *Playground) turnIntoForm(c *fiber.Ctx, project *toolset.Snapshot, tool *toolset.Tool, typed views.TryProps) error {
	if strings.TrimSpace(web.Posted(c, "arguments")) == "" {
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
		typed.Problem = "the form has no place for " + quotedNames(homeless) + " as typed here: go on in JSON, or change that first"
	}
	c.Status(fiber.StatusUnprocessableEntity)
	return a.page(c, project, tool, typed)
}

// quotedNames returns the first names of a list, as they stand in a sentence.
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
	if person := guard.PersonOf(c); person != nil {
		p.CSRF = guard.MaskToken(person.CSRF)
	}
	fields, ok := argumentFields(schemaOf(tool, "inputSchema"))
	switch {
	case !ok:
		p.AsJSON, p.Plain = true, "The parameters of this tool are too varied for a form."
	case !asJSON:
		p.Fields = fields
	}
	return p
}

// readForm returns the arguments that were typed, and puts what is wrong with
// them into the form.
func readForm(c *fiber.Ctx, form *views.TryProps) (arguments []byte, ok bool) {
	if !form.AsJSON {
		return readArguments(form.Fields, frame.PostedFields(c))
	}
	form.Typed = web.Posted(c, "arguments")
	raw := []byte(strings.TrimSpace(form.Typed))
	switch {
	case len(raw) > maxTypedJSON:
		form.Problem = "this is longer than 256 KiB"
	case rawjson.CheckDepth(raw, maxTypedDeep) != nil:
		form.Problem = "this is not JSON, or nested too deep"
	default:
		if _, err := rawjson.ParseObject(raw, rawjson.Strict); err != nil {
			form.Problem = "this is not a JSON object: " + err.Error()
		}
	}
	return raw, form.Problem == ""
}

// try is one call of the Playground.
type try struct {
	gateway *gateway.Gateway
	project *toolset.Snapshot
	client  *gateway.Client
	params  []byte
}

// newTry returns the call of a tool by the administrator who is signed in.
func (a *Playground) newTry(c *fiber.Ctx, project *toolset.Snapshot, tool *toolset.Tool, arguments []byte) *try {
	client := &gateway.Client{
		Principal: access.Administrator(guard.PersonOf(c).ID, project.Project.ID), Version: gateway.VersionLatestHandshake, RequestID: web.EventOf(c).RequestID,
	}
	params := append([]byte(`{"name":`), rawjson.Quote(tool.Name)...)
	params = append(append(append(params, `,"arguments":`...), arguments...), `,"_meta":{"progressToken":"playground"}}`...)
	return &try{gateway: a.gateway, project: project, client: client, params: params}
}

// call calls the tool and returns how that ended; show, which may be nil, is
// told of each step that is kept. It ends early when the context does.
func (t *try) call(ctx context.Context, show func(views.TryProgress)) *views.TryResult {
	start := time.Now()
	heard := &heardProgress{start: start, show: show}
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

// failedCall says why a call has no result.
func failedCall(result *views.TryResult, err error) {
	result.Word = "Failed"
	var refused *gateway.RPCError
	if errors.As(err, &refused) {
		result.Message, result.Code = "the server answered with an error", "JSON-RPC error"
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
	p := toolProps(project, tool)
	p.Frame, p.Project, p.Try = a.pages.ProjectFrame(c, project, tool.Name), a.pages.Head(project, layout.TabTools), form
	return web.Render(c, views.Tool(p))
}

// toolProps returns a tool as its page shows it.
func toolProps(project *toolset.Snapshot, tool *toolset.Tool) views.ToolProps {
	p := views.ToolProps{
		Row: admin.ToolRow(tool), Reason: string(tool.Hidden), Approvable: tool.Hidden == toolset.HiddenByApproval, Hash: tool.Hash, Repairs: tool.Repairs,
		Input: schemaOf(tool, "inputSchema"), Output: schemaOf(tool, "outputSchema"), Annotations: annotationsOf(project.Project.Slug, tool),
	}
	if tool.Broken != "" {
		p.Reason += ": " + tool.Broken
	}
	var indented bytes.Buffer
	if json.Indent(&indented, tool.Definition, "", "  ") == nil {
		p.Definition = ui.Beginning(indented.String(), maxShownJSON)
	}
	if tool.Previous != nil {
		lines, _ := toolset.DiffDefinitions(tool.Previous, tool.Raw) // too long ones are shown without
		for _, line := range lines {
			p.Changes = append(p.Changes, ui.DiffLine{Op: line.Op, Text: line.Text})
		}
	}
	return p
}

func schemaOf(tool *toolset.Tool, name string) []byte {
	definition, err := rawjson.ParseObject(tool.Definition, rawjson.Lenient)
	if err != nil {
		return nil
	}
	return definition.Get(name)
}

package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/access"
	"mcpgateway/services/fault"
	"mcpgateway/services/gateway"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset"
	"mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/views/ui"
	"mcpgateway/web"
	"mcpgateway/web/conn"
	"mcpgateway/web/guard"
)

// Bounds of what the Playground takes.
const (
	maxTypedJSON = 256 << 10 // bytes
	maxTypedDeep = 64        // levels
)

// Caller carries out the calls of clients; gateway.Gateway says how.
type Caller interface {
	Handle(ctx context.Context, project *toolset.Snapshot, client *gateway.Client, method string, params []byte, trace *gateway.Trace) ([]byte, error)
}

// Show serves GET /admin/projects/:projectSlug/tools/:name; with ?as=json the
// arguments of the Playground are typed as JSON.
func (a *Tools) Show(c *fiber.Ctx) error {
	project, tool, err := a.toolOf(c)
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
func (a *Tools) Try(c *fiber.Ctx) error {
	project, tool, err := a.toolOf(c)
	if err != nil {
		return err
	}
	form := a.form(c, project, tool, posted(c, "as") == "json")
	if posted(c, "turn") == "json" && !form.AsJSON {
		form.AsJSON, form.Typed = true, typedJSON(form.Fields, postedValues(c))
		form.Fields = nil
		return a.page(c, project, tool, form)
	}
	if posted(c, "turn") == "form" && form.AsJSON && form.Plain == "" {
		return a.turnIntoForm(c, project, tool, form)
	}
	arguments, ok := readForm(c, &form)
	live := wantsLive(c)
	if !ok {
		// A part of a page that a script replaces is no failure of its own.
		if !live {
			c.Status(fiber.StatusUnprocessableEntity)
		}
		return a.page(c, project, tool, form)
	}
	start := a.newTry(c, project, tool, arguments)
	if live {
		return answerLive(c, a.pages.Assets, func(ctx context.Context, live *liveAnswer) (templ.Component, string) {
			return admin.TryOutcome(*start.call(ctx, func(step admin.TryProgress) { live.show(admin.TryStep(step)) })), ""
		})
	}
	ctx, cancel := context.WithCancel(c.UserContext())
	defer cancel()
	defer conn.WatchDisconnect(c, cancel)()
	form.Result = start.call(ctx, nil)
	return a.page(c, project, tool, form)
}

// turnIntoForm shows what was typed as JSON in the fields of the form, or says
// what that has no place for.
func (a *Tools) turnIntoForm(c *fiber.Ctx, project *toolset.Snapshot, tool *toolset.Tool, typed admin.TryProps) error {
	if strings.TrimSpace(posted(c, "arguments")) == "" {
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
		quoted = append(quoted, `"`+beginning(ui.Clean(name), 64)+`"`)
	}
	text := strings.Join(quoted, ", ")
	if more := len(names) - most; more > 0 {
		text += " and " + strconv.Itoa(more) + " more"
	}
	return text
}

// form returns the empty Playground of a tool.
func (a *Tools) form(c *fiber.Ctx, project *toolset.Snapshot, tool *toolset.Tool, asJSON bool) admin.TryProps {
	at := toolPath(project.Project.Slug, tool.FullName)
	p := admin.TryProps{URL: at + "/try", AsJSON: asJSON}
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
func readForm(c *fiber.Ctx, form *admin.TryProps) (arguments []byte, ok bool) {
	if !form.AsJSON {
		return readArguments(form.Fields, postedValues(c))
	}
	form.Typed = posted(c, "arguments")
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

// postedValues returns what the fields of the posted form hold, by their names.
func postedValues(c *fiber.Ctx) func(name string) []string {
	return func(name string) []string {
		var values []string
		for _, value := range c.Request().PostArgs().PeekMulti(name) {
			values = append(values, string(value))
		}
		return values
	}
}

// try is one call of the Playground.
type try struct {
	gateway Caller
	project *toolset.Snapshot
	client  *gateway.Client
	params  []byte
}

// newTry returns the call of a tool by the administrator who is signed in.
func (a *Tools) newTry(c *fiber.Ctx, project *toolset.Snapshot, tool *toolset.Tool, arguments []byte) *try {
	client := &gateway.Client{
		Principal: access.Administrator(guard.PersonOf(c).ID, project.Project.ID), Version: gateway.VersionLatestHandshake, RequestID: web.EventOf(c).RequestID,
	}
	params := append([]byte(`{"name":`), rawjson.Quote(tool.Name)...)
	params = append(append(append(params, `,"arguments":`...), arguments...), `,"_meta":{"progressToken":"playground"}}`...)
	return &try{gateway: a.gateway, project: project, client: client, params: params}
}

// call calls the tool and returns how that ended; show, which may be nil, is
// told of each step that is kept. It ends early when the context does.
func (t *try) call(ctx context.Context, show func(admin.TryProgress)) *admin.TryResult {
	start := time.Now()
	heard := &heardProgress{start: start, show: show}
	t.client.Notify = heard.notify
	raw, err := t.gateway.Handle(ctx, t.project, t.client, "tools/call", t.params, nil)
	result := &admin.TryResult{MS: time.Since(start).Milliseconds(), RequestID: t.client.RequestID, Progress: heard.take()}
	if err != nil {
		failedCall(result, err)
		return result
	}
	readResult(result, raw)
	return result
}

// failedCall says why a call has no result.
func failedCall(result *admin.TryResult, err error) {
	result.Word = "Failed"
	var refused *gateway.RPCError
	if errors.As(err, &refused) {
		result.Message, result.Code = "the server answered with an error", "JSON-RPC error"
		if o, err := rawjson.ParseObject(refused.Raw, rawjson.Lenient); err == nil {
			if message, _ := o.String("message"); message != "" {
				result.Message = beginning(message, maxBlockText)
			}
			if code := o.Get("code"); code != nil {
				result.Code = "JSON-RPC error " + beginning(string(code), 32)
			}
		}
		return
	}
	f := fault.From(err)
	result.Message, result.Code = f.Message, string(f.Code)
}

func (a *Tools) page(c *fiber.Ctx, project *toolset.Snapshot, tool *toolset.Tool, form admin.TryProps) error {
	p := admin.ToolProps{
		Frame: a.pages.Frame(c, title(project, tool.Name), layout.SectionProjects), Project: headOf(project, a.health, layout.TabTools),
		Row: toolRowOf(tool), Reason: string(tool.Hidden), Approvable: tool.Hidden == toolset.HiddenByApproval, Hash: tool.Hash, Repairs: tool.Repairs,
		Input: schemaOf(tool, "inputSchema"), Output: schemaOf(tool, "outputSchema"), Annotations: annotationsOf(project.Project.Slug, tool), Try: form,
	}
	if tool.Broken != "" {
		p.Reason += ": " + tool.Broken
	}
	var indented bytes.Buffer
	if json.Indent(&indented, tool.Definition, "", "  ") == nil {
		p.Definition = beginning(indented.String(), maxShownJSON)
	}
	if tool.Previous != nil {
		lines, _ := toolset.DiffDefinitions(tool.Previous, tool.Raw) // too long ones are shown without
		for _, line := range lines {
			p.Changes = append(p.Changes, ui.DiffLine{Op: line.Op, Text: line.Text})
		}
	}
	return web.Render(c, admin.Tool(p))
}

func schemaOf(tool *toolset.Tool, name string) []byte {
	definition, err := rawjson.ParseObject(tool.Definition, rawjson.Lenient)
	if err != nil {
		return nil
	}
	return definition.Get(name)
}

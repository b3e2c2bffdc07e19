//go:build conformance

package matrix

import (
	"context"
	"maps"

	"mcpgateway/services/rawjson"
	"mcpgateway/services/upstream/upstreamtest"
)

// newUpstream returns a server of one revision with the tools, resources and prompts
// that the operations use.
func newUpstream(e upstreamtest.Era) *upstreamtest.Server {
	alias := aliasOf(e)
	wanted := &levels{set: map[string]bool{}}
	tools := []upstreamtest.Tool{upstreamtest.Echo(), upstreamtest.Progress(), upstreamtest.Sleep(), elicitingTool(), wanted.loggingTool(alias)}
	if hasTasks(e) {
		tools = append(tools, jobTool())
	}
	methods := map[string]upstreamtest.Handler{
		"logging/setLevel":         wanted.setLevel,
		"resources/list":           answer(`{"resources":[` + listedNote(noteURI(alias)) + `,` + listedNote(sharedURI) + `]}`),
		"resources/templates/list": answer(`{"resourceTemplates":[]}`),
		"resources/read":           readNote(alias),
		"prompts/list":             answer(`{"prompts":[{"name":"greet","description":"Greets.","arguments":[{"name":"who","required":true}]}]}`),
		"prompts/get":              greet(alias),
	}
	maps.Copy(methods, taskMethods(e))
	return upstreamtest.New(upstreamtest.Options{
		Name: alias, Eras: []upstreamtest.Era{e}, Record: -1, Tools: tools, Capabilities: capabilitiesOf(e), Methods: methods,
	})
}

func listedNote(uri string) string {
	return `{"uri":"` + uri + `","name":"note","mimeType":"text/plain"}`
}

func noteURI(alias string) string  { return "matrix://" + alias + "/note" }
func noteText(alias string) string { return "the note of " + alias }
func greeting(alias, who string) string {
	return "Hello " + who + " from " + alias
}

func answer(raw string) upstreamtest.Handler {
	return func(context.Context, *upstreamtest.Call) upstreamtest.Result { return upstreamtest.JSON(raw) }
}

func readNote(alias string) upstreamtest.Handler {
	return func(_ context.Context, c *upstreamtest.Call) upstreamtest.Result {
		params, err := rawjson.ParseObject(c.Params, rawjson.Lenient)
		if err != nil {
			return upstreamtest.Error(-32602, "params must be an object")
		}
		text := noteText(alias)
		switch uri, _ := params.String("uri"); uri {
		case noteURI(alias):
		case sharedURI:
			text = sharedText(alias)
		default:
			return upstreamtest.Error(-32602, "unknown resource "+uri)
		}
		return upstreamtest.JSON(`{"contents":[{"uri":` + string(params.Get("uri")) + `,"mimeType":"text/plain","text":"` + text + `"}]}`)
	}
}

func greet(alias string) upstreamtest.Handler {
	return func(_ context.Context, c *upstreamtest.Call) upstreamtest.Result {
		if c.Name != "greet" {
			return upstreamtest.Error(-32602, "unknown prompt "+c.Name)
		}
		who := ""
		if arguments, err := rawjson.ParseObject(c.Arguments, rawjson.Lenient); err == nil {
			who, _ = arguments.String("who")
		}
		text := rawjson.Quote(greeting(alias, who))
		return upstreamtest.JSON(`{"messages":[{"role":"user","content":{"type":"text","text":` + string(text) + `}}]}`)
	}
}

// The form that elicitingTool elicits, and its request state for stateless clients.
const (
	nameForm    = `{"message":"What is your name?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}`
	elicitState = "name requested"
)

// elicitingTool returns a tool that elicits a name, as the negotiated revision
// prescribes, and returns it.
func elicitingTool() upstreamtest.Tool {
	return upstreamtest.Tool{
		Definition: `{"name":"ask","description":"Asks for a name and returns it.","inputSchema":{"type":"object"}}`,
		Call: func(ctx context.Context, c *upstreamtest.Call) upstreamtest.Result {
			if c.Era.Stateless() {
				return elicitByResult(c)
			}
			raw, err := c.Request(ctx, "elicitation/create", []byte(nameForm))
			if err != nil {
				return upstreamtest.Failure("Elicitation failed: " + err.Error())
			}
			response, err := rawjson.ParseObject(raw, rawjson.Lenient)
			if err != nil {
				return upstreamtest.Failure("The client's response must be an object.")
			}
			return given(response.Object("result"), raw)
		},
	}
}

// elicitByResult returns a result that requires the input (MCP 2026-07-28, "Multi
// round-trip requests").
func elicitByResult(c *upstreamtest.Call) upstreamtest.Result {
	params, err := rawjson.ParseObject(c.Params, rawjson.Lenient)
	if err != nil {
		return upstreamtest.Error(-32602, "params must be an object")
	}
	responses := params.Object("inputResponses")
	if responses == nil {
		return upstreamtest.JSON(`{"resultType":"input_required","inputRequests":{"who":{"method":"elicitation/create","params":` + nameForm +
			`}},"requestState":"` + elicitState + `"}`)
	}
	if state, _ := params.String("requestState"); state != elicitState {
		return upstreamtest.Error(-32602, "invalid request state")
	}
	return given(responses.Object("who"), responses.Bytes())
}

// given returns the name in an elicitation result. raw is quoted in the error if
// there is no name.
func given(result *rawjson.Object, raw []byte) upstreamtest.Result {
	name, ok := result.Object("content").String("name")
	if !ok {
		return upstreamtest.Failure("No name was given: " + string(raw))
	}
	return upstreamtest.Text(name)
}

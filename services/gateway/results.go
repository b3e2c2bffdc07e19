package gateway

import (
	"bytes"
	"context"
	"strconv"

	"mcpgateway/services/artifacts"
	"mcpgateway/services/artifacts/excerpt"
	"mcpgateway/services/artifacts/pages"
	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset"
)

// readDefinition is the definition of the tool that reads results that were cut.
var readDefinition = `{"name":"` + ToolRead + `","title":"Read a stored result","description":"Reads on in a result that was too long to show whole. Its note names the id. With offset it returns one page: JSON as valid JSON, cut between values and inside its arrays and objects, or text. With find it returns the places of a text, with offsets to read at.",` +
	`"inputSchema":{"type":"object","properties":{` +
	`"id":{"type":"string","description":"The id in the note of the result."},` +
	`"offset":{"type":"integer","minimum":0,"description":"Where to begin, in bytes: an offset from a note or a match. Default 0."},` +
	`"limit":{"type":"integer","minimum":1,"maximum":` + strconv.Itoa(pages.MaxLimit) + `,"description":"Maximum bytes of the page. Default ` + strconv.Itoa(pages.DefaultLimit) + `."},` +
	`"find":{"type":"string","minLength":1,"maxLength":` + strconv.Itoa(excerpt.MaxFind) + `,"description":"Text to search for, ignoring case. Cannot be combined with offset or limit."}},"required":["id"],"additionalProperties":false},` +
	`"annotations":{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}}`

// cutResult returns the result of a tool for a client, cut if it is longer than the
// limit of the tool. Code gets the whole. Without a limit it returns its argument.
func (g *Gateway) cutResult(ctx context.Context, project *toolset.Snapshot, client *Client, tool *toolset.Tool, result []byte) []byte {
	limit := project.ResultLimitOf(tool)
	if limit == 0 || len(result) <= limit || client.Code || g.Artifacts == nil {
		return result
	}
	owner, err := artifacts.OwnerOf(client.Principal)
	if err != nil {
		return result // callers are anonymous only without a limit
	}
	c := excerpt.Cutter{Store: g.Artifacts, Owner: owner, Limit: limit, Tool: ToolRead, Code: project.Project.CodeModeEnabled}
	return c.Cut(ctx, result)
}

// cutTask returns the state of a task with its result cut as by cutResult.
func (g *Gateway) cutTask(ctx context.Context, project *toolset.Snapshot, client *Client, tool *toolset.Tool, state []byte) []byte {
	limit := project.ResultLimitOf(tool)
	if limit == 0 || len(state) <= limit || !bytes.Contains(state, []byte(`"result"`)) {
		return state
	}
	o, err := rawjson.ParseObject(state, rawjson.Lenient)
	if err != nil {
		return state
	}
	if result := o.Get("result"); rawjson.Kind(result) == '{' {
		o.Set("result", g.cutResult(ctx, project, client, tool, result))
	}
	return o.Bytes()
}

// readResult handles the built-in tool that reads results that were cut.
func (g *Gateway) readResult(ctx context.Context, project *toolset.Snapshot, client *Client, params *rawjson.Object) ([]byte, error) {
	if g.Artifacts == nil {
		return nil, fault.New(fault.KindNotFound, fault.CodeToolNotFound, "%s is not available here.", ToolRead)
	}
	owner, err := artifacts.OwnerOf(client.Principal)
	if err != nil {
		return nil, fault.New(fault.KindDisabled, fault.CodeToolDisabled, "%s", fault.From(err).Message)
	}
	result, err := excerpt.Read(ctx, g.Artifacts, owner, ToolRead, params.Get("arguments"))
	if err != nil || !client.Stateless() {
		return result, err
	}
	return g.addResultMeta(project, result)
}

package gateway

import (
	"encoding/json"

	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset"

	"mcpgateway/models"
)

// cursorPurpose keeps list cursors apart from every other sealed token.
const cursorPurpose = "tools/list cursor"

// listCursor is the content of a cursor: which page of which list. Pages of
// two lists are never mixed, so a list that changed ends the walk.
type listCursor struct {
	Project string `json:"p"`
	List    string `json:"l"`
	Page    int    `json:"n"`
}

// listTools answers tools/list from the snapshot's ready-made pages
// (specification, "MCP methods"). It returns INVALID_CURSOR, with restart,
// for a cursor of another list.
func (g *Gateway) listTools(project *toolset.Snapshot, client *Client, params *rawjson.Object) ([]byte, error) {
	if project.Project.ToolExposure == models.ExposeBuiltin {
		return g.finishList([]byte(`{"tools":[]`), project, client), nil
	}
	era := client.era()
	page := 0
	if raw := params.Get("cursor"); raw != nil && rawjson.Kind(raw) != 'n' {
		var err error
		if page, err = g.openCursor(project, era, raw); err != nil {
			return nil, err
		}
	}
	tools, more, ok := project.Page(era, page)
	if !ok {
		return nil, invalidCursor()
	}
	b := make([]byte, 0, len(tools)+512)
	b = append(append(b, `{"tools":`...), tools...)
	if more {
		token, err := json.Marshal(listCursor{Project: project.Project.ID, List: project.ListID(era), Page: page + 1})
		if err != nil {
			return nil, fault.Internal(err)
		}
		b = append(append(b, `,"nextCursor":`...), rawjson.Quote(g.tokens.SealToken(cursorPurpose, token))...)
	}
	return g.finishList(b, project, client), nil
}

func (g *Gateway) finishList(b []byte, project *toolset.Snapshot, client *Client) []byte {
	if !client.Stateless() {
		return append(b, '}')
	}
	return g.appendCacheHints(append(b, `,"resultType":"complete"`...), project)
}

func (g *Gateway) openCursor(project *toolset.Snapshot, era toolset.Era, raw []byte) (int, error) {
	text, ok := rawjson.String(raw)
	if !ok {
		return 0, fault.Invalid("cursor must be a string")
	}
	plain, err := g.tokens.OpenToken(cursorPurpose, text)
	if err != nil {
		return 0, invalidCursor()
	}
	var c listCursor
	if json.Unmarshal(plain, &c) != nil || c.Project != project.Project.ID || c.List != project.ListID(era) {
		return 0, invalidCursor()
	}
	return c.Page, nil
}

func invalidCursor() error {
	f := fault.New(fault.KindInvalid, fault.CodeInvalidCursor, "this cursor does not continue the present list: list again without a cursor")
	f.Restart = true
	return f
}

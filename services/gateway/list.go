package gateway

import (
	"context"
	"encoding/json"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset"
	"mcpgateway/services/upstream"
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
func (g *Gateway) listTools(ctx context.Context, project *toolset.Snapshot, client *Client, params *rawjson.Object) ([]byte, error) {
	era := client.era()
	if project.Project.ToolExposure == models.ExposeBuiltin {
		return g.listResult(ctx, project, client, list{member: "tools", items: []byte("[]"), last: g.builtinsOf(project), coverage: g.coverage(project)})
	}
	page, err := g.pageAsked(project, project.ListID(era), params)
	if err != nil {
		return nil, err
	}
	tools, more, ok := project.Page(era, page)
	if !ok {
		return nil, invalidCursor()
	}
	l := list{member: "tools", items: tools, id: project.ListID(era), page: page, more: more, coverage: g.coverage(project)}
	if !more {
		l.last = g.builtinsOf(project)
	}
	return g.listResult(ctx, project, client, l)
}

// list is one page of a list on its way to a client.
type list struct {
	member string // of the result, which holds the page
	items  []byte // a raw JSON array
	last   string // raw elements that stand behind the items; may be empty
	id     string
	page   int
	more   bool
	// coverage is the raw object that says what the list lacks; nil when it
	// is complete.
	coverage []byte
}

// smallResult is the size up to which lists reserve no memory, in bytes.
const smallResult = 64 << 10

// listResult returns the result that holds one page of a list. It also returns
// the errors of the client's Memory.
func (g *Gateway) listResult(ctx context.Context, project *toolset.Snapshot, client *Client, l list) ([]byte, error) {
	if client.Hops != "" {
		var err error
		if l.items, err = g.withPaths(l.items, upstream.Hops(client.Hops)); err != nil {
			return nil, err
		}
		last, err := g.withPaths([]byte("["+l.last+"]"), nil)
		if err != nil {
			return nil, err
		}
		l.last = string(last[1 : len(last)-1])
	}
	size := len(l.items) + len(l.last) + 512
	if size > smallResult && client.Memory != nil {
		if _, err := client.Memory.Reserve(ctx, int64(size), int64(size)); err != nil {
			return nil, err
		}
		client.Memory.Settle(int64(size))
	}
	b := make([]byte, 0, size)
	b = append(rawjson.AppendString(append(b, '{'), l.member), ':')
	b = append(b, l.items[:len(l.items)-1]...)
	if l.last != "" {
		if len(l.items) > len("[]") {
			b = append(b, ',')
		}
		b = append(b, l.last...)
	}
	b = append(b, ']')
	if l.more {
		token, err := json.Marshal(listCursor{Project: project.Project.ID, List: l.id, Page: l.page + 1})
		if err != nil {
			return nil, fault.Internal(err)
		}
		b = append(append(b, `,"nextCursor":`...), rawjson.Quote(g.Tokens.SealToken(cursorPurpose, token))...)
	}
	if client.Stateless() {
		b = g.appendCacheHints(append(b, `,"resultType":"complete"`...), project)
		if l.coverage != nil { // it goes into the _meta that ends them
			b = append(append(b[:len(b)-len("}}")], `,"`+metaCoverage+`":`...), l.coverage...)
			b = append(b, "}}"...)
		}
		return b, nil
	}
	if l.coverage != nil {
		b = append(append(append(b, `,"_meta":{"`+metaCoverage+`":`...), l.coverage...), '}')
	}
	return append(b, '}'), nil
}

// pageAsked returns the page that the params' cursor names, 0 without one.
func (g *Gateway) pageAsked(project *toolset.Snapshot, id string, params *rawjson.Object) (int, error) {
	raw := params.Get("cursor")
	if raw == nil || rawjson.Kind(raw) == 'n' {
		return 0, nil
	}
	text, ok := rawjson.String(raw)
	if !ok {
		return 0, fault.Invalid("cursor must be a string")
	}
	plain, err := g.Tokens.OpenToken(cursorPurpose, text)
	if err != nil {
		return 0, invalidCursor()
	}
	var c listCursor
	if json.Unmarshal(plain, &c) != nil || c.Project != project.Project.ID || c.List != id {
		return 0, invalidCursor()
	}
	return c.Page, nil
}

func invalidCursor() error {
	f := fault.New(fault.KindInvalid, fault.CodeInvalidCursor, "this cursor does not continue the present list: list again without a cursor")
	f.Restart = true
	return f
}

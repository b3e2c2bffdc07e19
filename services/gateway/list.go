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

// cursorPurpose distinguishes list cursors from other sealed tokens.
const cursorPurpose = "tools/list cursor"

// listCursor is the content of a cursor. List identifies the content of the
// list, so a cursor becomes invalid when the list changes and pages of two
// lists are never mixed.
type listCursor struct {
	Project string `json:"p"`
	Toolset string `json:"t,omitempty"` // id of the endpoint's toolset
	List    string `json:"l"`
	Page    int    `json:"n"`
}

// listTools handles tools/list from the precomputed pages of the snapshot
// (specification, "MCP methods"). Its first page waits for servers that were never
// read. It returns INVALID_CURSOR with Restart for a cursor of another list.
func (g *Gateway) listTools(ctx context.Context, project *toolset.Snapshot, client *Client, params *rawjson.Object) ([]byte, error) {
	era := client.era()
	if project.Project.ToolExposure == models.ExposeBuiltin {
		return g.listResult(ctx, project, client, list{member: "tools", items: []byte("[]"), last: g.builtinsOf(project), coverage: g.coverage(ctx, project, client)})
	}
	if g.FirstReads != nil && params.Get("cursor") == nil && g.FirstReads.AwaitFirstReads(ctx, project) {
		var err error
		if project, err = g.Views.Current(client.Principal); err != nil {
			return nil, err
		}
	}
	page, err := g.requestedPage(project, client, project.ListID(era), params)
	if err != nil {
		return nil, err
	}
	tools, more, ok := project.Page(era, page)
	if !ok {
		return nil, invalidCursor()
	}
	l := list{member: "tools", items: tools, id: project.ListID(era), page: page, more: more, coverage: g.coverage(ctx, project, client)}
	if !more {
		l.last = g.builtinsOf(project)
	}
	return g.listResult(ctx, project, client, l)
}

// list is one page of a list.
type list struct {
	member string // the member of the result that contains the page
	items  []byte // a raw JSON array
	last   string // raw elements to append to items, without brackets; may be empty
	id     string
	page   int
	more   bool
	// coverage is the raw object that describes missing or failing servers, or
	// nil.
	coverage []byte
}

// smallResult is the maximum size in bytes of results of the gateway itself that
// reserve no memory.
const smallResult = 64 << 10

// reserveResult reserves the client's memory for a large result of the gateway
// itself. It returns the errors of the client's Memory.
func reserveResult(ctx context.Context, client *Client, size int) error {
	if size <= smallResult || client.Memory == nil {
		return nil
	}
	if _, err := client.Memory.Reserve(ctx, int64(size), int64(size)); err != nil {
		return err
	}
	client.Memory.Settle(int64(size))
	return nil
}

// listResult returns the result for one page of a list. It also returns the
// errors of the client's Memory.
func (g *Gateway) listResult(ctx context.Context, project *toolset.Snapshot, client *Client, l list) ([]byte, error) {
	if client.Hops != "" {
		var err error
		if l.items, err = upstream.WithPaths(g.Instance, l.items, upstream.Hops(client.Hops)); err != nil {
			return nil, err
		}
		last, err := upstream.WithPaths(g.Instance, []byte("["+l.last+"]"), nil)
		if err != nil {
			return nil, err
		}
		l.last = string(last[1 : len(last)-1])
	}
	size := len(l.items) + len(l.last) + 512
	if err := reserveResult(ctx, client, size); err != nil {
		return nil, err
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
		token, err := json.Marshal(listCursor{Project: project.Project.ID, Toolset: client.Principal.ToolsetID(), List: l.id, Page: l.page + 1})
		if err != nil {
			return nil, fault.Internal(err)
		}
		b = append(append(b, `,"nextCursor":`...), rawjson.Quote(g.Tokens.SealToken(cursorPurpose, token))...)
	}
	if client.Stateless() {
		b = appendCacheHints(append(b, `,"resultType":"complete"`...), project, g.resultInfo(project))
		if l.coverage != nil { // insert it into _meta, which is the last member
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

// requestedPage returns the page number in the cursor of params, or 0 without a
// cursor.
func (g *Gateway) requestedPage(project *toolset.Snapshot, client *Client, id string, params *rawjson.Object) (int, error) {
	raw := params.Get("cursor")
	if raw == nil || rawjson.Kind(raw) == 'n' {
		return 0, nil
	}
	text, ok := rawjson.String(raw)
	if !ok {
		return 0, fault.Invalid("cursor must be a string. Omit it for the first page.")
	}
	plain, err := g.Tokens.OpenToken(cursorPurpose, text)
	if err != nil {
		return 0, invalidCursor()
	}
	var c listCursor
	if json.Unmarshal(plain, &c) != nil || c.Project != project.Project.ID || c.Toolset != client.Principal.ToolsetID() || c.List != id {
		return 0, invalidCursor()
	}
	return c.Page, nil
}

func invalidCursor() error {
	f := fault.New(fault.KindInvalid, fault.CodeInvalidCursor, "The cursor is invalid or the list has changed. List again without the cursor.")
	f.Restart = true
	return f
}

package toolsearch

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"mcpgateway/services/fault"
	"mcpgateway/services/page"
	"mcpgateway/services/query"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolsearch/ranking"
	"mcpgateway/services/toolset"
)

// rankingVersion is part of every cursor's revision. Increment it when the
// order of results changes, so that older cursors become stale.
const rankingVersion = "1"

// Query is a literal search of a project's tools.
type Query struct {
	// Surface separates the cursors of different callers of the search, such as
	// "tool search".
	Surface  string
	Caller   Caller
	Text     string // in the grammar of query.Tools
	Limit    int    // rows per page, at least 1
	Continue bool   // whether this is not the first page
	Cursor   string // cursor of the previous page, if Continue is set
}

// Result is a page of a query's results.
type Result struct {
	Matches     []ranking.Match // Score is 0 if the query has no text
	NextCursor  string          // empty on the last page
	Warnings    []fault.Warning
	Unavailable []page.Unavailable // enabled servers that were never synced
}

// Find returns a page of the visible tools that match a query, best first and
// then by name. It returns the faults of the query grammar, INVALID_CURSOR,
// CURSOR_STALE, and SEARCH_FAILED if ctx ends first. A cursor is bound to the
// project, the principal, the query and the listed tools, but not to the limit.
func (s *Searcher) Find(ctx context.Context, project *toolset.Snapshot, q Query) (*Result, error) {
	parsed, err := query.Tools().Parse(q.Text)
	if err != nil {
		return nil, err
	}
	binding := page.Binding{Surface: q.Surface, Scope: project.Project.ID, Principal: q.Caller.ID, Query: parsed.Canonical()}
	revision := rankingVersion + " " + project.ToolsHash()
	offset := 0
	if q.Continue {
		position, err := s.Cursors.Open(binding, revision, q.Cursor)
		if err != nil {
			return nil, err
		}
		if offset, err = strconv.Atoi(position); err != nil {
			return nil, fault.Internal(err)
		}
	}
	x, err := s.indexes(ctx, project)
	if err != nil {
		return nil, err
	}
	end := offset + q.Limit
	best, total := x.visible.Find(parsed, end)
	out := &Result{Matches: best[min(offset, len(best)):]}
	if end < total {
		if out.NextCursor, err = s.Cursors.Seal(binding, revision, strconv.Itoa(end)); err != nil {
			return nil, err
		}
	}
	unavailable, outdated := s.coverage(ctx, project, "", q.Caller)
	out.Unavailable = unavailable
	out.Warnings = slices.Concat(parsed.Warnings, unknownServers(project, parsed), outdated)
	return out, nil
}

// searchSurface is the surface of Search's cursors.
const searchSurface = "tool search"

// row is a result of the query mode.
type row struct {
	Name        string          `json:"name"`
	Server      string          `json:"server"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Score       float64         `json:"score,omitempty"`
	InputSchema json.RawMessage `json:"inputSchema,omitempty"`
}

func (s *Searcher) searchQuery(ctx context.Context, project *toolset.Snapshot, caller Caller, a *queryArguments) (any, error) {
	found, err := s.findFor(ctx, project, caller, a)
	if err != nil {
		return nil, err
	}
	return found.rows(a.includeSchema), nil
}

// findFor returns the page of a query that a caller of the tool requests.
func (s *Searcher) findFor(ctx context.Context, project *toolset.Snapshot, caller Caller, a *queryArguments) (*Result, error) {
	return s.Find(ctx, project, Query{
		Surface: searchSurface, Caller: caller, Text: a.query, Limit: a.limit, Cursor: a.cursor, Continue: a.hasCursor,
	})
}

// rows returns the result of the query mode.
func (r *Result) rows(includeSchema bool) page.Results[row] {
	rows := make([]row, len(r.Matches))
	for i, m := range r.Matches {
		rows[i] = row{Name: m.Tool.Name, Server: m.Tool.Server.Config.Alias, Title: TitleOf(m.Tool), Score: m.Score}
		rows[i].Description, rows[i].InputSchema = describe(m.Tool, includeSchema)
	}
	return page.NewResults(rows, r.NextCursor, r.Warnings, r.Unavailable)
}

// TitleOf returns a tool's display name: its title, that of its annotations, or
// its exported name without the alias (MCP 2025-06-18, BaseMetadata).
func TitleOf(tool *toolset.Tool) string {
	definition, err := rawjson.ParseObject(tool.Definition, rawjson.Lenient)
	if err != nil {
		return tool.Local()
	}
	if title, ok := definition.String("title"); ok && title != "" {
		return title
	}
	if title, ok := definition.Object("annotations").String("title"); ok && title != "" {
		return title
	}
	return tool.Local()
}

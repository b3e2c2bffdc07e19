// Package toolsearch finds a project's tools by relevance to a task in natural
// language or by a literal query. Both search only visible tools.
package toolsearch

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolsearch/ranking"
	"mcpgateway/services/toolset"
)

// taskResult is the result of a task search (spec, "Legacy task mode").
type taskResult struct {
	Total      int             `json:"total"`
	NextOffset *int            `json:"nextOffset"`
	Truncated  bool            `json:"truncated"`
	TopTool    string          `json:"topTool"` // "" if nothing was found
	Candidates []candidate     `json:"candidates"`
	Warnings   []fault.Warning `json:"warnings,omitempty"`
}

type candidate struct {
	Name        string          `json:"name"`
	Score       float64         `json:"score"`
	Server      string          `json:"server"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema,omitempty"`
}

// Search implements gateway_searchMcpForTask. arguments is the raw JSON object
// of its arguments. It returns the JSON object for both
// the text and the structured content of the result. Faults concern arguments,
// query or cursor; SEARCH_FAILED is returned if ctx ends first.
func (s *Searcher) Search(ctx context.Context, project *toolset.Snapshot, caller Caller, arguments []byte) ([]byte, error) {
	task, query, err := readArguments(arguments)
	if err != nil {
		return nil, err
	}
	var result any
	if task != nil {
		result, err = s.searchTask(ctx, project, caller, task)
	} else {
		result, err = s.searchQuery(ctx, project, caller, query)
	}
	if err != nil {
		return nil, err
	}
	return encode(result)
}

// encode doesn't escape <, > and &, which are common in descriptions.
func encode(result any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(result); err != nil {
		return nil, fault.Internal(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func (s *Searcher) searchTask(ctx context.Context, project *toolset.Snapshot, caller Caller, a *taskArguments) (*taskResult, error) {
	x, err := s.indexes(ctx, project)
	if err != nil {
		return nil, err
	}
	result, _, _ := s.answerTask(ctx, x, caller, a)
	return result, nil
}

// answerTask returns the result of a task search, its matches, and whether they
// are ranked by meaning, too.
func (s *Searcher) answerTask(ctx context.Context, x *indexes, caller Caller, a *taskArguments) (result *taskResult, shown []ranking.Match, byMeaning bool) {
	limit := a.limit
	if a.offset < MaxOffset {
		limit = min(limit, MaxOffset-a.offset)
	}
	ranked, total, byMeaning := s.rank(ctx, x.visible, a.task, a.server, a.offset+limit)
	result = &taskResult{Total: total, Candidates: []candidate{}}
	if len(ranked) > 0 {
		result.TopTool = ranked[0].Tool.Name
	}
	shown = ranked[min(a.offset, len(ranked)):]
	for _, m := range shown {
		c := candidate{Name: m.Tool.Name, Score: m.Score, Server: m.Tool.Server.Config.Alias}
		c.Description, c.InputSchema = describe(m.Tool, a.includeSchema)
		result.Candidates = append(result.Candidates, c)
	}
	switch end := a.offset + limit; {
	case end >= total:
	case end <= MaxOffset:
		result.NextOffset = &end
	default:
		result.Truncated = true
	}
	result.Warnings = append(x.explainHidden(a), s.explainServers(ctx, x.snapshot, a.server, caller)...)
	return result, shown, byMeaning
}

// explainHidden returns a warning if the best match among all tools is a hidden
// one. It contains the reason and the server, never the tool. Tools that are
// hidden from keys have no such warning: the coverage contains their server.
func (x *indexes) explainHidden(a *taskArguments) []fault.Warning {
	if x.all == nil {
		return nil
	}
	best, _ := x.all.Rank(a.task, a.server, 1)
	if len(best) == 0 || best[0].Tool.Hidden == toolset.Visible || best[0].Tool.Hidden == toolset.HiddenFromKeys {
		return nil
	}
	tool := best[0].Tool
	return []fault.Warning{{Code: WarningToolHidden, Message: fmt.Sprintf(
		"A tool of server %s may match better but is not available: it is %s", tool.Server.Config.Alias, tool.Hidden)}}
}

// explainServers returns the warnings about servers that were not searched or
// whose tools are outdated.
func (s *Searcher) explainServers(ctx context.Context, project *toolset.Snapshot, alias string, caller Caller) []fault.Warning {
	warnings := explainServer(project, alias)
	unavailable, outdated := s.coverage(ctx, project, alias, caller)
	for _, u := range unavailable {
		warnings = append(warnings, fault.Warning{Code: WarningNeverSynced, Message: fmt.Sprintf("The tools of server %s were not searched: %s", u.Server, u.Reason)})
	}
	return append(warnings, outdated...)
}

// describe returns a tool's description and, with includeSchema, its raw input
// schema.
func describe(tool *toolset.Tool, includeSchema bool) (description string, schema json.RawMessage) {
	definition, err := rawjson.ParseObject(tool.Definition, rawjson.Lenient)
	if err != nil {
		return "", nil
	}
	description, _ = definition.String("description")
	if includeSchema {
		schema = definition.Get("inputSchema")
	}
	return description, schema
}

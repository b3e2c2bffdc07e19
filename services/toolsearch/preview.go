package toolsearch

import (
	"context"

	"mcpgateway/services/fault"
	"mcpgateway/services/page"
	"mcpgateway/services/query"
	"mcpgateway/services/toolsearch/literal"
	"mcpgateway/services/toolsearch/ranking"
	"mcpgateway/services/toolsearch/tooltext"
	"mcpgateway/services/toolset"
)

// Preview is a search with the reasons for its ranking.
type Preview struct {
	Response []byte // the JSON object that clients receive
	Found    []Explained
	Warnings []fault.Warning
	// Total is the number of matching visible tools of a task. Those of a query
	// are not counted.
	Total      int
	NextOffset int    // of a task; 0 on the last page
	NextCursor string // of a query; empty on the last page
	// ByMeaning reports whether a task was ranked by meaning, too. Scores are then
	// fused ranks, from 0 to 1.
	ByMeaning bool
	// Hidden are the tools that match a task and that clients can't find, best
	// first by words. A query never has any.
	Hidden []*toolset.Tool
	// Unavailable are the enabled servers that a query could not search. Those of
	// a task have a warning.
	Unavailable []page.Unavailable
}

// Explained is a found tool with the words that it matched.
type Explained struct {
	ranking.Match
	Reasons []tooltext.Reason
}

// Preview returns the response of the built-in search tool to arguments and
// explains it. It returns the faults of Search.
func (s *Searcher) Preview(ctx context.Context, project *toolset.Snapshot, caller Caller, arguments []byte) (*Preview, error) {
	task, query, err := readArguments(arguments)
	if err != nil {
		return nil, err
	}
	if task == nil {
		return s.previewQuery(ctx, project, caller, query)
	}
	x, err := s.indexes(ctx, project)
	if err != nil {
		return nil, err
	}
	result, shown, byMeaning := s.answerTask(ctx, x, caller, task)
	p := &Preview{Total: result.Total, Warnings: result.Warnings, ByMeaning: byMeaning}
	if p.Response, err = encode(result); err != nil {
		return nil, err
	}
	if result.NextOffset != nil {
		p.NextOffset = *result.NextOffset
	}
	explain := x.visible.Explain(task.task)
	for _, m := range shown {
		p.Found = append(p.Found, Explained{Match: m, Reasons: explain(m.Tool)})
	}
	if x.all != nil {
		all, _ := x.all.Rank(task.task, task.server, x.all.Len())
		for _, m := range all {
			if m.Tool.Hidden != toolset.Visible {
				p.Hidden = append(p.Hidden, m.Tool)
			}
		}
	}
	return p, nil
}

// Arguments are those of the built-in search tool. Nil, empty and false ones are
// left out.
type Arguments struct {
	Task          string  `json:"task,omitempty"`
	Query         *string `json:"query,omitempty"` // an empty query matches all tools
	Server        string  `json:"server,omitempty"`
	Limit         *int    `json:"limit,omitempty"`
	Offset        *int    `json:"offset,omitempty"`
	Cursor        string  `json:"cursor,omitempty"`
	IncludeSchema bool    `json:"includeSchema,omitempty"`
}

// JSON returns the arguments as a client sends them.
func (a Arguments) JSON() []byte {
	b, err := encode(a)
	if err != nil {
		return nil // strings, numbers and flags always encode
	}
	return b
}

// previewQuery is Preview for a query.
func (s *Searcher) previewQuery(ctx context.Context, project *toolset.Snapshot, caller Caller, a *queryArguments) (*Preview, error) {
	found, err := s.findFor(ctx, project, caller, a)
	if err != nil {
		return nil, err
	}
	p := &Preview{Warnings: found.Warnings, NextCursor: found.NextCursor, Unavailable: found.Unavailable}
	if p.Response, err = encode(found.rows(a.includeSchema)); err != nil {
		return nil, err
	}
	parsed, err := query.Tools().Parse(a.query)
	if err != nil {
		return nil, err
	}
	for _, m := range found.Matches {
		p.Found = append(p.Found, Explained{Match: m, Reasons: literal.Explain(parsed, m.Tool)})
	}
	return p, nil
}

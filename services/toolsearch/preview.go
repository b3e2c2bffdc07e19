package toolsearch

import (
	"cmp"
	"context"
	"slices"

	"mcpgateway/services/fault"
	"mcpgateway/services/page"
	"mcpgateway/services/query"
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
	Match
	Reasons []Reason
}

// Reason is a word of a task, or a clause of a query, that matched a tool.
type Reason struct {
	Word  string // of the search
	Found string // of the tool; differs from Word for synonyms and corrections
	Field string // name, server, description, parameters or annotations
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
	words := x.visible.core.taskWords(task.task)
	for _, m := range shown {
		p.Found = append(p.Found, Explained{Match: m, Reasons: x.visible.core.explain(words, m.Tool)})
	}
	if x.all != nil {
		all, _ := x.all.Rank(task.task, task.server, len(x.all.tools))
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
		p.Found = append(p.Found, Explained{Match: m, Reasons: explainQuery(parsed, m.Tool)})
	}
	return p, nil
}

// explainQuery returns the clauses of a query that a tool matches, and where it
// does best.
func explainQuery(q *query.Query, tool *toolset.Tool) []Reason {
	var l literal
	l.read(tool)
	var reasons []Reason
	for i := range q.Clauses {
		c := &q.Clauses[i]
		tier, ok := l.holds(c, true)
		if !ok || c.Negated {
			continue
		}
		word := c.Value
		if c.Qualifier != "" {
			word = c.Qualifier + ":" + c.Value
		}
		reasons = append(reasons, Reason{Word: word, Found: word, Field: fieldOf(c.Qualifier, tier)})
	}
	return reasons
}

// fieldOf returns the field of a matching clause.
func fieldOf(qualifier string, tier int) string {
	switch {
	case qualifier == "server" || qualifier == "" && tier == tierServer:
		return "server"
	case qualifier == "param" || qualifier == "" && tier == tierParam:
		return "parameters"
	case qualifier == "readonly" || qualifier == "destructive":
		return "annotations"
	case tier == tierDescription:
		return "description"
	}
	return "name"
}

// taskWord is a word of a task with its terms, the heaviest first.
type taskWord struct {
	word  string
	terms []weighted
}

// taskWords returns the words of a task, each once, in the order of their first
// occurrence. Stop words are only included if there are no other words, as in
// plan.
func (x *postings) taskWords(task string) []taskWord {
	quoted := quotedSpans(task)
	for _, keep := range planAttempts {
		p := x.planner(task, keep)
		for _, clause := range splitClauses(task) {
			p.read(task, clause, quoted)
		}
		if len(p.places) == 0 {
			continue
		}
		out := make([]taskWord, len(p.places))
		for key, place := range p.places {
			terms := slices.Clone(p.meanings[place])
			slices.SortStableFunc(terms, func(a, b weighted) int { return cmp.Compare(b.weight, a.weight) })
			out[place] = taskWord{key.word, terms}
		}
		return out
	}
	return nil
}

// fieldNames are the names of fields in reasons.
var fieldNames = [fieldCount]string{"name", "server", "description", "parameters", "parameters"}

// explain returns the words of a task that a tool contains. Each word occurs
// once, with its heaviest term in the heaviest field.
func (x *postings) explain(task []taskWord, tool *toolset.Tool) []Reason {
	type occurrence struct {
		word  string
		field int
	}
	has := map[uint32]occurrence{}
	add := func(word, found string, field int) {
		term, ok := x.terms[stem(word)]
		if _, seen := has[term]; ok && !seen {
			has[term] = occurrence{found, field}
		}
	}
	var e evidence
	doc := readTool(tool)
	for field, texts := range doc.text {
		for _, text := range texts {
			words(text, func(word string, whole bool) bool {
				clues, _ := cluesOf(word)
				e.add(clues)
				if !whole {
					add(word, word, field)
				}
				return true
			})
		}
	}
	if latin, other := e.toolLanguage(); other {
		for field, texts := range doc.text {
			for _, text := range texts {
				translations(text, latin, e.main(), func(word, english string) { add(english, word, field) })
			}
		}
	}
	var reasons []Reason
	for _, w := range task {
		for _, t := range w.terms {
			if found, ok := has[t.term]; ok {
				addReason(&reasons, Reason{Word: w.word, Found: found.word, Field: fieldNames[found.field]})
				break
			}
		}
	}
	return reasons
}

// addReason appends a reason unless it is there already: a word that occurs in
// quotes and outside them has two entries in a task.
func addReason(reasons *[]Reason, r Reason) {
	if !slices.Contains(*reasons, r) {
		*reasons = append(*reasons, r)
	}
}

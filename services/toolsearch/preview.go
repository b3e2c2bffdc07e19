package toolsearch

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"mcpgateway/services/fault"
	"mcpgateway/services/toolset"
)

// Preview is a task search with the reasons for its ranking.
type Preview struct {
	Response []byte // the JSON object that clients receive
	Total    int    // number of matching visible tools
	Found    []Explained
	Hidden   []*toolset.Tool // matching tools that clients can't find, best first
}

// Explained is a found tool with the words that it matched.
type Explained struct {
	Match
	Reasons []Reason
}

// Reason is a word of a task that matched a tool.
type Reason struct {
	Word  string // of the task
	Found string // of the tool; differs from Word for synonyms and corrections
	Field string // name, server, description or parameters
}

// Preview returns the response of the built-in search tool to arguments, which
// must contain a task, and explains it. It returns the faults of Search.
func (s *Searcher) Preview(ctx context.Context, project *toolset.Snapshot, caller Caller, arguments []byte) (*Preview, error) {
	response, err := s.Search(ctx, project, caller, arguments)
	if err != nil {
		return nil, err
	}
	a, _, err := readArguments(arguments)
	if err != nil {
		return nil, err
	}
	if a == nil {
		return nil, fault.Invalid("A preview requires a task.")
	}
	x, err := s.indexes(ctx, project)
	if err != nil {
		return nil, err
	}
	best, total := x.visible.Rank(a.task, a.server, a.limit)
	p := &Preview{Response: response, Total: total}
	task := x.visible.core.taskWords(a.task)
	for _, m := range best {
		p.Found = append(p.Found, Explained{Match: m, Reasons: x.visible.core.explain(task, m.Tool)})
	}
	if x.all != nil {
		all, _ := x.all.Rank(a.task, a.server, len(x.all.tools))
		for _, m := range all {
			if m.Tool.Hidden != toolset.Visible {
				p.Hidden = append(p.Hidden, m.Tool)
			}
		}
	}
	return p, nil
}

// TaskArguments returns the arguments of the built-in search tool for a task.
func TaskArguments(task string, limit int) []byte {
	b, err := json.Marshal(map[string]any{"task": task, "limit": limit})
	if err != nil {
		return nil // strings and numbers always encode
	}
	return b
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

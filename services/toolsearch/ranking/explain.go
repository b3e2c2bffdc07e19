package ranking

import (
	"cmp"
	"slices"

	"mcpgateway/services/toolsearch/analyzer"
	"mcpgateway/services/toolsearch/tooltext"
	"mcpgateway/services/toolset"
)

// taskWord is a word of a task with its terms, the heaviest first.
type taskWord struct {
	word  string
	terms []weighted
}

// taskWords returns the words of a task, each once, in the order of their first
// occurrence. Stop words are only included if there are no other words, as in
// plan.
func (x *postings) taskWords(task string) []taskWord {
	quoted := analyzer.QuotedSpans(task)
	for _, keep := range planAttempts {
		p := x.planner(task, keep)
		for _, clause := range analyzer.Clauses(task) {
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
var fieldNames = [tooltext.Fields]string{"name", "server", "description", "parameters", "parameters"}

// Explain returns a function that returns the words of a task that a tool of the
// index contains. Each word occurs once, with its heaviest term in the heaviest
// field.
func (x *Index) Explain(task string) func(tool *toolset.Tool) []tooltext.Reason {
	words := x.core.taskWords(task)
	return func(tool *toolset.Tool) []tooltext.Reason { return x.core.explain(words, tool) }
}

// explain returns the words of a task that a tool contains.
func (x *postings) explain(task []taskWord, tool *toolset.Tool) []tooltext.Reason {
	type occurrence struct {
		word  string
		field int
	}
	has := map[uint32]occurrence{}
	add := func(word, found string, field int) {
		term, ok := x.terms[analyzer.Stem(word)]
		if _, seen := has[term]; ok && !seen {
			has[term] = occurrence{found, field}
		}
	}
	var e analyzer.Evidence
	doc := tooltext.Read(tool)
	for field, texts := range doc {
		for _, text := range texts {
			analyzer.Words(text, func(word string, whole bool) bool {
				clues, _ := analyzer.CluesOf(word)
				e.Add(clues)
				if !whole {
					add(word, word, field)
				}
				return true
			})
		}
	}
	if latin, other := e.ToolLanguage(); other {
		for field, texts := range doc {
			for _, text := range texts {
				analyzer.Translations(text, latin, e.Main(), func(word, english string) { add(english, word, field) })
			}
		}
	}
	var reasons []tooltext.Reason
	for _, w := range task {
		for _, t := range w.terms {
			if found, ok := has[t.term]; ok {
				addReason(&reasons, tooltext.Reason{Word: w.word, Found: found.word, Field: fieldNames[found.field]})
				break
			}
		}
	}
	return reasons
}

// addReason appends a reason unless it is there already: a word that occurs in
// quotes and outside them has two entries in a task.
func addReason(reasons *[]tooltext.Reason, r tooltext.Reason) {
	if !slices.Contains(*reasons, r) {
		*reasons = append(*reasons, r)
	}
}

package ranking

import (
	"slices"
	"strings"

	"mcpgateway/services/toolsearch/analyzer"
)

// maxUnknown is the maximum number of corrected words of a task.
const maxUnknown = 24

// weighted is a term with its weight.
type weighted struct {
	term   uint32
	weight float32
}

// plan contains the weighted terms of a task and of each of its clauses. Each
// term occurs once, in a fixed order.
type plan struct {
	whole   []weighted
	clauses [][]weighted
}

// taskTerm is a word of a task. Words in quotes and addresses weigh less.
type taskTerm struct {
	word   string
	quoted bool
}

// planner converts a task's words to terms.
type planner struct {
	index    *postings
	places   map[taskTerm]int // index in meanings of each distinct word
	meanings [][]weighted
	unknown  int
	keep     kept
	latin    int // language of the task's words in Latin script, or -1
	main     int // language of its ideographs
}

// kept are the words of a task that are used although they don't describe a
// tool.
type kept struct{ chat, stop bool }

// planAttempts are tried in order until a task has words left.
var planAttempts = [...]kept{{}, {chat: true}, {chat: true, stop: true}}

// plan returns the terms of a task. Chat and stop words are used only if the
// task has no other words.
func (x *postings) plan(task string) plan {
	task = strings.ToValidUTF8(task, " ")
	quoted := analyzer.QuotedSpans(task)
	for _, keep := range planAttempts {
		p := x.planner(task, keep)
		var clauses [][]int
		for _, clause := range analyzer.Clauses(task) {
			if found := p.read(task, clause, quoted); len(found) > 0 {
				clauses = append(clauses, found)
			}
		}
		if len(clauses) == 0 {
			continue
		}
		out := plan{whole: p.vector(slices.Concat(clauses...))}
		if len(clauses) > 1 {
			for _, clause := range clauses {
				out.clauses = append(out.clauses, p.vector(clause))
			}
		}
		return out
	}
	return plan{}
}

func (x *postings) planner(task string, keep kept) planner {
	e := analyzer.EvidenceOf(task)
	return planner{index: x, places: map[taskTerm]int{}, keep: keep, latin: e.TaskLanguage(), main: e.Main()}
}

// read returns the indexes of a clause's words. quoted are the quoted parts of
// the task.
func (p *planner) read(task string, clause analyzer.Span, quoted []analyzer.Span) []int {
	var found []int
	at := clause.Begin
	for _, q := range quoted {
		if q.End <= at || q.Begin >= clause.End {
			continue
		}
		found = p.readPlain(found, task, analyzer.Span{Begin: at, End: max(at, q.Begin)})
		at = min(q.End, clause.End)
		found = p.readPart(found, task[max(clause.Begin, q.Begin):at], true)
	}
	return p.readPlain(found, task, analyzer.Span{Begin: at, End: clause.End})
}

// readPlain appends the indexes of the words of a part of the task without
// quotes and chat.
func (p *planner) readPlain(found []int, task string, part analyzer.Span) []int {
	if !p.keep.chat {
		for _, c := range analyzer.ChatSpans(task, part) {
			found = p.readPart(found, task[part.Begin:c.Begin], false)
			part.Begin = c.End
		}
	}
	return p.readPart(found, task[part.Begin:part.End], false)
}

// readPart appends the indexes of a text's words.
func (p *planner) readPart(found []int, text string, quoted bool) []int {
	own := 1.0
	if quoted {
		own = p.index.weights.quoted
	}
	add := func(word string, meaning func() []weighted) {
		key := taskTerm{word, quoted}
		place, ok := p.places[key]
		if !ok {
			place = len(p.meanings)
			p.places[key] = place
			p.meanings = append(p.meanings, meaning())
		}
		found = append(found, place)
	}
	analyzer.SplitWords(text, func(word string, whole bool) bool {
		if len(word) <= analyzer.MaxWordBytes && (p.keep.stop || !p.isStop(word)) {
			add(word, func() []weighted { return p.meaning(word, own, whole) })
		}
		return true
	}, func(run string) bool {
		for _, s := range analyzer.Segments(run, p.main) {
			if s.Stop && !p.keep.stop {
				continue
			}
			add(s.Text, func() []weighted { return p.segment(s, own) })
		}
		return true
	})
	return found
}

func (p *planner) isStop(word string) bool {
	if l := analyzer.LanguageOf(word, p.latin); l != nil {
		return l.IsStop(word)
	}
	return analyzer.IsStop(word)
}

// segment returns the terms for a word in a script without spaces: its pairs of
// characters, its single characters, which weigh less, and its meanings.
func (p *planner) segment(s analyzer.Segment, own float64) []weighted {
	var out []weighted
	analyzer.Ideographs(s.Text, func(word string, pair bool) bool {
		weight := own
		if !pair {
			weight *= p.index.weights.character
		}
		if term, ok := p.index.terms[word]; ok {
			out = append(out, weighted{term, float32(weight)})
		}
		return true
	})
	return p.addMeanings(out, s.Meanings, own)
}

// addMeanings appends the terms for the English meanings of a word. The first
// is the usual one.
func (p *planner) addMeanings(out []weighted, meanings []string, own float64) []weighted {
	for i, word := range meanings {
		weight := own
		if i > 0 {
			weight *= p.index.weights.meaning
		}
		found, _ := p.english(word, weight)
		out = append(out, found...)
	}
	return out
}

// meaning returns the terms for a word.
func (p *planner) meaning(word string, own float64, whole bool) []weighted {
	x, w := p.index, &p.index.weights
	if l := analyzer.LanguageOf(word, p.latin); l != nil {
		if meanings := l.Translate(word); meanings != nil {
			var out []weighted
			if term, ok := x.terms[analyzer.Stem(word)]; ok {
				out = append(out, weighted{term, float32(own)})
			}
			return p.addMeanings(out, meanings, own)
		}
	}
	out, known := p.english(word, own)
	if known || whole || p.unknown >= maxUnknown {
		return out
	}
	if analyzer.IsFiller(word) {
		own *= w.filler
	}
	p.unknown++
	near := x.vocabulary.near(word, maxCorrections)
	for _, t := range near {
		out = append(out, weighted{t, float32(own * w.correction)})
	}
	if len(near) == 0 {
		for _, t := range x.vocabulary.completions(word, maxCorrections) {
			out = append(out, weighted{t, float32(own * w.completion)})
		}
	}
	return out
}

// english returns the terms for an English word, and whether the index or the
// thesaurus contain it. Thesaurus terms weigh less if tools use the word itself,
// and never more than the word, however rare it is.
func (p *planner) english(word string, own float64) (out []weighted, known bool) {
	x, w := p.index, &p.index.weights
	if analyzer.IsFiller(word) {
		own *= w.filler
	}
	stemmed := analyzer.Stem(word)
	term, indexed := x.terms[stemmed]
	if indexed {
		out = append(out, weighted{term, float32(own)})
	}
	entry := analyzer.ThesaurusOf(stemmed)
	for _, a := range [...]struct {
		stems  []string
		weight float64
	}{{entry.Like, w.synonym}, {entry.Kinds, w.kind}, {entry.Related, w.related}} {
		for _, s := range a.stems {
			other, ok := x.terms[s]
			if !ok {
				continue
			}
			weight := own * a.weight
			if indexed {
				weight *= w.expansion * min(1, x.idfOf(term)/x.idfOf(other))
			}
			out = append(out, weighted{other, float32(weight)})
		}
	}
	return out, indexed || entry.Known()
}

// vector returns the terms of the words. A word that occurs n times weighs
// 2n/(n+1). A term of several words has their maximum weight.
func (p *planner) vector(places []int) []weighted {
	counts := make([]int, len(p.meanings))
	for _, place := range places {
		counts[place]++
	}
	at := make(map[uint32]int, len(places))
	var out []weighted
	for place, n := range counts {
		if n == 0 {
			continue
		}
		factor := 2 * float32(n) / float32(n+1)
		for _, m := range p.meanings[place] {
			weight := m.weight * factor
			if i, ok := at[m.term]; ok {
				out[i].weight = max(out[i].weight, weight)
				continue
			}
			at[m.term] = len(out)
			out = append(out, weighted{m.term, weight})
		}
	}
	return out
}

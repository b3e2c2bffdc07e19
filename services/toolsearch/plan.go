package toolsearch

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

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
	quoted := quotedSpans(task)
	for _, keep := range planAttempts {
		p := x.planner(task, keep)
		var clauses [][]int
		for _, clause := range splitClauses(task) {
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
	e := evidenceOf(task)
	return planner{index: x, places: map[taskTerm]int{}, keep: keep, latin: e.language(leastTaskEvidence), main: e.main()}
}

// read returns the indexes of a clause's words. quoted are the quoted parts of
// the task.
func (p *planner) read(task string, clause span, quoted []span) []int {
	var found []int
	at := clause.begin
	for _, q := range quoted {
		if q.end <= at || q.begin >= clause.end {
			continue
		}
		found = p.readPlain(found, task, span{at, max(at, q.begin)})
		at = min(q.end, clause.end)
		found = p.readPart(found, task[max(clause.begin, q.begin):at], true)
	}
	return p.readPlain(found, task, span{at, clause.end})
}

// readPlain appends the indexes of the words of a part of the task without
// quotes and chat.
func (p *planner) readPlain(found []int, task string, part span) []int {
	if !p.keep.chat {
		for _, c := range chatSpans(task, part) {
			found = p.readPart(found, task[part.begin:c.begin], false)
			part.begin = c.end
		}
	}
	return p.readPart(found, task[part.begin:part.end], false)
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
	splitWords(text, func(word string, whole bool) bool {
		if len(word) <= maxWordBytes && (p.keep.stop || !p.isStop(word)) {
			add(word, func() []weighted { return p.meaning(word, own, whole) })
		}
		return true
	}, func(run string) bool {
		for _, s := range segments(run, p.main) {
			if s.stop && !p.keep.stop {
				continue
			}
			add(s.text, func() []weighted { return p.segment(s, own) })
		}
		return true
	})
	return found
}

// languageOf returns the language of a word other than English, or nil.
func (p *planner) languageOf(word string) *language {
	at := scriptOf(word)
	if at < 0 {
		at = p.latin
	}
	if at < 0 {
		return nil
	}
	return languages()[at]
}

func (p *planner) isStop(word string) bool {
	if l := p.languageOf(word); l != nil {
		return l.stops[word]
	}
	return stopWords[word]
}

// segment returns the terms for a word in a script without spaces: its pairs of
// characters, its single characters, which weigh less, and its meanings.
func (p *planner) segment(s segment, own float64) []weighted {
	var out []weighted
	ideographs(s.text, func(word string, pair bool) bool {
		weight := own
		if !pair {
			weight *= p.index.weights.character
		}
		if term, ok := p.index.terms[word]; ok {
			out = append(out, weighted{term, float32(weight)})
		}
		return true
	})
	return p.addMeanings(out, s.meanings, own)
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
	if l := p.languageOf(word); l != nil {
		if meanings := l.translate(word); meanings != nil {
			var out []weighted
			if term, ok := x.terms[stem(word)]; ok {
				out = append(out, weighted{term, float32(own)})
			}
			return p.addMeanings(out, meanings, own)
		}
	}
	out, known := p.english(word, own)
	if known || whole || p.unknown >= maxUnknown {
		return out
	}
	if fillers[word] {
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
	if fillers[word] {
		own *= w.filler
	}
	stemmed := stem(word)
	term, indexed := x.terms[stemmed]
	if indexed {
		out = append(out, weighted{term, float32(own)})
	}
	entry := thesaurusOf(stemmed)
	for _, a := range [...]struct {
		stems  []string
		weight float64
	}{{entry.like, w.synonym}, {entry.kinds, w.kind}, {entry.related, w.related}} {
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
	return out, indexed || entry.known()
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

// splitClauses splits a task after sentences and clauses. At the limit, the
// last clause contains the rest.
func splitClauses(task string) []span {
	var out []span
	begin := 0
	for i, r := range task {
		if len(out) == maxClauses-1 {
			break
		}
		size := utf8.RuneLen(r)
		if !endsClause(r, task[i+size:]) {
			continue
		}
		if clause := task[begin:i]; strings.TrimSpace(clause) != "" {
			out = append(out, span{begin, i})
		}
		begin = i + size
	}
	if rest := task[begin:]; strings.TrimSpace(rest) != "" {
		out = append(out, span{begin, len(task)})
	}
	return out
}

// endsClause reports whether r, followed by rest, ends a clause, unlike the
// point in "3.5" or "api.example".
func endsClause(r rune, rest string) bool {
	switch r {
	case '\n', ';', '!', '?', '。', '！', '？', '；', '，', '、', '：':
		return true
	case '.', ',', ':':
		next, _ := utf8.DecodeRuneInString(rest)
		return rest == "" || unicode.IsSpace(next)
	}
	return false
}

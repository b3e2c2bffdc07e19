package ranking

import (
	"math"
	"slices"

	"mcpgateway/services/query"
	"mcpgateway/services/toolsearch/literal"
	"mcpgateway/services/toolsearch/tooltext"
	"mcpgateway/services/toolset"
)

// weights are the parameters of the ranking formula.
type weights struct {
	field [tooltext.Fields]float64 // weight of a word by field
	b     [tooltext.Fields]float64 // length normalization by field (BM25F)
	k1    float64                  // term frequency saturation (BM25F)

	synonym    float64 // for unknown words: synonyms,
	kind       float64 // kinds of the named thing,
	related    float64 // words of the same subject,
	correction float64 // spelling corrections
	completion float64 // and completions
	expansion  float64 // factor of thesaurus terms of a known word
	filler     float64 // factor of filler words
	quoted     float64 // factor of words in quotes and addresses

	character float64 // factor of single characters of scripts without spaces
	meaning   float64 // factor of the meanings after the first of a foreign word

	clause   float64 // share of the best clause in addition to the whole task
	peak     float64 // bonus for the best tool of a clause
	coverage float64 // bonus for a name completely covered by the task
	server   float64 // share of the mean of a server's best tools
}

func standardWeights() weights {
	return weights{
		field: [tooltext.Fields]float64{tooltext.Name: 5, tooltext.Server: 1.5, tooltext.Description: 1, tooltext.Param: .4, tooltext.ParamText: .5},
		b:     [tooltext.Fields]float64{tooltext.Name: .5, tooltext.Server: .5, tooltext.Description: .7, tooltext.Param: .9, tooltext.ParamText: .9},
		k1:    2,

		synonym: .6, kind: .6, related: .25, correction: .8, completion: .2, expansion: .35, filler: .5, quoted: .6, character: .25, meaning: .7,
		clause: .4, peak: .3, coverage: .15, server: .2,
	}
}

// Match is a tool that matches a task.
type Match struct {
	Tool  *toolset.Tool
	Score float64 // positive, a multiple of 0.0001, comparable within one task
}

// Rank returns the best tools for a task, at most count, best first and then by
// name, and the total number of matches. A non-empty server limits the search
// to the server with that alias.
func (x *Index) Rank(task, server string, count int) (best []Match, total int) {
	found := x.core.search(task, x.core.serverNumber(server), count)
	return x.matches(found.best), found.total
}

// Find returns the tools that match a query, at most count, best first and then
// by name, and their total number. Scores are 0 if the query has no text.
func (x *Index) Find(q *query.Query, count int) (best []Match, total int) {
	core := x.core
	core.literalOnce.Do(func() { core.literals = literal.New(x.tools) })
	var matches []match
	core.literals.Find(q, func(position, score int) { matches = append(matches, match{uint32(position), float32(score)}) })
	return x.matches(core.best(matches, count, 0)), len(matches)
}

func (x *Index) matches(hits []hit) []Match {
	out := make([]Match, len(hits))
	for i, h := range hits {
		out[i] = Match{x.tools[h.doc], float64(h.score) / scoreUnits}
	}
	return out
}

// scoreUnits is the resolution of scores. Scores are compared as displayed, so
// that displayed ties are ordered by name.
const scoreUnits = 10_000

// found is the result of a search.
type found struct {
	best  []hit // in order
	total int
}

// hit is a tool with a positive score in units.
type hit struct {
	doc   uint32
	score int64
}

// scratch is the working memory of a search: one number per tool.
type scratch struct {
	whole, clause, best, peak, cover []float32
	matches                          []match
	servers                          [][3]float32
}

// match is a tool with a positive score.
type match struct {
	doc   uint32
	score float32
}

func (x *postings) takeScratch() *scratch {
	if s, ok := x.scratch.Get().(*scratch); ok {
		return s
	}
	number := func() []float32 { return make([]float32, x.size) }
	return &scratch{
		whole: number(), clause: number(), best: number(), peak: number(), cover: number(),
		servers: make([][3]float32, x.servers),
	}
}

// search returns the best count tools for a task. anyServer means all servers.
// Term weights are those of the whole project, also with a server.
func (x *postings) search(task string, server, count int) found {
	p := x.plan(task)
	if len(p.whole) == 0 || server == noServer {
		return found{}
	}
	s := x.takeScratch()
	defer x.scratch.Put(s)
	x.score(s, p)
	if server == anyServer {
		x.addServerShare(s)
	} else {
		s.matches = slices.DeleteFunc(s.matches, func(m match) bool { return x.serverOf[m.doc] != uint32(server) })
	}
	return found{best: x.best(s.matches, count, 1), total: len(s.matches)}
}

// add adds the impacts of the vector's terms to scores. The conversions prevent
// fused multiply-add, so that scores are the same on every machine.
func (x *postings) add(scores []float32, vector []weighted) {
	for _, v := range vector {
		first, end := x.starts[v.term], x.starts[v.term+1]
		impacts := x.impacts[first:end]
		for i, d := range x.docs[first:end] {
			scores[d] += float32(v.weight * impacts[i])
		}
	}
}

// score adds every tool that matches the plan to the matches, unordered.
func (x *postings) score(s *scratch, p plan) {
	clear(s.whole)
	x.add(s.whole, p.whole)
	best := s.whole
	clear(s.peak)
	if len(p.clauses) > 0 {
		clear(s.best)
		best = s.best
		for _, vector := range p.clauses {
			clear(s.clause)
			x.add(s.clause, vector)
			if top := slices.Max(s.clause); top > 0 {
				for d, v := range s.clause {
					if v > 0 {
						best[d] = max(best[d], v)
						s.peak[d] = max(s.peak[d], v/top)
					}
				}
			}
		}
	}
	x.coverNames(s, p.whole)
	w := &x.weights
	share, coverage := float32(w.clause), float32(w.coverage)
	peak := float32(w.peak) * slices.Max(s.whole)
	s.matches = s.matches[:0]
	for d, whole := range s.whole {
		if whole <= 0 {
			continue
		}
		score := float32((1-share)*whole) + float32(share*best[d]) + float32(peak*s.peak[d])
		s.matches = append(s.matches, match{uint32(d), score * (1 + float32(coverage*min(s.cover[d], 1)))})
	}
}

// coverNames sums the shares of each tool's name that the vector covers.
func (x *postings) coverNames(s *scratch, vector []weighted) {
	clear(s.cover)
	for _, v := range vector {
		first, end := x.nameStarts[v.term], x.nameStarts[v.term+1]
		shares, weight := x.nameShares[first:end], min(v.weight, 1)
		for i, d := range x.nameDocs[first:end] {
			s.cover[d] += float32(weight * shares[i])
		}
	}
}

// addServerShare raises the tools of servers whose best tools score high: the
// right tool rarely is the only good one on its server.
func (x *postings) addServerShare(s *scratch) {
	clear(s.servers)
	for _, m := range s.matches {
		top := &s.servers[x.serverOf[m.doc]]
		switch {
		case m.score > top[0]:
			top[0], top[1], top[2] = m.score, top[0], top[1]
		case m.score > top[1]:
			top[1], top[2] = m.score, top[1]
		case m.score > top[2]:
			top[2] = m.score
		}
	}
	share := float32(x.weights.server / 3)
	for i := range s.matches {
		top := &s.servers[x.serverOf[s.matches[i].doc]]
		s.matches[i].score += float32(share * (top[0] + top[1] + top[2]))
	}
}

// best returns the first count matches in order, with scores of at least least
// in units. A heap with the worst match on top limits the cost of other matches
// to a comparison each.
func (x *postings) best(matches []match, count int, least int64) []hit {
	heap := make([]hit, 0, min(count, len(matches)))
	for _, m := range matches {
		h := hit{m.doc, max(least, int64(math.Round(float64(m.score)*scoreUnits)))}
		switch {
		case len(heap) < count:
			heap = append(heap, h)
			for i := len(heap) - 1; i > 0; {
				parent := (i - 1) / 2
				if x.compare(heap[i], heap[parent]) <= 0 {
					break
				}
				heap[i], heap[parent] = heap[parent], heap[i]
				i = parent
			}
		case count > 0 && x.compare(h, heap[0]) < 0:
			heap[0] = h
			for i := 0; ; {
				last := i
				for child := 2*i + 1; child <= 2*i+2 && child < len(heap); child++ {
					if x.compare(heap[child], heap[last]) > 0 {
						last = child
					}
				}
				if last == i {
					break
				}
				heap[i], heap[last] = heap[last], heap[i]
				i = last
			}
		}
	}
	slices.SortFunc(heap, x.compare)
	return heap
}

// compare orders hits by descending score, then by name.
func (x *postings) compare(a, b hit) int {
	switch {
	case a.score > b.score:
		return -1
	case a.score < b.score:
		return 1
	case x.nameRank[a.doc] < x.nameRank[b.doc]:
		return -1
	case x.nameRank[a.doc] > x.nameRank[b.doc]:
		return 1
	}
	return 0
}

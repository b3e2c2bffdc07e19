package catalog

import (
	"strings"
	"unicode"

	"mcpgateway/services/query"
)

// scratch is the memory of one search, a byte for each row.
type scratch struct {
	scores []uint8 // 0 is out
	term   []uint8
}

func newScratch(rows int) *scratch {
	return &scratch{scores: make([]uint8, rows), term: make([]uint8, rows)}
}

// The scores of a query must fit into a byte.
var _ [255 - query.MaxClauses*tierExact]struct{}

// match calculates the score of every row. The caller gives the scratch back.
func (x *index) match(q *query.Query) *scratch {
	s := x.scratch.Get().(*scratch)
	text := q.Text()
	if len(text) == 0 {
		fill(s.scores, 1)
	}
	for i := range text {
		if i == 0 {
			x.score(text[i].Folded, s.scores)
			continue
		}
		x.score(text[i].Folded, s.term)
		addBoth(s.scores, s.term)
	}
	for i := range q.Clauses {
		c := &q.Clauses[i]
		switch {
		case c.Negated && c.Qualifier != "":
			for _, row := range x.valueOf(c) {
				s.scores[row] = 0
			}
		case c.Negated:
			x.score(c.Folded, s.term)
			takeOut(s.scores, s.term)
		case c.Qualifier != "" && firstOf(q.Clauses, i):
			fill(s.term, 0)
			for j := range q.Clauses[i:] {
				if other := &q.Clauses[i+j]; !other.Negated && other.Qualifier == c.Qualifier {
					for _, row := range x.valueOf(other) {
						s.term[row] = 1
					}
				}
			}
			keepOnly(s.scores, s.term)
		}
	}
	return s
}

func (x *index) valueOf(c *query.Clause) []uint32 {
	return x.values[qualifier{c.Qualifier, c.Folded}]
}

// firstOf reports whether no earlier positive clause has the same qualifier.
func firstOf(clauses []query.Clause, i int) bool {
	for _, c := range clauses[:i] {
		if !c.Negated && c.Qualifier == clauses[i].Qualifier {
			return false
		}
	}
	return true
}

// score sets the tier of a folded term for every row.
func (x *index) score(term string, tiers []uint8) {
	fill(tiers, 0)
	if term == "" || strings.ContainsFunc(term, unicode.IsSpace) {
		x.scorePhrase(term, tiers)
		return
	}
	x.holding(term, func(chunk uint32, way int) {
		byPlace := &x.tiers[way]
		for _, place := range x.placesOf(chunk) {
			row := place >> placeBits
			tiers[row] = max(tiers[row], byPlace[place&(1<<placeBits-1)])
		}
	})
}

// scorePhrase scores a text with white space: its longest part tells which
// rows are worth a look.
func (x *index) scorePhrase(phrase string, tiers []uint8) {
	longest := ""
	for part := range strings.FieldsFuncSeq(phrase, unicode.IsSpace) {
		if len(part) > len(longest) {
			longest = part
		}
	}
	if longest == "" {
		fill(tiers, 1) // nothing but white space
	} else {
		x.score(longest, tiers)
	}
	for row := range tiers {
		if tiers[row] != 0 {
			tiers[row] = x.documents[row].tier(phrase)
		}
	}
}

func fill(list []uint8, value uint8) {
	for i := range list {
		list[i] = value
	}
}

// addBoth adds up the scores of rows that have both.
func addBoth(scores, term []uint8) {
	for i, t := range term[:len(scores)] {
		if s := scores[i]; s != 0 && t != 0 {
			scores[i] = s + t
		} else {
			scores[i] = 0
		}
	}
}

func takeOut(scores, term []uint8) {
	for i, t := range term[:len(scores)] {
		if t != 0 {
			scores[i] = 0
		}
	}
}

func keepOnly(scores, term []uint8) {
	for i, t := range term[:len(scores)] {
		if t == 0 {
			scores[i] = 0
		}
	}
}

// find returns the rows of a query from offset on, at most limit: the best
// score first, equal ones in the order of the rows; and how many there are.
func (x *index) find(q *query.Query, offset, limit int) (rows []uint32, total int) {
	s := x.match(q)
	defer x.scratch.Put(s)
	var counts [256]int
	for _, score := range s.scores {
		counts[score]++
	}
	var next [256]int // the rank of the next row of each score
	for score := 255; score > 0; score-- {
		next[score] = total
		total += counts[score]
	}
	end := min(offset+limit, total)
	if offset >= end {
		return nil, total
	}
	rows = make([]uint32, end-offset)
	missing := len(rows)
	for row, score := range s.scores {
		if score == 0 {
			continue
		}
		rank := next[score]
		next[score]++
		if rank >= offset && rank < end {
			rows[rank-offset] = uint32(row)
			if missing--; missing == 0 {
				break
			}
		}
	}
	return rows, total
}

// each calls found with every row of a query, in no order that means anything.
func (x *index) each(q *query.Query, found func(row uint32)) {
	s := x.match(q)
	defer x.scratch.Put(s)
	for row, score := range s.scores {
		if score != 0 {
			found(uint32(row))
		}
	}
}

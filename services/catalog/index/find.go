package index

import "mcpgateway/services/query"

// scratch is the working memory of a search, one byte per row.
type scratch struct {
	scores []uint8 // 1 plus the sum of the tiers; 0 for rows that don't match
	kept   []uint8
}

func newScratch(rows int) *scratch {
	return &scratch{scores: make([]uint8, rows), kept: make([]uint8, rows)}
}

// The scores of a query must fit in a byte.
var _ [254 - query.MaxClauses*tierExact]struct{}

// scores returns the score of every row. The caller must return the scratch to
// the pool.
func (x *Index) scores(q *query.Query) *scratch {
	s := x.scratch.Get().(*scratch)
	for row := range s.scores {
		s.scores[row] = 1
	}
	for i := range q.Clauses {
		c := &q.Clauses[i]
		switch {
		case c.Qualifier == "":
			x.match(c.Folded, c.Negated, s.scores)
		case c.Negated:
			for _, row := range x.valueOf(c) {
				s.scores[row] = 0
			}
		case firstOf(q.Clauses, i):
			x.keep(q.Clauses[i:], s)
		}
	}
	return s
}

// keep sets the score to 0 for rows without any of the values of the first
// clause's qualifier.
func (x *Index) keep(clauses []query.Clause, s *scratch) {
	clear(s.kept)
	for i := range clauses {
		if c := &clauses[i]; !c.Negated && c.Qualifier == clauses[0].Qualifier {
			for _, row := range x.valueOf(c) {
				s.kept[row] = 1
			}
		}
	}
	for row, kept := range s.kept[:len(s.scores)] {
		s.scores[row] *= kept
	}
}

func (x *Index) valueOf(c *query.Clause) []uint32 {
	return x.values[Value{c.Qualifier, c.Folded}]
}

// firstOf reports whether clause i is the first positive clause with its
// qualifier.
func firstOf(clauses []query.Clause, i int) bool {
	for _, c := range clauses[:i] {
		if !c.Negated && c.Qualifier == clauses[i].Qualifier {
			return false
		}
	}
	return true
}

// Find returns at most limit rows that match a query, starting at offset, and
// the total number of matches. Rows are ordered by descending score, then by
// position.
func (x *Index) Find(q *query.Query, offset, limit int) (rows []uint32, total int) {
	s := x.scores(q)
	defer x.scratch.Put(s)
	var counts [256]int
	for _, score := range s.scores {
		counts[score]++
	}
	var next [256]int // rank of the next row with each score
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

// FindAll returns all rows that match a query, by descending score. Rows with
// equal scores are in order of position, those that last has after the others.
func (x *Index) FindAll(q *query.Query, last []bool) []uint32 {
	s := x.scores(q)
	defer x.scratch.Put(s)
	var next [2 * 256]int // rank of the next row with each score; odd ones are of last rows
	for row, score := range s.scores {
		next[class(score, last[row])]++
	}
	total := 0
	for score := 255; score > 0; score-- {
		for _, c := range []int{class(uint8(score), false), class(uint8(score), true)} {
			next[c], total = total, total+next[c]
		}
	}
	rows := make([]uint32, total)
	for row, score := range s.scores {
		if score != 0 {
			c := class(score, last[row])
			rows[next[c]] = uint32(row)
			next[c]++
		}
	}
	return rows
}

func class(score uint8, last bool) int {
	if last {
		return 2*int(score) + 1
	}
	return 2 * int(score)
}

// Each calls found with every row that matches a query, in any order.
func (x *Index) Each(q *query.Query, found func(row uint32)) {
	s := x.scores(q)
	defer x.scratch.Put(s)
	for row, score := range s.scores {
		if score != 0 {
			found(uint32(row))
		}
	}
}

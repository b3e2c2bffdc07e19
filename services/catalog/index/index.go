// Package index searches a fixed list of rows by scanning their folded texts,
// which are contiguous in memory.
package index

import (
	"strings"
	"sync"
)

// Index searches a fixed list of rows. Rows with equal scores stay in their
// order. It is safe for concurrent use.
type Index struct {
	text   string // of all rows
	rows   []bounds
	counts [256]int           // frequency of each byte in text
	values map[Value][]uint32 // rows with a value

	scratch sync.Pool // of *scratch
}

// New returns an index of n rows of about size bytes.
func New(n, size int, document func(row int) Document) *Index {
	b := builder{rows: make([]bounds, 0, n)}
	b.text.Grow(size)
	x := &Index{values: map[Value][]uint32{}}
	for row := range n {
		d := document(row)
		b.add(d)
		for _, v := range d.Values {
			rows := x.values[v]
			if len(rows) == 0 || rows[len(rows)-1] != uint32(row) {
				x.values[v] = append(rows, uint32(row))
			}
		}
	}
	x.text, x.rows = b.text.String(), b.rows
	for i := range len(x.text) {
		x.counts[x.text[i]]++
	}
	x.scratch.New = func() any { return newScratch(n) }
	return x
}

// Title returns the folded title of a row.
func (x *Index) Title(row int) string { return x.text[x.start(row):x.rows[row].title] }

// FirstName returns the first folded name of a row, which must have at least
// one.
func (x *Index) FirstName(row int) string {
	names := x.text[x.rows[row].title+1:]
	return names[:strings.IndexByte(names, separator)]
}

// match adds the tier of a folded term to the score of every row that contains
// it, and sets the score of the other rows to 0. If negated, it sets the score
// of rows with the term to 0.
func (x *Index) match(term string, negated bool, scores []uint8) {
	rare, hit := x.rarest(term), -1 // first occurrence at or after the row's start
	start := 0
	for row, score := range scores {
		end := int(x.rows[row].end)
		if score != 0 {
			if hit < start {
				hit = x.next(start, term, rare)
			}
			switch found := hit < end; {
			case found == negated:
				scores[row] = 0
			case found:
				scores[row] = score + x.tier(row, hit, term)
			}
		}
		start = end
	}
}

// rarest returns the position of the term's byte that is rarest in the text.
func (x *Index) rarest(term string) (at int) {
	for i := range len(term) {
		if x.counts[term[i]] < x.counts[term[at]] {
			at = i
		}
	}
	return at
}

// next returns the next occurrence of a term in the text, or the end of the
// text. Searching for its rarest byte first is faster than strings.Index.
func (x *Index) next(from int, term string, rare int) int {
	if term == "" {
		return from
	}
	c := term[rare]
	for at := from + rare; at < len(x.text); at++ {
		skip := strings.IndexByte(x.text[at:], c)
		if skip < 0 {
			break
		}
		at += skip
		if strings.HasPrefix(x.text[at-rare:], term) {
			return at - rare
		}
	}
	return len(x.text)
}

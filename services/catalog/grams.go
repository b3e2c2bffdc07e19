package catalog

import "strings"

// grams lists the chunks that hold a sequence of one, two or three bytes, and
// the best way in which each does, so that short terms need no look at the
// chunks at all. Bytes do as well as letters: no letter begins within another.
type grams struct {
	one   [][]uint32 // chunk<<wayBits | way, by the byte
	two   [][]uint32
	three map[uint32][]uint32
}

const wayBits = 2

func newGrams(chunks []string) grams {
	g := grams{one: make([][]uint32, 1<<8), two: make([][]uint32, 1<<16), three: make(map[uint32][]uint32, 1<<14)}
	for i, chunk := range chunks {
		id := uint32(i)
		for at := range len(chunk) {
			way := wayAt(chunk, at)
			key := uint32(chunk[at])
			g.one[key] = note(g.one[key], id, whole(way, chunk, 1))
			if at+1 < len(chunk) {
				key = key<<8 | uint32(chunk[at+1])
				g.two[key] = note(g.two[key], id, whole(way, chunk, 2))
			}
			if at+2 < len(chunk) {
				key = key<<8 | uint32(chunk[at+2])
				g.three[key] = note(g.three[key], id, whole(way, chunk, 3))
			}
		}
	}
	return g
}

// wayAt returns the way in which a chunk holds what begins at a byte and does
// not fill it.
func wayAt(chunk string, at int) uint32 {
	switch {
	case at == 0:
		return heldAsPrefix
	case wordStartsAt(chunk, at):
		return heldAtWordStart
	}
	return heldInside
}

func whole(way uint32, chunk string, size int) uint32 {
	if len(chunk) == size {
		return heldAsWhole
	}
	return way
}

// note adds a chunk to a list, or a better way to the chunk that ends it.
func note(list []uint32, chunk, way uint32) []uint32 {
	if n := len(list); n > 0 && list[n-1]>>wayBits == chunk {
		list[n-1] = max(list[n-1], chunk<<wayBits|way)
		return list
	}
	return append(list, chunk<<wayBits|way)
}

// exact returns the chunks that hold a term of one to three bytes.
func (g *grams) exact(term string) []uint32 {
	switch len(term) {
	case 1:
		return g.one[term[0]]
	case 2:
		return g.two[uint32(term[0])<<8|uint32(term[1])]
	}
	return g.three[uint32(term[0])<<16|uint32(term[1])<<8|uint32(term[2])]
}

// rarest returns the shortest list of chunks that must hold every chunk with a
// term of three bytes or more.
func (g *grams) rarest(term string) []uint32 {
	best := g.exact(term[:3])
	for at := 1; at+3 <= len(term); at++ {
		if list := g.exact(term[at : at+3]); len(list) < len(best) {
			best = list
		}
	}
	return best
}

// holding calls found with every chunk that holds a term, which has no white
// space and is not empty, and the way in which it does.
func (x *index) holding(term string, found func(chunk uint32, way int)) {
	if len(term) <= 3 {
		for _, entry := range x.grams.exact(term) {
			found(entry>>wayBits, int(entry&(1<<wayBits-1)))
		}
		return
	}
	for _, entry := range x.grams.rarest(term) {
		chunk := x.chunks[entry>>wayBits]
		if len(chunk) < len(term) || !strings.Contains(chunk, term) {
			continue
		}
		if way, ok := held(chunk, term); ok {
			found(entry>>wayBits, way)
		}
	}
}

package catalog

import (
	"strings"
	"sync"
	"unicode"
)

// index answers queries over a fixed list of rows, whose order is that of
// results that are equally good. A term without white space can only lie
// within a chunk, a run without white space, and most chunks stand in many
// rows; so terms are looked for in the chunks and not in the rows. An index is
// never changed and safe for concurrent use.
type index struct {
	documents []document
	chunks    []string
	ends      []uint32 // of each chunk's places, which begin where those before end
	places    []uint32 // row<<placeBits | where, by chunk and row
	grams     grams
	values    map[qualifier][]uint32 // the rows that have a value
	tiers     tierTable

	scratch sync.Pool // of *scratch
}

// Where a chunk stands in a row, as bits: it may be in several places.
const (
	inDescription = 1 << iota
	inTopics
	inNames
	inTitle
	atTitleStart
	isTitle
	placeBits = iota
)

// tierTable is the tier of a term by the way in which a chunk holds it and by
// where the chunk stands.
type tierTable [heldAsWhole + 1][1 << placeBits]uint8

func newTierTable() (tiers tierTable) {
	for way := range tiers {
		for where := range tiers[way] {
			tiers[way][where] = placeTier(way, where)
		}
	}
	return tiers
}

func placeTier(way, where int) uint8 {
	switch {
	case where&isTitle != 0 && way == heldAsWhole:
		return tierExact
	case where&atTitleStart != 0 && way >= heldAsPrefix:
		return tierPrefix
	case where&inTitle != 0 && way >= heldAtWordStart:
		return tierWordStart
	case where&inTitle != 0:
		return tierInside
	case where&inNames != 0:
		return tierName
	case where&inTopics != 0:
		return tierTopic
	case where&inDescription != 0:
		return tierDescription
	}
	return tierNone
}

// newIndex returns the index of the rows; MaxRows leaves room for the places.
func newIndex(documents []document) *index {
	x := &index{documents: documents, values: map[qualifier][]uint32{}, tiers: newTierTable()}
	x.scratch.New = func() any { return newScratch(len(documents)) }
	r := chunkReader{ids: make(map[string]uint32, len(documents))}
	for row := range documents {
		d := &documents[row]
		r.row = uint32(row)
		r.readTitle(d.title)
		for _, name := range d.names {
			r.read(name, inNames)
		}
		for _, topic := range d.topics {
			r.read(topic, inTopics)
		}
		r.read(d.description, inDescription)
		for _, q := range d.qualifiers {
			rows := x.values[q]
			if len(rows) == 0 || rows[len(rows)-1] != uint32(row) {
				x.values[q] = append(rows, uint32(row))
			}
		}
	}
	x.chunks = r.chunks
	x.ends, x.places = r.arrange()
	x.grams = newGrams(x.chunks)
	return x
}

// chunkReader collects the chunks of all rows and where they stand.
type chunkReader struct {
	ids    map[string]uint32
	chunks []string
	last   []uint32 // the latest place of each chunk, as an index of found
	found  []foundChunk
	counts []uint32 // places of each chunk
	row    uint32
}

type foundChunk struct {
	chunk uint32
	place uint32
}

func (r *chunkReader) readTitle(title string) {
	begun := false
	for chunk := range strings.FieldsFuncSeq(title, unicode.IsSpace) {
		where := uint32(inTitle)
		if !begun && strings.HasPrefix(title, chunk) {
			where |= atTitleStart
		}
		if len(chunk) == len(title) {
			where |= isTitle
		}
		begun = true
		r.add(chunk, where)
	}
}

func (r *chunkReader) read(text string, where uint32) {
	for chunk := range strings.FieldsFuncSeq(text, unicode.IsSpace) {
		r.add(chunk, where)
	}
}

// add notes a chunk of the present row; all of its places in one row are one.
func (r *chunkReader) add(chunk string, where uint32) {
	id, known := r.ids[chunk]
	if !known {
		id = uint32(len(r.chunks))
		r.ids[chunk] = id
		r.chunks = append(r.chunks, chunk)
		r.counts = append(r.counts, 0)
		r.last = append(r.last, 0)
	} else if last := &r.found[r.last[id]]; last.place>>placeBits == r.row {
		last.place |= where
		return
	}
	r.last[id] = uint32(len(r.found))
	r.counts[id]++
	r.found = append(r.found, foundChunk{id, r.row<<placeBits | where})
}

// arrange returns the places sorted by chunk, and within one by row, and where
// those of each chunk end.
func (r *chunkReader) arrange() (ends, places []uint32) {
	ends, places = r.counts, make([]uint32, len(r.found))
	sum := uint32(0)
	for i, n := range ends {
		ends[i] = sum // where they begin, until they are filled in
		sum += n
	}
	for _, f := range r.found {
		places[ends[f.chunk]] = f.place
		ends[f.chunk]++
	}
	return ends, places
}

// placesOf returns the places of a chunk.
func (x *index) placesOf(chunk uint32) []uint32 {
	begin := uint32(0)
	if chunk > 0 {
		begin = x.ends[chunk-1]
	}
	return x.places[begin:x.ends[chunk]]
}

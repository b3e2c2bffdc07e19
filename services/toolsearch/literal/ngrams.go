package literal

import "mcpgateway/services/query"

// ngramSet is a Bloom filter of a tool's bigrams and trigrams of bytes. A text
// without one of a term's n-grams can't contain the term, and the check is
// faster than a search.
type ngramSet [32]uint64

const pairBits = 32 * 64

// appendPairs appends the hashes of text's n-grams.
func appendPairs(hashes []uint16, text string) []uint16 {
	for i := 1; i < len(text); i++ {
		hash := uint32(text[i-1])*37 + uint32(text[i])*239
		hashes = append(hashes, uint16(hash%pairBits))
		if i > 1 {
			hashes = append(hashes, uint16((hash*31+uint32(text[i-2])*1009)%pairBits))
		}
	}
	return hashes
}

func (p *ngramSet) add(text string) {
	for _, h := range appendPairs(nil, text) {
		p[h/64] |= 1 << (h % 64)
	}
}

// hasAll reports whether the texts may contain all hashed n-grams.
func (p *ngramSet) hasAll(hashes []uint16) bool {
	for _, h := range hashes {
		if p[h/64]&(1<<(h%64)) == 0 {
			return false
		}
	}
	return true
}

// probes caches the hashed n-grams of a query's clauses.
type probes []probe

type probe struct {
	clause *query.Clause
	hashes []uint16
}

func (p *probes) hashes(c *query.Clause) []uint16 {
	for i := range *p {
		if (*p)[i].clause == c {
			return (*p)[i].hashes
		}
	}
	hashes := appendPairs(nil, c.Folded)
	*p = append(*p, probe{c, hashes})
	return hashes
}

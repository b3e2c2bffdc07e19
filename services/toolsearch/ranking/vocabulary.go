package ranking

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"

	"mcpgateway/services/toolsearch/analyzer"
)

// Limits of corrections of unknown words in a task.
const (
	minFuzzyWord   = 4 // bytes; shorter words are never corrected
	minFuzzyFar    = 8 // bytes; minimum for corrections of two edits
	maxCompletion  = 6 // missing letters at the end of a word
	maxCorrections = 3 // terms per corrected word
)

// vocabulary contains the words of an index, to correct misspelled and
// truncated words.
type vocabulary struct {
	words []surface // sorted by length, then alphabetically
	marks []uint32  // letter set by word
	df    []uint32  // document frequency by term
	// The words of n bytes start at byLength[n].
	byLength [analyzer.MaxWordBytes + 2]uint32
}

func newVocabulary(surfaces []surface, df []uint32) vocabulary {
	v := vocabulary{df: df}
	for _, s := range surfaces {
		if len(s.word) >= minFuzzyWord-1 && isLetters(s.word) {
			v.words = append(v.words, s)
		}
	}
	slices.SortFunc(v.words, func(a, b surface) int {
		if c := cmp.Compare(len(a.word), len(b.word)); c != 0 {
			return c
		}
		return cmp.Compare(a.word, b.word)
	})
	v.marks = make([]uint32, len(v.words))
	length := 0
	for i, s := range v.words {
		v.marks[i] = letterSet(s.word)
		for ; length <= len(s.word); length++ {
			v.byLength[length] = uint32(i)
		}
	}
	for ; length < len(v.byLength); length++ {
		v.byLength[length] = uint32(len(v.words))
	}
	return v
}

func isLetters(word string) bool {
	for i := range len(word) {
		if word[i] < 'a' || word[i] > 'z' {
			return false
		}
	}
	return true
}

func letterSet(word string) uint32 {
	set := uint32(0)
	for i := range len(word) {
		set |= 1 << (word[i] - 'a')
	}
	return set
}

// near returns at most limit terms of the words closest to word by
// Damerau-Levenshtein distance, most frequent first. Short words may differ by
// one edit, long ones by two.
func (v *vocabulary) near(word string, limit int) []uint32 {
	if len(word) < minFuzzyWord || len(word) > analyzer.MaxWordBytes || !isLetters(word) {
		return nil
	}
	reach := 1
	if len(word) >= minFuzzyFar {
		reach = 2
	}
	set := letterSet(word)
	var terms []uint32
	closest := reach
	for length := max(len(word)-reach, minFuzzyWord-1); length <= min(len(word)+reach, analyzer.MaxWordBytes); length++ {
		first, end := v.byLength[length], v.byLength[length+1]
		for i, marks := range v.marks[first:end] {
			if bits.OnesCount32(marks^set) > 2*closest {
				continue
			}
			s := &v.words[int(first)+i]
			d := Distance(word, s.word, closest)
			if d < closest {
				terms, closest = terms[:0], d
			}
			if d == closest {
				terms = append(terms, s.term)
			}
		}
	}
	return v.commonest(terms, limit)
}

// completions returns at most limit terms of the words that start with word,
// most frequent first.
func (v *vocabulary) completions(word string, limit int) []uint32 {
	if len(word) < minFuzzyWord || !isLetters(word) {
		return nil
	}
	var terms []uint32
	for length := len(word) + 1; length <= min(len(word)+maxCompletion, analyzer.MaxWordBytes); length++ {
		words := v.words[v.byLength[length]:v.byLength[length+1]]
		at, _ := slices.BinarySearchFunc(words, word, func(s surface, w string) int { return cmp.Compare(s.word, w) })
		for ; at < len(words) && strings.HasPrefix(words[at].word, word); at++ {
			terms = append(terms, words[at].term)
		}
	}
	return v.commonest(terms, limit)
}

// commonest returns at most limit distinct terms, most frequent first.
func (v *vocabulary) commonest(terms []uint32, limit int) []uint32 {
	slices.SortFunc(terms, func(a, b uint32) int {
		if c := cmp.Compare(v.df[b], v.df[a]); c != 0 {
			return c
		}
		return cmp.Compare(a, b)
	})
	terms = slices.Compact(terms)
	return terms[:min(len(terms), limit)]
}

// Distance returns the number of insertions, deletions, replacements and
// transpositions between a and b (optimal string alignment), or reach+1 if it
// exceeds reach.
func Distance(a, b string, reach int) int {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	if len(a) == 0 || len(b) == 0 {
		return min(len(a)+len(b), reach+1)
	}
	var rows [3][analyzer.MaxWordBytes + 1]uint8
	before, last, row := &rows[0], &rows[1], &rows[2]
	for j := range len(b) + 1 {
		last[j] = uint8(j)
	}
	for i := 1; i <= len(a); i++ {
		row[0] = uint8(i)
		best := row[0]
		for j := 1; j <= len(b); j++ {
			cost := uint8(1)
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d := min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, before[j-2]+1)
			}
			row[j] = d
			best = min(best, d)
		}
		if int(best) > reach {
			return reach + 1
		}
		before, last, row = last, row, before
	}
	return min(int(last[len(b)]), reach+1)
}

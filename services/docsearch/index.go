// Package docsearch finds sections of the documentation by their words.
package docsearch

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"mcpgateway/services/toolsearch/analyzer"
)

// Section is the text below one heading of a page.
type Section struct {
	URL     string // with the heading's fragment
	Page    string // title of the page
	Heading string // equals Page for the text before the first heading
	Text    string
}

// Weights of the places where a term occurs, and saturation of its count.
const (
	pageWeight    = 3
	headingWeight = 6
	textWeight    = 1
	saturation    = 2
)

// Index finds sections. It is immutable and safe for concurrent use.
type Index struct {
	sections []Section
	postings map[string][]posting
}

type posting struct {
	section int
	weight  float64
}

// New returns an index of sections.
func New(sections []Section) *Index {
	x := &Index{sections: sections, postings: map[string][]posting{}}
	for i, s := range sections {
		weights := map[string]float64{}
		for _, place := range []struct {
			text   string
			weight float64
		}{{s.Text, textWeight}, {s.Heading, headingWeight}, {s.Page, pageWeight}} {
			for _, term := range analyzer.Terms(place.text) {
				weights[term] += place.weight
			}
		}
		for term, weight := range weights {
			x.postings[term] = append(x.postings[term], posting{i, weight})
		}
	}
	return x
}

// Result is a section with an excerpt around the first term found in it.
type Result struct {
	Section
	Excerpt string
}

// Find returns at most limit sections, best first: those with the most terms
// of the query, then by the weight of the places and the rarity of the terms.
func (x *Index) Find(query string, limit int) []Result {
	terms := analyzer.Terms(query)
	slices.Sort(terms)
	terms = slices.Compact(terms)
	type scored struct {
		section, found int
		score          float64
	}
	bySection := map[int]*scored{}
	for _, term := range terms {
		idf := math.Log(1 + float64(len(x.sections))/float64(1+len(x.postings[term])))
		for _, p := range x.postings[term] {
			s := bySection[p.section]
			if s == nil {
				s = &scored{section: p.section}
				bySection[p.section] = s
			}
			s.found++
			s.score += idf * p.weight / (p.weight + saturation)
		}
	}
	hits := make([]*scored, 0, len(bySection))
	for _, s := range bySection {
		hits = append(hits, s)
	}
	slices.SortFunc(hits, func(a, b *scored) int {
		return cmp.Or(cmp.Compare(b.found, a.found), cmp.Compare(b.score, a.score), cmp.Compare(a.section, b.section))
	})
	results := make([]Result, 0, min(limit, len(hits)))
	for _, s := range hits[:min(limit, len(hits))] {
		section := x.sections[s.section]
		results = append(results, Result{section, excerpt(section.Text, terms)})
	}
	return results
}

// excerptLength is the maximum length of an excerpt, in bytes.
const excerptLength = 200

// excerpt returns the words of text from the sentence with the first term on.
func excerpt(text string, terms []string) string {
	words := strings.Fields(text)
	start := 0
	for i, word := range words {
		if found := analyzer.Terms(word); len(found) > 0 && slices.Contains(terms, found[0]) {
			for start = i; start > 0 && !strings.HasSuffix(words[start-1], ".") && i-start < 12; start-- {
			}
			break
		}
	}
	var b strings.Builder
	if start > 0 {
		b.WriteString("… ")
	}
	for _, word := range words[start:] {
		if b.Len()+len(word) > excerptLength {
			b.WriteString("…")
			break
		}
		b.WriteString(word + " ")
	}
	return strings.TrimSpace(b.String())
}

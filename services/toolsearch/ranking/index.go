// Package ranking is the index of tools: ranked for a task in natural language,
// and found by a query.
package ranking

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"mcpgateway/services/toolsearch/analyzer"
	"mcpgateway/services/toolsearch/literal"
	"mcpgateway/services/toolsearch/tooltext"
	"mcpgateway/services/toolset"
)

// Index is the immutable search index of a project's visible tools. It is safe
// for concurrent use.
type Index struct {
	tools []*toolset.Tool
	core  *postings
}

// maxFieldWords is the maximum number of words of one field of one tool. The rest
// is not searched.
const maxFieldWords = 2_000

// postings is the part of an index that refers to tools only by position.
type postings struct {
	weights weights
	size    int // number of tools

	terms map[string]uint32
	// The tools that contain term t are docs[starts[t]:starts[t+1]]. impacts
	// has the term's contribution to each tool's score (its impact).
	starts  []uint32
	docs    []uint32
	impacts []float32
	// The same for names: the term's share of the tool's name.
	nameStarts []uint32
	nameDocs   []uint32
	nameShares []float32

	vocabulary vocabulary
	serverOf   []uint32 // server number by tool
	numbers    map[string]uint32
	servers    int
	nameRank   []uint32 // rank of the name by tool, for ties

	literalOnce sync.Once
	literals    *literal.Texts

	scratch sync.Pool
}

// Special server numbers.
const (
	anyServer = -1
	noServer  = -2
)

// Build returns the index of a snapshot's visible tools in any order. It
// retains the slice.
func Build(tools []*toolset.Tool) *Index { return build(tools, standardWeights()) }

// Over returns an index of tools that reuses x if the searched texts are the
// same, and nil otherwise. It costs a fraction of Build.
func (x *Index) Over(tools []*toolset.Tool) *Index {
	same := func(a, b *toolset.Tool) bool {
		return a.Name == b.Name && a.FullName == b.FullName && a.Hash == b.Hash && a.SameOverride(b)
	}
	if x == nil || !slices.EqualFunc(x.tools, tools, same) {
		return nil
	}
	return &Index{tools: tools, core: x.core}
}

// Len returns the number of tools.
func (x *Index) Len() int { return len(x.tools) }

// entry is a term in a tool with its frequency per field.
type entry struct {
	term  uint32
	count [tooltext.Fields]uint16
}

// builder contains the temporary state of building an index.
type builder struct {
	index    *postings
	words    map[string]knownWord
	surfaces []surface
	stop     []bool // whether a term is a stop word

	entries []entry  // of all tools, in order
	ends    []uint32 // end of each tool's entries
	lengths [tooltext.Fields][]uint32
	latest  []uint32 // 1 + a term's entry in the current tool
}

// knownWord is a word of the tools.
type knownWord struct {
	term  uint32
	clues analyzer.Clues
}

type surface struct {
	word string
	term uint32
}

func build(tools []*toolset.Tool, w weights) *Index {
	x := post(len(tools), w, func(i int) tooltext.Text { return tooltext.Read(tools[i]) })
	x.rankNames(func(a, b uint32) int { return cmp.Compare(tools[a].Name, tools[b].Name) })
	x.numberServers(tools)
	return &Index{tools: tools, core: x}
}

// post returns the postings of n documents. Names and servers are missing.
func post(n int, w weights, read func(i int) tooltext.Text) *postings {
	x := &postings{weights: w, size: n, terms: map[string]uint32{}}
	b := &builder{index: x, words: map[string]knownWord{}}
	for i := range n {
		b.read(read(i))
	}
	df := b.frequencies()
	b.post(df)
	b.postNames(df)
	x.vocabulary = newVocabulary(b.surfaces, df)
	return x
}

// read appends the entries of a tool.
func (b *builder) read(doc tooltext.Text) {
	first := uint32(len(b.entries))
	var e analyzer.Evidence
	for field, texts := range doc {
		length := uint32(0)
		total := 0
		for _, text := range texts {
			analyzer.Words(text, func(word string, whole bool) bool {
				if total++; total > maxFieldWords {
					return false
				}
				if len(word) > analyzer.MaxWordBytes {
					return true
				}
				known := b.known(word)
				e.Add(known.clues)
				if !b.stop[known.term] && !whole {
					length++
				}
				b.count(known.term, field, first)
				return true
			})
		}
		b.lengths[field] = append(b.lengths[field], length)
	}
	if latin, other := e.ToolLanguage(); other {
		for field, texts := range doc {
			for _, text := range texts {
				analyzer.Translations(text, latin, e.Main(), func(_, english string) { b.count(b.known(english).term, field, first) })
			}
		}
	}
	b.ends = append(b.ends, uint32(len(b.entries)))
}

// count adds an occurrence of a term in a field of the tool whose entries start
// at first.
func (b *builder) count(term uint32, field int, first uint32) {
	at := b.latest[term]
	if at <= first {
		b.entries = append(b.entries, entry{term: term})
		at = uint32(len(b.entries))
		b.latest[term] = at
	}
	if c := &b.entries[at-1].count[field]; *c < math.MaxUint16 {
		*c++
	}
}

// known returns the term number and the clues of a word.
func (b *builder) known(word string) knownWord {
	if known, ok := b.words[word]; ok {
		return known
	}
	stemmed := analyzer.Stem(word)
	term, ok := b.index.terms[stemmed]
	if !ok {
		term = uint32(len(b.index.terms))
		b.index.terms[stemmed] = term
		b.stop = append(b.stop, analyzer.IsStop(word))
		b.latest = append(b.latest, 0)
	}
	clues, _ := analyzer.CluesOf(word)
	known := knownWord{term, clues}
	b.words[word] = known
	b.surfaces = append(b.surfaces, surface{word, term})
	return known
}

// frequencies returns the number of tools with each term.
func (b *builder) frequencies() []uint32 {
	df := make([]uint32, len(b.index.terms))
	for i := range b.entries {
		df[b.entries[i].term]++
	}
	return df
}

// idf returns the inverse document frequency of a term in df tools. It is
// always positive.
func (x *postings) idf(df uint32) float64 {
	n, f := float64(x.size), float64(df)
	return math.Log(1 + (n-f+0.5)/(f+0.5))
}

func (x *postings) idfOf(term uint32) float64 { return x.idf(x.starts[term+1] - x.starts[term]) }

// post groups the postings by term and computes their impacts (BM25F).
func (b *builder) post(df []uint32) {
	x, w := b.index, &b.index.weights
	x.starts = offsets(df)
	x.docs = make([]uint32, len(b.entries))
	x.impacts = make([]float32, len(b.entries))
	next := slices.Clone(x.starts)
	var mean [tooltext.Fields]float64
	for f, lengths := range b.lengths {
		sum, n := 0.0, 0.0
		for _, l := range lengths {
			sum += float64(l)
			if l > 0 {
				n++
			}
		}
		mean[f] = max(sum/max(n, 1), 1)
	}
	first := uint32(0)
	for d, end := range b.ends {
		var scale [tooltext.Fields]float64
		for f := range scale {
			l := float64(b.lengths[f][d]) / mean[f]
			scale[f] = w.field[f] / (1 - w.b[f] + w.b[f]*l)
		}
		for _, e := range b.entries[first:end] {
			tf := 0.0
			for f, c := range e.count {
				tf += scale[f] * float64(c)
			}
			at := next[e.term]
			next[e.term]++
			x.docs[at] = uint32(d)
			x.impacts[at] = float32(x.idf(df[e.term]) * tf / (w.k1 + tf))
		}
		first = end
	}
}

// postNames computes each term's share of a tool's name, weighted by idf, so
// that covering a rare word counts more.
func (b *builder) postNames(df []uint32) {
	x := b.index
	counts := make([]uint32, len(df))
	inName := func(e entry) bool { return e.count[tooltext.Name] > 0 && !b.stop[e.term] }
	for _, e := range b.entries {
		if inName(e) {
			counts[e.term]++
		}
	}
	x.nameStarts = offsets(counts)
	total := x.nameStarts[len(counts)]
	x.nameDocs = make([]uint32, total)
	x.nameShares = make([]float32, total)
	next := slices.Clone(x.nameStarts)
	first := uint32(0)
	for d, end := range b.ends {
		sum := 0.0
		for _, e := range b.entries[first:end] {
			if inName(e) {
				sum += x.idf(df[e.term])
			}
		}
		for _, e := range b.entries[first:end] {
			if inName(e) {
				at := next[e.term]
				next[e.term]++
				x.nameDocs[at] = uint32(d)
				x.nameShares[at] = float32(x.idf(df[e.term]) / sum)
			}
		}
		first = end
	}
}

// offsets returns the start of each run in a sequence of runs of the given
// sizes, and the end of the last one.
func offsets(sizes []uint32) []uint32 {
	out := make([]uint32, len(sizes)+1)
	for i, n := range sizes {
		out[i+1] = out[i] + n
	}
	return out
}

// rankNames sets the order of documents with equal scores.
func (x *postings) rankNames(compare func(a, b uint32) int) {
	order := make([]uint32, x.size)
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, compare)
	x.nameRank = make([]uint32, len(order))
	for rank, d := range order {
		x.nameRank[d] = uint32(rank)
	}
}

func (x *postings) numberServers(tools []*toolset.Tool) {
	x.numbers = map[string]uint32{}
	x.serverOf = make([]uint32, len(tools))
	for i, tool := range tools {
		alias := tool.Server.Config.Alias
		n, ok := x.numbers[alias]
		if !ok {
			n = uint32(len(x.numbers))
			x.numbers[alias] = n
		}
		x.serverOf[i] = n
	}
	x.servers = len(x.numbers)
}

// serverNumber returns the number of an alias. Empty means any server.
func (x *postings) serverNumber(alias string) int {
	if alias == "" {
		return anyServer
	}
	if n, ok := x.numbers[alias]; ok {
		return int(n)
	}
	return noServer
}

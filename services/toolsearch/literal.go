package toolsearch

import (
	"strings"
	"unicode/utf8"

	"mcpgateway/services/query"
	"mcpgateway/services/toolset"
)

// literal contains the folded texts of a tool for the query mode.
type literal struct {
	fullName    string
	exported    string // differs from fullName if the project limits names
	names       []name // upstream name and titles
	server      string
	description string
	params      []string
	readOnly    bool
	destructive bool
	all         string // all texts above, to rule out a term with one search
}

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

// name is a folded text with the positions of its words.
type name struct {
	text   string
	starts []int
}

// readLiterals returns the literals of the tools and, in a separate array for
// sequential access, the n-grams of each.
func readLiterals(tools []*toolset.Tool) ([]literal, []ngramSet) {
	out, marks := make([]literal, len(tools)), make([]ngramSet, len(tools))
	for i, tool := range tools {
		l := &out[i]
		l.read(tool)
		texts := append([]string{l.fullName, l.exported, l.server, l.description}, l.params...)
		for _, n := range l.names {
			texts = append(texts, n.text)
		}
		for _, text := range texts {
			marks[i].add(text)
		}
		l.all = strings.Join(texts, "\n")
	}
	return out, marks
}

// read sets all texts of a tool except all.
func (l *literal) read(tool *toolset.Tool) {
	doc := readTool(tool)
	l.fullName = query.Fold(strings.ToValidUTF8(tool.FullName, " "))
	l.exported = query.Fold(strings.ToValidUTF8(tool.Name, " "))
	for _, text := range doc.text[fieldName] {
		l.names = append(l.names, newName(text))
	}
	l.server = query.Fold(strings.ToValidUTF8(tool.Server.Config.Alias, " "))
	for _, text := range doc.text[fieldDescription] {
		l.description = query.Fold(clip(text, maxLiteralText))
	}
	for _, text := range doc.text[fieldParam] {
		l.params = append(l.params, query.Fold(text))
	}
	l.readOnly, l.destructive = tool.Hints.ReadOnly, tool.Hints.Destructive
}

// newName folds text and records the starts of words: after characters other
// than letters and digits, and at camelCase capitals.
func newName(text string) name {
	text = clip(text, maxLiteralText)
	var b strings.Builder
	var starts []int
	last := classOther
	for at, r := range text {
		c := classify(r)
		if c != classOther && (last == classOther || last == classLower && c == classUpper) {
			starts = append(starts, b.Len())
		}
		last = c
		b.WriteString(query.Fold(text[at : at+utf8.RuneLen(r)]))
	}
	folded := query.Fold(text)
	if b.String() == folded {
		return name{folded, starts}
	}
	// Combining letters shift positions, and the folded text has no capitals to
	// find them again.
	starts = starts[:0]
	last = classOther
	for at, r := range folded {
		c := classify(r)
		if c != classOther && last == classOther {
			starts = append(starts, at)
		}
		last = c
	}
	return name{folded, starts}
}

// clip truncates text to at most n bytes without splitting a character.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// The tiers of a term by its best match position (contract, "Built-in tools").
// A query's score is their sum.
const (
	tierNone = iota
	tierParam
	tierDescription
	tierServer
	tierInside
	tierWordStart
	tierPrefix
	tierExact
)

// tier returns the tier of a folded term in the tool.
func (l *literal) tier(term string) int {
	best := tierNone
	if l.fullName == term || l.exported == term {
		return tierExact
	}
	// Only a term with the separator is matched against the name with alias.
	// Any other term would match the alias.
	if strings.Contains(term, toolset.Separator) {
		switch at := strings.Index(l.fullName, term); {
		case at == 0:
			best = tierPrefix
		case at > 0:
			best = tierInside
		}
	}
	for i := range l.names {
		best = max(best, l.names[i].tier(term))
	}
	switch {
	case best != tierNone:
		return best
	case strings.Contains(l.server, term):
		return tierServer
	case strings.Contains(l.description, term):
		return tierDescription
	case l.hasParam(term):
		return tierParam
	}
	return tierNone
}

func (n *name) tier(term string) int {
	switch at := strings.Index(n.text, term); {
	case at < 0:
		return tierNone
	case at == 0 && len(term) == len(n.text):
		return tierExact
	case at == 0:
		return tierPrefix
	}
	for _, start := range n.starts {
		if strings.HasPrefix(n.text[start:], term) {
			return tierWordStart
		}
	}
	return tierInside
}

func (l *literal) hasParam(term string) bool {
	for _, p := range l.params {
		if strings.Contains(p, term) {
			return true
		}
	}
	return false
}

// holdsAll reports whether the tool matches every text clause.
func (l *literal) holdsAll(text []query.Clause) bool {
	for i := range text {
		if !strings.Contains(l.all, text[i].Folded) {
			return false
		}
	}
	return true
}

// holds reports whether the tool matches a clause, ignoring its negation, and
// the tier of a text clause. If may is false, its texts can't contain the
// clause and are not searched.
func (l *literal) holds(c *query.Clause, may bool) (tier int, ok bool) {
	switch c.Qualifier {
	case "server":
		return 0, l.server == c.Folded
	case "name":
		return 0, may && l.nameContains(c.Folded)
	case "param":
		return 0, may && l.hasParam(c.Folded)
	case "readonly":
		return 0, l.readOnly == c.Bool
	case "destructive":
		return 0, l.destructive == c.Bool
	}
	if may {
		tier = l.tier(c.Folded)
	}
	return tier, tier != tierNone
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

func (l *literal) nameContains(text string) bool {
	if strings.Contains(l.fullName, text) && (strings.Contains(text, toolset.Separator) || l.fullName == text) {
		return true
	}
	for i := range l.names {
		if strings.Contains(l.names[i].text, text) {
			return true
		}
	}
	return false
}

// literals returns the literals of the tools. They are created for the first
// query and shared by all indexes of these postings.
func (x *postings) literals(tools []*toolset.Tool) ([]literal, []ngramSet) {
	x.literalOnce.Do(func() { x.literalTools, x.literalPairs = readLiterals(tools) })
	return x.literalTools, x.literalPairs
}

// find returns the tools that match a query, best first and then by name.
// Scores are sums of tiers; without text all are 0. Matches calls its function
// once for every text clause, so the tiers can be added there.
func (x *Index) find(q *query.Query, count int) found {
	var matches []match
	var known probes
	literals, marks := x.core.literals(x.tools)
	// Every positive text must match, so a tool without all n-grams is skipped.
	// For most queries that is most tools.
	var required []uint16
	text := q.Text()
	for i := range text {
		required = appendPairs(required, text[i].Folded)
	}
	for d := range literals {
		if !marks[d].hasAll(required) || !literals[d].holdsAll(text) {
			continue
		}
		sum := 0
		matched := q.Matches(func(c *query.Clause) bool {
			tier, ok := literals[d].holds(c, marks[d].hasAll(known.hashes(c)))
			if !c.Negated {
				sum += tier
			}
			return ok
		})
		if matched {
			matches = append(matches, match{uint32(d), float32(sum)})
		}
	}
	return found{best: x.core.best(matches, count, 0), total: len(matches)}
}

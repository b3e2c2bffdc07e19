// Package literal matches tools with queries in the grammar of query.Tools: every
// clause is searched for as it is written.
package literal

import (
	"strings"
	"unicode/utf8"

	"mcpgateway/services/query"
	"mcpgateway/services/toolsearch/analyzer"
	"mcpgateway/services/toolsearch/tooltext"
	"mcpgateway/services/toolset"
)

// maxText is the maximum size of a searched name or description in bytes. The
// rest is not searched.
const maxText = 16 << 10

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

// name is a folded text with the positions of its words.
type name struct {
	text   string
	starts []int
}

// Texts are the folded texts of tools, immutable and safe for concurrent use.
type Texts struct {
	tools []literal
	marks []ngramSet // n-grams of each tool, apart for sequential access
}

// New returns the texts of tools.
func New(tools []*toolset.Tool) *Texts {
	t := &Texts{make([]literal, len(tools)), make([]ngramSet, len(tools))}
	for i, tool := range tools {
		l := &t.tools[i]
		l.read(tool)
		texts := append([]string{l.fullName, l.exported, l.server, l.description}, l.params...)
		for _, n := range l.names {
			texts = append(texts, n.text)
		}
		for _, text := range texts {
			t.marks[i].add(text)
		}
		l.all = strings.Join(texts, "\n")
	}
	return t
}

// Find calls found for every tool that matches a query, in order, with its
// score: the sum of its tiers, and 0 without text. Matches calls its function
// once for every text clause, so the tiers can be added there.
func (t *Texts) Find(q *query.Query, found func(position, score int)) {
	var known probes
	// Every positive text must match, so a tool without all n-grams is skipped.
	// For most queries that is most tools.
	var required []uint16
	text := q.Text()
	for i := range text {
		required = appendPairs(required, text[i].Folded)
	}
	for i := range t.tools {
		if !t.marks[i].hasAll(required) || !t.tools[i].holdsAll(text) {
			continue
		}
		sum := 0
		matched := q.Matches(func(c *query.Clause) bool {
			tier, ok := t.tools[i].holds(c, t.marks[i].hasAll(known.hashes(c)))
			if !c.Negated {
				sum += tier
			}
			return ok
		})
		if matched {
			found(i, sum)
		}
	}
}

// read sets all texts of a tool except all.
func (l *literal) read(tool *toolset.Tool) {
	texts := tooltext.Read(tool)
	l.fullName = query.Fold(strings.ToValidUTF8(tool.FullName, " "))
	l.exported = query.Fold(strings.ToValidUTF8(tool.Name, " "))
	for _, text := range texts[tooltext.Name] {
		l.names = append(l.names, newName(text))
	}
	l.server = query.Fold(strings.ToValidUTF8(tool.Server.Config.Alias, " "))
	for _, text := range texts[tooltext.Description] {
		l.description = query.Fold(analyzer.Clip(text, maxText))
	}
	for _, text := range texts[tooltext.Param] {
		l.params = append(l.params, query.Fold(text))
	}
	l.readOnly, l.destructive = tool.Hints.ReadOnly, tool.Hints.Destructive
}

// newName folds text and records the starts of words: after characters other
// than letters and digits, and at camelCase capitals.
func newName(text string) name {
	text = analyzer.Clip(text, maxText)
	var b strings.Builder
	var starts []int
	last := analyzer.ClassOther
	for at, r := range text {
		c := analyzer.Classify(r)
		if c != analyzer.ClassOther && (last == analyzer.ClassOther || last == analyzer.ClassLower && c == analyzer.ClassUpper) {
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
	last = analyzer.ClassOther
	for at, r := range folded {
		c := analyzer.Classify(r)
		if c != analyzer.ClassOther && last == analyzer.ClassOther {
			starts = append(starts, at)
		}
		last = c
	}
	return name{folded, starts}
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

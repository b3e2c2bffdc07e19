package ranking

import (
	"cmp"
	"slices"

	"mcpgateway/services/toolsearch/tooltext"
)

// Document is the searchable text of something other than a tool, by field.
type Document struct {
	Title       string
	Owner       []string // who it is from, and its other names
	Topics      []string
	Description string
	Parts       []string // names of its parts, such as tools
}

// Documents is an immutable index of documents. It is safe for concurrent use.
type Documents struct{ core *postings }

// documentWeights are those of tools, with topics in place of parameters. Topics
// are few and chosen, so they weigh more.
func documentWeights() weights {
	w := standardWeights()
	w.field[tooltext.Param], w.b[tooltext.Param] = 2.5, .5
	return w
}

// BuildDocuments returns the index of documents, with the words, thesaurus,
// corrections and ranking of Build.
func BuildDocuments(docs []Document) *Documents {
	x := post(len(docs), documentWeights(), func(i int) tooltext.Text { return docs[i].fields() })
	x.rankNames(func(a, b uint32) int { return cmp.Compare(a, b) })
	return &Documents{x}
}

// fields returns the text of a document in the fields of a tool.
func (d *Document) fields() tooltext.Text {
	var t tooltext.Text
	t.Add(tooltext.Name, d.Title)
	t.Add(tooltext.Description, d.Description)
	for field, texts := range map[int][]string{tooltext.Server: d.Owner, tooltext.Param: d.Topics, tooltext.ParamText: d.Parts} {
		for _, text := range texts {
			t.Add(field, text)
		}
	}
	return t
}

// Rank returns the positions of the documents that match any word of a task and
// for which keep returns true, at most count, best first, then in their order.
func (x *Documents) Rank(task string, count int, keep func(position int) bool) []int {
	p := x.core.plan(task)
	if len(p.whole) == 0 {
		return nil
	}
	s := x.core.takeScratch()
	defer x.core.scratch.Put(s)
	x.core.score(s, p)
	s.matches = slices.DeleteFunc(s.matches, func(m match) bool { return !keep(int(m.doc)) })
	hits := x.core.best(s.matches, count, 1)
	positions := make([]int, len(hits))
	for i, h := range hits {
		positions[i] = int(h.doc)
	}
	return positions
}

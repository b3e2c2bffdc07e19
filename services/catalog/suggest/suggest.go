// Package suggest ranks the entries of the catalog by how close they are to
// words that no entry has all of.
package suggest

import (
	"slices"
	"strings"
	"unicode"

	"mcpgateway/models"
	"mcpgateway/services/toolsearch/ranking"
)

// Index ranks entries. It is immutable and safe for concurrent use.
type Index struct{ docs *ranking.Documents }

// New returns the index of entries over their titles, publishers, descriptions,
// tags and names of tools.
func New(entries []*models.CatalogEntry) *Index {
	docs := make([]ranking.Document, len(entries))
	for i, e := range entries {
		docs[i] = ranking.Document{
			Title: e.ServerTitle, Owner: []string{e.PublisherTitle, e.ServerName}, Topics: e.Tags, Description: e.Description, Parts: e.ToolNames,
		}
	}
	return &Index{ranking.BuildDocuments(docs)}
}

// Closest returns the positions of the entries closest to words for which keep
// returns true, at most count, best first. Misspelled words are corrected. Words
// that fit every server, such as mcp, are ignored.
func (x *Index) Closest(words string, count int, keep func(position int) bool) []int {
	meant := slices.DeleteFunc(strings.FieldsFunc(words, isGap), isCommon)
	return x.docs.Rank(strings.Join(meant, " "), count, keep)
}

func isGap(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) }

// isCommon reports whether a word fits every entry.
func isCommon(word string) bool {
	switch strings.ToLower(word) {
	case "mcp", "mcps", "server", "servers", "api", "apis":
		return true
	}
	return false
}

package index

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The tiers of a term by its best match position (contract, "Catalog query
// grammar"). The score of a row is their sum over the terms of the query.
const (
	tierDescription = 1
	tierTopic       = 2 // tags, and the role and category of a template
	tierName        = 3 // server and publisher names; slug and related servers
	tierInside      = 4 // in the title, like those that follow
	tierWordStart   = 5
	tierPrefix      = 6
	tierExact       = 7
)

// Document contains the searchable content of a row as folded texts.
type Document struct {
	Title       string
	Names       []string
	Topics      []string
	Description string
	Values      []Value
}

// Value is a row's value for a qualifier.
type Value struct{ Qualifier, Folded string }

// separator ends every text of a row. It isn't valid UTF-8, so no term matches
// across it.
const separator = '\xff'

// bounds are the ends of a row's parts in the index text.
type bounds struct{ title, names, topics, end uint32 }

// add appends the texts of a document, best match positions first.
func (b *builder) add(d Document) {
	var at bounds
	b.write(d.Title)
	at.title = uint32(b.text.Len()) - 1
	b.write(d.Names...)
	at.names = uint32(b.text.Len())
	b.write(d.Topics...)
	at.topics = uint32(b.text.Len())
	b.write(d.Description)
	at.end = uint32(b.text.Len())
	b.rows = append(b.rows, at)
}

// builder collects the texts of all rows.
type builder struct {
	text strings.Builder
	rows []bounds
}

func (b *builder) write(texts ...string) {
	for _, text := range texts {
		b.text.WriteString(text)
		b.text.WriteByte(separator)
	}
}

// start returns the start of a row in the text.
func (x *Index) start(row int) int {
	if row == 0 {
		return 0
	}
	return int(x.rows[row-1].end)
}

// tier returns the tier of a term whose first occurrence in a row is at the
// position at.
func (x *Index) tier(row, at int, term string) uint8 {
	switch ends := &x.rows[row]; {
	case at < int(ends.title) || at == x.start(row): // the title may be empty, and so may the term
		return titleTier(x.text[x.start(row):ends.title], at-x.start(row), term)
	case at < int(ends.names):
		return tierName
	case at < int(ends.topics):
		return tierTopic
	}
	return tierDescription
}

// titleTier returns the tier of a term whose first occurrence in a title is at
// a position. Words start at the start of the title and after characters other
// than letters, digits and marks.
func titleTier(title string, at int, term string) uint8 {
	switch {
	case at == 0 && len(term) == len(title):
		return tierExact
	case at == 0:
		return tierPrefix
	}
	for {
		if isWordStart(title, at) {
			return tierWordStart
		}
		next := strings.Index(title[at+1:], term)
		if next < 0 {
			return tierInside
		}
		at += 1 + next
	}
}

// isWordStart reports whether the character before a position is not a letter,
// digit or mark.
func isWordStart(text string, at int) bool {
	if c := text[at-1]; c < utf8.RuneSelf {
		return !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z')
	}
	r, _ := utf8.DecodeLastRuneInString(text[:at])
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
}

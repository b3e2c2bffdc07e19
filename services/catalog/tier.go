package catalog

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The tiers of a term by the best place it is found at (contract, "Catalog
// query grammar"): a row's score is their sum over the terms of the query.
const (
	tierNone        = 0
	tierDescription = 1
	tierTopic       = 2 // tags; the role and category of a template too
	tierName        = 3 // server and publisher names; slug and related servers
	tierInside      = 4 // of the title, as all that follow
	tierWordStart   = 5
	tierPrefix      = 6
	tierExact       = 7
)

// document is what a row is searched by: folded texts.
type document struct {
	title       string
	names       []string
	topics      []string
	description string
	qualifiers  []qualifier
}

// qualifier is one value that a row has for a qualifier, folded.
type qualifier struct{ name, value string }

// The ways in which a text holds a term, from the worst to the best.
const (
	heldInside = iota
	heldAtWordStart
	heldAsPrefix
	heldAsWhole
)

// held returns the best way in which text holds term; ok is false when it does
// not. A word begins at the start of the text and behind what belongs to no
// word.
func held(text, term string) (way int, ok bool) {
	at := strings.Index(text, term)
	switch {
	case at < 0:
		return 0, false
	case at == 0 && len(term) == len(text):
		return heldAsWhole, true
	case at == 0:
		return heldAsPrefix, true
	}
	for from := 0; ; {
		if wordStartsAt(text, at) {
			return heldAtWordStart, true
		}
		from = at + 1
		next := strings.Index(text[from:], term)
		if next < 0 {
			return heldInside, true
		}
		at = from + next
	}
}

// wordStartsAt reports whether what begins at a byte follows no letter, digit
// or mark.
func wordStartsAt(text string, at int) bool {
	if at == 0 {
		return true
	}
	if c := text[at-1]; c < utf8.RuneSelf {
		return !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z')
	}
	r, _ := utf8.DecodeLastRuneInString(text[:at])
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
}

// tier returns the best place of a folded term in the row.
func (d *document) tier(term string) uint8 {
	if way, ok := held(d.title, term); ok {
		return tierInside + uint8(way)
	}
	for _, name := range d.names {
		if strings.Contains(name, term) {
			return tierName
		}
	}
	for _, topic := range d.topics {
		if strings.Contains(topic, term) {
			return tierTopic
		}
	}
	if strings.Contains(d.description, term) {
		return tierDescription
	}
	return tierNone
}

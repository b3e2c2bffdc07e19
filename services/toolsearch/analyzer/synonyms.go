package analyzer

import (
	_ "embed" // the word lists
	"slices"
	"strings"
	"sync"
)

// The word lists contain general and technical English, one group per line:
// synonyms, words of one subject, and kinds with things of that kind after a
// colon. A thing implies its kinds but not vice versa: a tool about restaurants
// matches a task about sushi.
var (
	//go:embed lists/synonyms.txt
	likeWords string
	//go:embed lists/subjects.txt
	subjectWords string
	//go:embed lists/kinds.txt
	kindWords string
)

// Meaning is the thesaurus entry of a stem, as stems: synonyms, kinds, and
// words of the same subject.
type Meaning struct {
	Like, Kinds, Related []string
}

// Known reports whether the thesaurus contains the word.
func (m *Meaning) Known() bool { return len(m.Like)+len(m.Kinds)+len(m.Related) > 0 }

// thesaurus maps stems to entries. It is built by the first search and
// immutable.
var thesaurus = sync.OnceValue(func() map[string]*Meaning {
	t := map[string]*Meaning{}
	addGroups(t, likeWords, func(m *Meaning) *[]string { return &m.Like })
	addGroups(t, subjectWords, func(m *Meaning) *[]string { return &m.Related })
	addKinds(t)
	return t
})

// ThesaurusOf returns the entry of a stem, which may be empty.
func ThesaurusOf(stemmed string) Meaning {
	if m := thesaurus()[stemmed]; m != nil {
		return *m
	}
	return Meaning{}
}

func entryOf(t map[string]*Meaning, s string) *Meaning {
	m := t[s]
	if m == nil {
		m = &Meaning{}
		t[s] = m
	}
	return m
}

func addOnce(list *[]string, s string) {
	if !slices.Contains(*list, s) {
		*list = append(*list, s)
	}
}

// addGroups relates the words of each line to each other.
func addGroups(t map[string]*Meaning, list string, part func(*Meaning) *[]string) {
	for line := range strings.Lines(list) {
		stems := stemAll(line)
		for _, s := range stems {
			for _, other := range stems {
				if other != s {
					addOnce(part(entryOf(t, s)), other)
				}
			}
		}
	}
}

// addKinds relates the things of each line to the words of their kind.
func addKinds(t map[string]*Meaning) {
	for line := range strings.Lines(kindWords) {
		kinds, things, _ := strings.Cut(line, ":")
		for _, s := range stemAll(things) {
			for _, kind := range stemAll(kinds) {
				if kind != s {
					addOnce(&entryOf(t, s).Kinds, kind)
				}
			}
		}
	}
}

// stemAll returns the stems of a line's words.
func stemAll(line string) []string {
	var stems []string
	for _, word := range strings.Fields(line) {
		stems = append(stems, Stem(word))
	}
	return stems
}

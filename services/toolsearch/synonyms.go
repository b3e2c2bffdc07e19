package toolsearch

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
	//go:embed words/synonyms.txt
	likeWords string
	//go:embed words/subjects.txt
	subjectWords string
	//go:embed words/kinds.txt
	kindWords string
)

// meaning is the thesaurus entry of a stem, as stems: synonyms, kinds, and
// words of the same subject.
type meaning struct {
	like, kinds, related []string
}

// known reports whether the thesaurus contains the word.
func (m *meaning) known() bool { return len(m.like)+len(m.kinds)+len(m.related) > 0 }

// thesaurus maps stems to entries. It is built by the first search and
// immutable.
var thesaurus = sync.OnceValue(func() map[string]*meaning {
	t := map[string]*meaning{}
	addGroups(t, likeWords, func(m *meaning) *[]string { return &m.like })
	addGroups(t, subjectWords, func(m *meaning) *[]string { return &m.related })
	addKinds(t)
	return t
})

// thesaurusOf returns the entry of a stem, which may be empty.
func thesaurusOf(stemmed string) meaning {
	if m := thesaurus()[stemmed]; m != nil {
		return *m
	}
	return meaning{}
}

func entryOf(t map[string]*meaning, s string) *meaning {
	m := t[s]
	if m == nil {
		m = &meaning{}
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
func addGroups(t map[string]*meaning, list string, part func(*meaning) *[]string) {
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
func addKinds(t map[string]*meaning) {
	for line := range strings.Lines(kindWords) {
		kinds, things, _ := strings.Cut(line, ":")
		for _, s := range stemAll(things) {
			for _, kind := range stemAll(kinds) {
				if kind != s {
					addOnce(&entryOf(t, s).kinds, kind)
				}
			}
		}
	}
}

// stemAll returns the stems of a line's words.
func stemAll(line string) []string {
	var stems []string
	for _, word := range strings.Fields(line) {
		stems = append(stems, stem(word))
	}
	return stems
}

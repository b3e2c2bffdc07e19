package toolsearch

import (
	"slices"
	"strings"
	"testing"
)

func TestLanguageWordsReachTheIndex(t *testing.T) {
	number := 0
	for line := range strings.Lines(languageWords) {
		number++
		columns := strings.Split(strings.TrimSuffix(line, "\n"), "|")
		if len(columns) != 1+languageCount {
			t.Errorf("line %d has %d columns, want %d", number, len(columns), 1+languageCount)
			continue
		}
		for _, word := range strings.Fields(columns[0]) {
			if terms := Terms(word); len(terms) != 1 || terms[0] != stem(word) {
				t.Errorf("line %d: %q is indexed as %q", number, word, terms)
			}
		}
		for i, column := range columns[1:] {
			for _, word := range strings.Fields(column) {
				var found []string
				translations(word, -1+languageMark(i), mainOf(i), func(english string) { found = append(found, english) })
				if !slices.Contains(found, strings.Fields(columns[0])[0]) && !slices.Contains(languages()[i].exact[foldWord(word)], strings.Fields(columns[0])[0]) {
					t.Errorf("line %d: %s word %q means %q, want %q", number, languageCodes[i], word, found, columns[0])
				}
			}
		}
	}
	if number < 400 {
		t.Errorf("%d meanings, want at least 400", number)
	}
}

func languageMark(i int) int {
	if i >= german {
		return i + 1
	}
	return 0
}

func mainOf(i int) int {
	if i == japanese {
		return japanese
	}
	return chinese
}

func TestLanguageListsAreComplete(t *testing.T) {
	for i, l := range languages() {
		if len(l.stops) < 50 || len(l.exact) < 400 {
			t.Errorf("%s has %d stop words and %d words", languageCodes[i], len(l.stops), len(l.exact))
		}
		for word := range l.stops {
			if l.exact[word] != nil && i != chinese && i != japanese {
				t.Errorf("%s: %q is a stop word and means %q", languageCodes[i], word, l.exact[word])
			}
		}
	}
}

package analyzer

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
			if terms := Terms(word); len(terms) != 1 || terms[0] != Stem(word) {
				t.Errorf("line %d: %q is indexed as %q", number, word, terms)
			}
		}
		for i, column := range columns[1:] {
			for _, word := range strings.Fields(column) {
				found := languages()[i].exact[foldWord(word)]
				if !slices.Contains(found, strings.Fields(columns[0])[0]) {
					t.Errorf("line %d: %s word %q means %q, want %q", number, languageCodes[i], word, found, columns[0])
				}
				runs := 0
				SplitWords(word, func(part string, whole bool) bool { runs++; return true }, func(string) bool { runs++; return true })
				if i >= korean && runs != 1 {
					t.Errorf("line %d: %s word %q is %d words", number, languageCodes[i], word, runs)
				}
			}
		}
	}
	if number < 400 {
		t.Errorf("%d meanings, want at least 400", number)
	}
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

func TestLanguageOfTasks(t *testing.T) {
	for _, tt := range []struct{ task, want string }{
		{"find a hotel in Rio de Janeiro", ""}, {"who directed La La Land", ""}, {"Die Hard movies in the cinema", ""}, {"data for the car", ""},
		{"weather in Berlin", ""}, {"translate the menu of a café", ""}, {"search_issues", ""}, {"", ""}, {"12345", ""},
		{"Wetter in Berlin", "de"}, {"Überweisung an die Bank", "de"}, {"Rechnungen", "de"},
		{"vuelos baratos a Madrid", "es"}, {"¿Qué hora es?", "es"}, {"envía un correo", "es"},
		{"météo à Lyon", "fr"}, {"traduis ce texte", "fr"}, {"quel temps fait-il", "fr"},
		{"voos para Lisboa", "pt"}, {"traduza este texto", "pt"}, {"previsão do tempo", "pt"},
	} {
		got := ""
		e := EvidenceOf(tt.task)
		if at := e.language(leastTaskEvidence); at >= 0 {
			got = languageCodes[at]
		}
		if got != tt.want {
			t.Errorf("%q is in %q, want %q (%+v)", tt.task, got, tt.want, e)
		}
	}
}

func TestTraditionalCharactersArePaired(t *testing.T) {
	for _, pair := range strings.Fields(traditionalPairs) {
		runes := []rune(pair)
		if len(runes) != 2 || runes[0] == runes[1] || simplify(pair) != strings.Repeat(string(runes[:1]), 2) {
			t.Errorf("%s is not a simplified and a traditional character", pair)
		}
	}
}

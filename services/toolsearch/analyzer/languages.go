package analyzer

import (
	_ "embed" // the word lists
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Words of other languages with their English meanings, one meaning per line;
// words that don't describe a tool, one language per line; and endings that
// don't change a word's meaning, one language per line.
var (
	//go:embed lists/languages.txt
	languageWords string
	//go:embed lists/language-stops.txt
	languageStops string
	//go:embed lists/language-endings.txt
	languageEndings string
	// Pairs of a simplified and a traditional Chinese character, as far as they
	// differ in languageWords.
	//go:embed lists/traditional.txt
	traditionalPairs string
)

// languageCodes are the languages in the order of the columns of languageWords.
var languageCodes = [...]string{"zh", "ja", "ko", "ru", "de", "es", "fr", "pt"}

// maxTranslatedText is the maximum size of a text in another language in bytes.
// The rest is not translated.
const maxTranslatedText = 8 << 10

// The positions of languages in languageCodes. Those from german on share the
// Latin script with English, so their texts are recognized by their words.
const (
	chinese = iota
	japanese
	korean
	russian
	german
	languageCount = len(languageCodes)
)

// Language is the vocabulary of a language other than English.
type Language struct {
	code    string
	stops   map[string]bool
	endings []string            // longest first
	exact   map[string][]string // words to English words
	stems   map[string][]string // words without their ending to English words
	longest int                 // length of the longest word in runes
}

// The parts of a word that are looked up one by one must have a minimum length
// in runes and cover a share of the word.
const (
	minLatinStem   = 3
	minLatinPart   = 4
	minKoreanPart  = 2
	minPartsShare  = .6
	maxTranslation = 3 // English words of a word
)

var languages = sync.OnceValue(func() *[languageCount]*Language {
	var all [languageCount]*Language
	for i, code := range languageCodes {
		all[i] = &Language{code: code, stops: map[string]bool{}, exact: map[string][]string{}, stems: map[string][]string{}}
	}
	forLists(languageStops, func(at int, word string) { all[at].stops[word] = true })
	forLists(languageEndings, func(at int, word string) { all[at].endings = append(all[at].endings, word) })
	for _, l := range all {
		slices.SortStableFunc(l.endings, func(a, b string) int { return len(b) - len(a) })
	}
	for line := range strings.Lines(languageWords) {
		columns := strings.Split(foldWord(line), "|")
		meanings := strings.Fields(columns[0])
		for i, column := range columns[1:] {
			for _, word := range strings.Fields(column) {
				all[i].add(word, meanings)
			}
		}
	}
	return &all
})

// simplified maps traditional Chinese characters to simplified ones.
var simplified = sync.OnceValue(func() map[rune]rune {
	table := map[rune]rune{}
	for _, pair := range strings.Fields(traditionalPairs) {
		runes := []rune(pair)
		table[runes[1]] = runes[0]
	}
	return table
})

// simplify returns a run with simplified characters in the place of traditional
// ones. Both have the same number of runes.
func simplify(run string) string {
	table := simplified()
	return strings.Map(func(r rune) rune {
		if s, ok := table[r]; ok {
			return s
		}
		return r
	}, run)
}

// forLists calls add for every word of lines that start with a language.
func forLists(lists string, add func(at int, word string)) {
	for line := range strings.Lines(lists) {
		words := strings.Fields(foldWord(line))
		if len(words) == 0 {
			continue
		}
		at := slices.Index(languageCodes[:], words[0])
		for _, word := range words[1:] {
			add(at, word)
		}
	}
}

// foldWord returns a word as the dictionaries contain it.
func foldWord(word string) string {
	return strings.ReplaceAll(strings.ToLower(foldText(word)), "ß", "ss")
}

func (l *Language) add(word string, meanings []string) {
	for _, meaning := range meanings {
		list := l.exact[word]
		addOnce(&list, meaning)
		l.exact[word] = list
		if key := l.stem(word); key != word || l.endings != nil {
			list := l.stems[key]
			addOnce(&list, meaning)
			l.stems[key] = list
		}
	}
	l.longest = max(l.longest, utf8.RuneCountInString(word))
}

// stem returns a word without its longest ending.
func (l *Language) stem(word string) string {
	least := minLatinStem
	if l.code == "ko" {
		least = 1
	}
	for _, ending := range l.endings {
		if base, ok := strings.CutSuffix(word, ending); ok && utf8.RuneCountInString(base) >= least {
			return base
		}
	}
	return word
}

// Translate returns the English words for a word, best first, or none.
func (l *Language) Translate(word string) []string {
	if strings.Contains(word, "ß") {
		word = foldWord(word)
	}
	found := l.entry(word)
	if found == nil {
		switch l.code {
		case "de":
			found = l.parts(word, minLatinPart)
		case "ko":
			found = l.parts(word, minKoreanPart)
		}
	}
	return found
}

// entry returns the English words for a word that the dictionary contains,
// possibly with another ending.
func (l *Language) entry(word string) []string {
	found := l.exact[word]
	if found == nil && l.endings != nil {
		found = l.stems[l.stem(word)]
	}
	return found[:min(len(found), maxTranslation)]
}

// parts returns the English words for the dictionary words in a compound,
// from the left and the longest first.
func (l *Language) parts(word string, least int) []string {
	runes := []rune(word)
	var found []string
	covered := 0
	for at := 0; at+least <= len(runes); {
		n := min(len(runes)-at, l.longest)
		for ; n >= least; n-- {
			part := string(runes[at : at+n])
			meanings := l.exact[part]
			if meanings == nil {
				meanings = l.stems[part]
			}
			if meanings != nil {
				for _, m := range meanings[:min(len(meanings), maxTranslation)] {
					addOnce(&found, m)
				}
				break
			}
		}
		if n < least {
			at++
			continue
		}
		covered += n
		at += n
	}
	if float64(covered) < minPartsShare*float64(len(runes)) {
		return nil
	}
	return found
}

// Segment is a part of a run of a script without spaces.
type Segment struct {
	Text     string
	Stop     bool     // doesn't describe a tool
	Meanings []string // English words; none for other text
}

// Segments splits a run of Chinese and Japanese characters into the longest
// words of the dictionaries and other characters. main is the language of the
// text; words of the other language are found, too.
func Segments(run string, main int) []Segment {
	other := chinese + japanese - main
	lists := [...]*Language{languages()[main], languages()[other]}
	longest := max(lists[0].longest, lists[1].longest)
	var out []Segment
	runes, folded := []rune(run), []rune(run)
	if main == chinese {
		folded = []rune(simplify(run))
	}
	for at := 0; at < len(runes); {
		n := min(len(runes)-at, longest)
		var s Segment
		for ; n > 0 && s.Text == ""; n-- {
			text, part := string(runes[at:at+n]), string(folded[at:at+n])
			switch {
			case lists[0].exact[part] != nil:
				s = Segment{Text: text, Meanings: lists[0].exact[part]}
			case lists[0].stops[part]:
				s = Segment{Text: text, Stop: true}
			case n > 1 && lists[1].exact[text] != nil:
				s = Segment{Text: text, Meanings: lists[1].exact[text]}
			}
		}
		if s.Text == "" {
			s.Text = string(runes[at])
			if last := len(out) - 1; last >= 0 && !out[last].Stop && out[last].Meanings == nil {
				out[last].Text += s.Text
				at++
				continue
			}
		}
		s.Meanings = s.Meanings[:min(len(s.Meanings), maxTranslation)]
		out = append(out, s)
		at += utf8.RuneCountInString(s.Text)
	}
	return out
}

// Translations calls emit for the English words for the words of a text. latin
// is the language of its words in Latin script, or -1, and main that of its
// Ideographs.
func Translations(text string, latin, main int, emit func(word, english string)) {
	all := languages()
	text = Clip(text, maxTranslatedText)
	SplitWords(text, func(word string, whole bool) bool {
		at := scriptOf(word)
		if at < 0 {
			at = latin
		}
		if at >= 0 && len(word) <= MaxWordBytes && !all[at].stops[word] {
			for _, english := range all[at].Translate(word) {
				emit(word, english)
			}
		}
		return true
	}, func(run string) bool {
		for _, s := range Segments(run, main) {
			for _, english := range s.Meanings {
				emit(s.Text, english)
			}
		}
		return true
	})
}

// scriptOf returns the language of the script of a word, or -1 for scripts of
// several languages.
func scriptOf(word string) int {
	if word == "" || word[0] < utf8.RuneSelf {
		return -1
	}
	r, _ := utf8.DecodeRuneInString(word)
	switch {
	case unicode.Is(unicode.Cyrillic, r):
		return russian
	case unicode.Is(unicode.Hangul, r):
		return korean
	case unicode.In(r, unicode.Hiragana, unicode.Katakana):
		return japanese
	case unicode.Is(unicode.Han, r):
		return chinese
	}
	return -1
}

// LanguageOf returns the language of a word of a text, or nil for English and
// unknown languages. latin is the language of the text's words in Latin script,
// or -1.
func LanguageOf(word string, latin int) *Language {
	at := scriptOf(word)
	if at < 0 {
		at = latin
	}
	if at < 0 {
		return nil
	}
	return languages()[at]
}

// IsStop reports whether a word of the language doesn't describe a tool.
func (l *Language) IsStop(word string) bool { return l.stops[word] }

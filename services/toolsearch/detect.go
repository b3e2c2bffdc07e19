package toolsearch

import (
	"slices"
	"strings"
	"sync"
)

// clues is the evidence of a word for the language of its text, as bits.
type clues uint32

const (
	clueStop   clues = 1 << iota // stop word of English only
	clueCommon                   // other common English word
	clueScript                   // word in another script
	clueKana                     // Japanese syllables
	clueBits   = iota
)

// The languages in Latin script have a bit each in three groups: stop words,
// words of the dictionary, and those with another ending.
const latinCount = languageCount - german

func latinClue(group, latin int) clues { return 1 << (clueBits + group*latinCount + latin) }

// minClueWord is the minimum length in bytes of a dictionary word as a clue.
const minClueWord = 4

// commonEnglish are the stems of the thesaurus, the fillers, and the English
// words of the dictionaries.
var commonEnglish = sync.OnceValue(func() map[string]bool {
	common := map[string]bool{}
	for s, m := range thesaurus() {
		common[s] = true
		for _, list := range [...][]string{m.like, m.kinds, m.related} {
			for _, s := range list {
				common[s] = true
			}
		}
	}
	for word := range fillers {
		common[stem(word)] = true
	}
	for word := range chat().chatter {
		common[stem(word)] = true
	}
	for line := range strings.Lines(languageWords) {
		meanings, _, _ := strings.Cut(line, "|")
		for _, word := range strings.Fields(meanings) {
			common[stem(word)] = true
		}
	}
	return common
})

// clueWords are the stop words of all languages in Latin script and the words
// of their dictionaries with their clues. Words that are English, too, such as
// "in" and "car", have none, like single letters.
var clueWords = sync.OnceValue(func() map[string]clues {
	table := map[string]clues{}
	for i := range latinCount {
		l := languages()[german+i]
		for word := range l.stops {
			table[word] |= latinClue(0, i)
		}
		for word := range l.exact {
			if len(word) >= minClueWord && !stopWords[word] {
				table[word] |= latinClue(1, i)
			}
		}
	}
	common := commonEnglish()
	for word, found := range table {
		switch {
		case found < latinClue(1, 0) && (len(word) == 1 || stopWords[word] || common[stem(word)]):
			table[word] = 0
		case common[stem(word)]:
			table[word] = clueCommon
		}
	}
	for word := range stopWords {
		if _, ok := table[word]; !ok {
			table[word] = clueStop
		}
	}
	return table
})

// cluesOf returns the clues of a folded word, and whether it could be a
// dictionary word with another ending, for which endingClues has the clues.
func cluesOf(word string) (found clues, unknown bool) {
	switch at := scriptOf(word); {
	case at == japanese:
		return clueKana, false
	case at >= 0:
		return clueScript, false
	}
	if found, ok := clueWords()[word]; ok {
		return found, false
	}
	if commonEnglish()[stem(word)] {
		return clueCommon, false
	}
	return 0, len(word) >= minClueWord
}

// endingClues returns the clues of a word that is in no list as it is.
func endingClues(word string) clues {
	var found clues
	for i := range latinCount {
		if languages()[german+i].entry(word) != nil {
			found |= latinClue(2, i)
		}
	}
	return found
}

// The weights of other words than stop words, which weigh 1.
const (
	endingWeight = .5 // dictionary words with another ending
	commonWeight = .5 // common English words
)

// evidence sums the clues of a text.
type evidence struct {
	english float64
	latin   [latinCount]float64
	script  bool // another script occurs
	kana    bool // Japanese syllables occur
}

func (e *evidence) add(c clues) {
	switch {
	case c == 0:
	case c&clueStop != 0:
		e.english++
	case c&clueCommon != 0:
		e.english += commonWeight
	case c&(clueScript|clueKana) != 0:
		e.script = true
		e.kana = e.kana || c&clueKana != 0
	default:
		for i := range e.latin {
			switch {
			case c&(latinClue(0, i)|latinClue(1, i)) != 0:
				e.latin[i]++
			case c&latinClue(2, i) != 0:
				e.latin[i] += endingWeight
			}
		}
	}
}

// addLetters adds what the letters of a text with accents reveal.
func (e *evidence) addLetters(text string) {
	for _, r := range text {
		switch r {
		case 'ä', 'ö', 'ü', 'ß', 'Ä', 'Ö', 'Ü':
			e.latin[0] += .5
		case 'ñ', '¿', '¡', 'Ñ':
			e.latin[1]++
		case 'è', 'ê', 'à', 'ù', 'œ', 'É', 'î', 'ô':
			e.latin[2] += .5
		case 'ã', 'õ':
			e.latin[3]++
		}
	}
}

// The minimum evidence for a language other than English. Tasks can be short;
// names of tools are often words of several languages.
const (
	leastTaskEvidence = .5
	leastToolEvidence = 2
)

// language returns the language of a text in Latin script, or -1 for English
// and unknown languages. least is the minimum evidence.
func (e *evidence) language(least float64) int {
	best := 0
	for i, v := range e.latin {
		if v > e.latin[best] {
			best = i
		}
	}
	if v := e.latin[best]; v < least || v <= e.english {
		return -1
	}
	return german + best
}

// toolLanguage returns the language of a tool's words in Latin script, or -1 for
// English and unknown languages, and whether any of its words are not English.
func (e *evidence) toolLanguage() (latin int, other bool) {
	latin = e.language(leastToolEvidence)
	return latin, latin >= 0 || e.script
}

// main returns the language of the text's ideographs.
func (e *evidence) main() int {
	if e.kana {
		return japanese
	}
	return chinese
}

// evidenceOf returns the evidence of a task. Words with other endings are only
// looked up if they could make a difference.
func evidenceOf(task string) evidence {
	var e evidence
	var latin, unknown []string
	words(task, func(word string, _ bool) bool {
		found, open := cluesOf(word)
		if found >= latinClue(0, 0) {
			if slices.Contains(latin, word) {
				return true // such as in "La La Land"
			}
			latin = append(latin, word)
		}
		e.add(found)
		if open && !slices.Contains(unknown, word) {
			unknown = append(unknown, word)
		}
		return true
	})
	e.addLetters(task)
	if slices.Max(e.latin[:])+endingWeight*float64(len(unknown)) > e.english {
		for _, word := range unknown {
			e.add(endingClues(word))
		}
	}
	return e
}

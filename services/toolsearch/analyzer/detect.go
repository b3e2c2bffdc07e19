package analyzer

import (
	"slices"
	"strings"
	"sync"
)

// Clues is the evidence of a word for the language of its text, as bits.
type Clues uint32

const (
	clueStop   Clues = 1 << iota // stop word of English only
	clueCommon                   // other common English word
	clueScript                   // word in another script
	clueKana                     // Japanese syllables
	clueBits   = iota
)

// The languages in Latin script have a bit each in three groups: stop words,
// words of the dictionary, and those with another ending.
const latinCount = languageCount - german

func latinClue(group, latin int) Clues { return 1 << (clueBits + group*latinCount + latin) }

// minClueWord is the minimum length in bytes of a dictionary word as a clue.
const minClueWord = 4

// commonEnglish are the stems of the thesaurus, the fillers, and the English
// words of the dictionaries.
var commonEnglish = sync.OnceValue(func() map[string]bool {
	common := map[string]bool{}
	for s, m := range thesaurus() {
		common[s] = true
		for _, list := range [...][]string{m.Like, m.Kinds, m.Related} {
			for _, s := range list {
				common[s] = true
			}
		}
	}
	for word := range fillers {
		common[Stem(word)] = true
	}
	for word := range chat().chatter {
		common[Stem(word)] = true
	}
	for line := range strings.Lines(languageWords) {
		meanings, _, _ := strings.Cut(line, "|")
		for _, word := range strings.Fields(meanings) {
			common[Stem(word)] = true
		}
	}
	return common
})

// clueWords are the stop words of all languages in Latin script and the words
// of their dictionaries with their clues. Words that are English, too, such as
// "in" and "car", have none, like single letters.
var clueWords = sync.OnceValue(func() map[string]Clues {
	table := map[string]Clues{}
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
		case found < latinClue(1, 0) && (len(word) == 1 || stopWords[word] || common[Stem(word)]):
			table[word] = 0
		case common[Stem(word)]:
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

// CluesOf returns the clues of a folded word, and whether it could be a
// dictionary word with another ending, for which endingClues has the clues.
func CluesOf(word string) (found Clues, unknown bool) {
	switch at := scriptOf(word); {
	case at == japanese:
		return clueKana, false
	case at >= 0:
		return clueScript, false
	}
	if found, ok := clueWords()[word]; ok {
		return found, false
	}
	if commonEnglish()[Stem(word)] {
		return clueCommon, false
	}
	return 0, len(word) >= minClueWord
}

// endingClues returns the clues of a word that is in no list as it is.
func endingClues(word string) Clues {
	var found Clues
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

// Evidence sums the clues of a text.
type Evidence struct {
	english float64
	latin   [latinCount]float64
	script  bool // another script occurs
	kana    bool // Japanese syllables occur
}

// Add adds the clues of a word.
func (e *Evidence) Add(c Clues) {
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
func (e *Evidence) addLetters(text string) {
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
func (e *Evidence) language(least float64) int {
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

// TaskLanguage returns the language of a task's words in Latin script, or -1 for
// English and unknown languages.
func (e *Evidence) TaskLanguage() int { return e.language(leastTaskEvidence) }

// ToolLanguage returns the language of a tool's words in Latin script, or -1 for
// English and unknown languages, and whether any of its words are not English.
func (e *Evidence) ToolLanguage() (latin int, other bool) {
	latin = e.language(leastToolEvidence)
	return latin, latin >= 0 || e.script
}

// Main returns the language of the text's ideographs.
func (e *Evidence) Main() int {
	if e.kana {
		return japanese
	}
	return chinese
}

// EvidenceOf returns the evidence of a task. Words with other endings are only
// looked up if they could make a difference.
func EvidenceOf(task string) Evidence {
	var e Evidence
	var latin, unknown []string
	Words(task, func(word string, _ bool) bool {
		found, open := CluesOf(word)
		if found >= latinClue(0, 0) {
			if slices.Contains(latin, word) {
				return true // such as in "La La Land"
			}
			latin = append(latin, word)
		}
		e.Add(found)
		if open && !slices.Contains(unknown, word) {
			unknown = append(unknown, word)
		}
		return true
	})
	e.addLetters(task)
	if slices.Max(e.latin[:])+endingWeight*float64(len(unknown)) > e.english {
		for _, word := range unknown {
			e.Add(endingClues(word))
		}
	}
	return e
}

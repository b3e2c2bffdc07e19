package toolsearch

import (
	"strings"
	"sync"
)

// clues are what a word reveals about the language of a text, as bits.
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

// cluesOf returns the clues of a folded word.
func cluesOf(word string) clues {
	switch at := scriptOf(word); {
	case at == japanese:
		return clueKana
	case at >= 0:
		return clueScript
	}
	all := languages()
	english := stopWords[word]
	var found clues
	for i := range latinCount {
		if len(word) > 1 && all[german+i].stops[word] {
			found |= latinClue(0, i)
		}
	}
	common := commonEnglish()[stem(word)]
	switch {
	case (english || common) && found != 0:
		return 0 // such as "in" and "car"
	case english:
		return clueStop
	case found != 0:
		return found
	case common:
		return clueCommon
	case len(word) < minClueWord:
		return 0
	}
	for i := range latinCount {
		l := all[german+i]
		if l.exact[word] != nil {
			found |= latinClue(1, i)
		} else if l.entry(word) != nil {
			found |= latinClue(2, i)
		}
	}
	return found
}

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
		e.english += .3
	case c&(clueScript|clueKana) != 0:
		e.script = true
		e.kana = e.kana || c&clueKana != 0
	default:
		for i := range e.latin {
			switch {
			case c&(latinClue(0, i)|latinClue(1, i)) != 0:
				e.latin[i]++
			case c&latinClue(2, i) != 0:
				e.latin[i] += .5
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

// main returns the language of the text's ideographs.
func (e *evidence) main() int {
	if e.kana {
		return japanese
	}
	return chinese
}

// evidenceOf returns the evidence of a task.
func evidenceOf(task string) evidence {
	var e evidence
	words(task, func(word string, _ bool) bool {
		e.add(cluesOf(word))
		return true
	})
	e.addLetters(task)
	return e
}

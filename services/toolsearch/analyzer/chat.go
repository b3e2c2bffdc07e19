package analyzer

import (
	_ "embed" // the word lists
	"slices"
	"strings"
	"sync"
)

// Phrases of politeness and of prompts that don't describe a tool, one per
// line, and the words of clauses that only consist of such talk.
var (
	//go:embed lists/chat.txt
	chatPhrases string
	//go:embed lists/chatter.txt
	chatterWords string
)

// persons are words that address the reader or greet. A clause is chatter only
// if it contains one of them or a phrase.
var persons = wordSet(`i me my we us our you your hello hi hey dear thanks thank please sorry greetings`)

// chatLists are the phrases by their first word, longest first, and the words
// of chatter.
type chatLists struct {
	phrases map[string][][]string
	chatter map[string]bool
}

var chat = sync.OnceValue(func() chatLists {
	lists := chatLists{phrases: map[string][][]string{}, chatter: wordSet(chatterWords)}
	for line := range strings.Lines(chatPhrases) {
		if phrase := strings.Fields(line); len(phrase) > 0 {
			lists.phrases[phrase[0]] = append(lists.phrases[phrase[0]], phrase)
		}
	}
	for _, phrases := range lists.phrases {
		slices.SortStableFunc(phrases, func(a, b []string) int { return len(b) - len(a) })
	}
	return lists
})

// asciiWord is a lower-case word of ASCII letters and apostrophes.
type asciiWord struct {
	Span
	text string
}

// asciiWords returns the words of a text from byte begin to before byte end.
// Other letters and digits are words too, without a text.
func asciiWords(text string, begin, end int) []asciiWord {
	var out []asciiWord
	for at := begin; at < end; {
		stop := at
		for stop < end && isASCIIWord(text[stop]) {
			stop++
		}
		if stop > at {
			word := strings.Trim(strings.ToLower(text[at:stop]), "'")
			if word != "" {
				out = append(out, asciiWord{Span{at, stop}, word})
			}
			at = stop
			continue
		}
		if text[at] >= 0x80 || '0' <= text[at] && text[at] <= '9' {
			out = append(out, asciiWord{Span{at, at + 1}, ""})
		}
		at++
	}
	return out
}

func isASCIIWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '\''
}

// ChatSpans returns the parts of a clause that don't describe a tool: the whole
// clause if it is chatter, and its phrases otherwise.
func ChatSpans(task string, clause Span) []Span {
	words := asciiWords(task, clause.Begin, clause.End)
	lists := chat()
	var spans []Span
	chatter, person := true, false
	for i := 0; i < len(words); {
		if n := lists.phraseAt(words[i:]); n > 0 {
			spans = append(spans, Span{words[i].Begin, words[i+n-1].End})
			person = true
			i += n
			continue
		}
		word := words[i].text
		bare, _, _ := strings.Cut(word, "'")
		person = person || persons[bare]
		chatter = chatter && word != "" && (stopWords[bare] || lists.chatter[bare] || lists.chatter[word])
		i++
	}
	if chatter && person {
		return []Span{clause}
	}
	return spans
}

// phraseAt returns the number of words of the longest phrase that the words
// start with, or 0.
func (l *chatLists) phraseAt(words []asciiWord) int {
	for _, phrase := range l.phrases[words[0].text] {
		if len(phrase) <= len(words) && slices.EqualFunc(phrase, words[:len(phrase)], func(p string, w asciiWord) bool { return p == w.text }) {
			return len(phrase)
		}
	}
	return 0
}

package analyzer

// Terms returns the words of text as the index of tools has them: folded to
// lower case without accents, stemmed, without stop words. Words repeat.
func Terms(text string) []string {
	var terms []string
	Words(text, func(word string, _ bool) bool {
		if !stopWords[word] {
			terms = append(terms, Stem(word))
		}
		return true
	})
	return terms
}

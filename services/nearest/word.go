package nearest

import "unicode/utf8"

// Distance returns the number of inserted, deleted, substituted and swapped
// adjacent characters between two texts (optimal string alignment), in bytes.
func Distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j-1]+cost, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// maxWordBytes is the maximum length of compared words.
const maxWordBytes = 32

// Word returns the word that a mistyped one most likely stands for, or "" if
// none is similar. words has the number of texts with each word: of equally
// similar words the most frequent is returned, then the first in alphabetical
// order. Words with fewer than four characters are similar to none.
func Word(word string, words map[string]int) string {
	if len(word) > maxWordBytes || utf8.RuneCountInString(word) < 4 {
		return ""
	}
	most := 1
	if len(word) > 5 {
		most = 2
	}
	best, at := "", most+1
	for other, count := range words {
		if len(other) < 3 || len(other) > len(word)+most || len(other) < len(word)-most {
			continue
		}
		d := Distance(word, other)
		if d < at || d == at && best != "" && (count > words[best] || count == words[best] && other < best) {
			best, at = other, d
		}
	}
	return best
}

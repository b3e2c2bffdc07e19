package ranking

import (
	"cmp"
	"context"
	"math"
	"slices"

	"mcpgateway/services/toolset"
)

// Similarity returns the similarity of a task and a tool, from -1 to 1. ok is
// false if that of the tool is unknown.
type Similarity func(tool *toolset.Tool) (similarity float64, ok bool)

// Parameters of ranking by meaning.
const (
	MaxReranked   = 50 // lexical results whose order can change
	maxSuggested  = 20 // results where no word matches
	fusionOffset  = 60 // k of reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009)
	checkInterval = 1024
)

// Fuse orders the first lexical results by the sum of their reciprocal ranks by
// words and by meaning (reciprocal rank fusion). A tool of unknown meaning has its
// lexical rank in both. All scores become reciprocal ranks, and 1 is the first in
// both. It returns false, and changes nothing, if no meaning is known.
func Fuse(best []Match, similarity Similarity) bool {
	type ranked struct {
		lexical, meaning int
		similarity       float64
	}
	top := best[:min(len(best), MaxReranked)]
	ranks := make([]ranked, len(top))
	var known []*ranked
	for i, m := range top {
		ranks[i] = ranked{lexical: i, meaning: i}
		if v, ok := similarity(m.Tool); ok {
			ranks[i].similarity = v
			known = append(known, &ranks[i])
		}
	}
	if len(known) == 0 {
		return false
	}
	// The known ones share the ranks that they have by words, so that the unknown
	// ones keep theirs.
	places := make([]int, len(known))
	for i, r := range known {
		places[i] = r.lexical
	}
	slices.SortStableFunc(known, func(a, b *ranked) int { return cmp.Compare(b.similarity, a.similarity) })
	for i, r := range known {
		r.meaning = places[i]
	}
	score := func(lexical, meaning int) float64 {
		sum := 1/float64(fusionOffset+1+lexical) + 1/float64(fusionOffset+1+meaning)
		return math.Round(sum*(fusionOffset+1)/2*scoreUnits) / scoreUnits
	}
	for i := range best {
		if i < len(ranks) {
			best[i].Score = score(i, ranks[i].meaning)
		} else {
			best[i].Score = score(i, i)
		}
	}
	slices.SortStableFunc(top, func(a, b Match) int { return cmp.Compare(b.Score, a.Score) })
	return true
}

// Suggest returns the tools that are the most similar to a task, best first and
// then by name. A non-empty server limits them to the server with that alias.
func (x *Index) Suggest(ctx context.Context, server string, similarity Similarity) []Match {
	number := x.core.serverNumber(server)
	if number == noServer {
		return nil
	}
	var matches []match
	for i, tool := range x.tools {
		if i%checkInterval == 0 && ctx.Err() != nil {
			return nil
		}
		if number != anyServer && x.core.serverOf[i] != uint32(number) {
			continue
		}
		if v, ok := similarity(tool); ok && v > 0 {
			matches = append(matches, match{uint32(i), float32(v)})
		}
	}
	return x.matches(x.core.best(matches, maxSuggested, 1))
}

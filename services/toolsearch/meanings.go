package toolsearch

import (
	"context"

	"mcpgateway/services/toolsearch/ranking"
)

// Meanings compares tasks with tools by meaning. Implemented by
// embeddings.Embeddings.
type Meanings interface {
	// Begin starts reading the meaning of a task. The returned function waits for
	// it until its deadline, and returns nil if it is not available.
	Begin(ctx context.Context, task string) (wait func() ranking.Similarity)
}

// rank returns the best tools for a task like ranking.Index.Rank: in lexical order, or by
// words and meaning if that is available in time, which byMeaning reports.
func (s *Searcher) rank(ctx context.Context, x *ranking.Index, task, server string, count int) (best []ranking.Match, total int, byMeaning bool) {
	if s.Meanings == nil {
		best, total = x.Rank(task, server, count)
		return best, total, false
	}
	wait := s.Meanings.Begin(ctx, task)
	best, total = x.Rank(task, server, max(count, ranking.MaxReranked))
	if similarity := wait(); similarity != nil {
		if total == 0 {
			best = x.Suggest(ctx, server, similarity)
			total = len(best)
			byMeaning = total > 0
		} else {
			byMeaning = ranking.Fuse(best, similarity)
		}
	}
	return best[:min(count, len(best))], total, byMeaning
}

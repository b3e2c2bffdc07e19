package embeddings

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"

	"mcpgateway/services/toolsearch/analyzer"
	"mcpgateway/services/toolsearch/ranking"
	"mcpgateway/services/toolset"
)

// queries are the tasks being read and the vectors of the last ones. The vector
// of a task is requested once, so that the pages of a search have one order.
type queries struct {
	mu       sync.Mutex
	running  map[string]*query
	vectors  map[string]*list.Element // of cached
	order    *list.List               // of cached, the last used first
	failures int                      // consecutive
	until    time.Time                // no task is sent before
	probing  bool                     // one task is sent after a pause
}

// query is a task being read. Its fields are set before done is closed.
type query struct {
	done   chan struct{}
	vector vector
	err    error
}

type cached struct {
	task   string
	vector vector
}

func newQueries() *queries {
	return &queries{running: map[string]*query{}, vectors: map[string]*list.Element{}, order: list.New()}
}

// Begin implements toolsearch.Meanings. It returns at once; the function it
// returns waits at most 150 ms from then.
func (e *Embeddings) Begin(ctx context.Context, task string) (wait func() ranking.Similarity) {
	e.mu.RLock()
	empty := len(e.vectors) == 0
	e.mu.RUnlock()
	none := func() ranking.Similarity { return nil }
	if empty {
		return none
	}
	v, running := e.request(ctx, analyzer.Clip(task, maxTextBytes))
	switch {
	case v != nil:
		return func() ranking.Similarity { e.counts.used.Add(1); return e.similarity(*v) }
	case running == nil:
		e.counts.skipped.Add(1)
		return none
	}
	late := time.NewTimer(deadline)
	return func() ranking.Similarity {
		defer late.Stop()
		select {
		case <-running.done:
		case <-late.C:
			e.counts.late.Add(1)
			return nil
		case <-ctx.Done():
			return nil
		}
		if running.err != nil {
			e.counts.failed.Add(1)
			return nil
		}
		e.counts.used.Add(1)
		return e.similarity(running.vector)
	}
}

// request returns the cached vector of a task or the query that reads it. It
// returns neither if no task is sent now.
func (e *Embeddings) request(ctx context.Context, task string) (*vector, *query) {
	q := e.queries
	q.mu.Lock()
	defer q.mu.Unlock()
	if found, ok := q.vectors[task]; ok {
		q.order.MoveToFront(found)
		return &found.Value.(*cached).vector, nil
	}
	if running := q.running[task]; running != nil {
		return nil, running
	}
	if len(q.running) >= maxQueries {
		return nil, nil
	}
	if q.failures >= maxFailures {
		if q.probing || e.Now().Before(q.until) {
			return nil, nil
		}
		q.probing = true
	}
	running := &query{done: make(chan struct{})}
	q.running[task] = running
	// The vector also serves the next page, so it is not cancelled with the search.
	ctx = context.WithoutCancel(ctx)
	e.Tasks.Go("query embedding", func() { e.read(ctx, task, running) })
	return nil, running
}

// read reads the vector of a task for all searches that wait for it.
func (e *Embeddings) read(ctx context.Context, task string, running *query) {
	defer e.finish(task, running)
	running.err = errors.New("reading the vector panicked") // unless replaced
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	vectors, err := e.embed(ctx, []string{task})
	if err == nil && !e.fits(vectors[0]) {
		err = errDimensions
	}
	if running.err = err; err == nil {
		running.vector = vectors[0]
	}
}

// errDimensions is the error of a model that changed under its name.
var errDimensions = errors.New("the vector has other dimensions than those of tools; configure the new model with another name")

// finish stores the result of a query.
func (e *Embeddings) finish(task string, running *query) {
	q := e.queries
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.running, task)
	q.probing = false
	var refused *refusal
	switch {
	case running.err == nil:
		q.failures = 0
		q.vectors[task] = q.order.PushFront(&cached{task, running.vector})
		if q.order.Len() > maxQueryVectors {
			last := q.order.Back()
			q.order.Remove(last)
			delete(q.vectors, last.Value.(*cached).task)
		}
	case errors.As(running.err, &refused): // because of this task
	default:
		if q.failures++; q.failures >= maxFailures {
			q.until = e.Now().Add(pause)
		}
	}
	if running.err != nil {
		e.warn("task", running.err)
	}
	close(running.done)
}

// similarity returns the similarities of the tools in memory to a task.
func (e *Embeddings) similarity(task vector) ranking.Similarity {
	return func(tool *toolset.Tool) (float64, bool) {
		e.mu.RLock()
		v, ok := e.vectors[keyOf(tool)]
		e.mu.RUnlock()
		if !ok {
			return 0, false
		}
		return task.cosine(v)
	}
}

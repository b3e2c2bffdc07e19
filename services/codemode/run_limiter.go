package codemode

import (
	"context"
	"slices"
	"sync"
	"time"
)

// runLimiter limits the number of concurrent runs, in total and per project.
// Waiting runs are served in order, except that those of a project at its limit
// are skipped.
type runLimiter struct {
	mu         sync.Mutex
	all, each  int
	taken      int
	perProject map[string]int
	waiting    []*waiter
}

type waiter struct {
	project string
	ready   chan struct{}
}

func newPlaces(all, each int) *runLimiter {
	return &runLimiter{all: all, each: each, perProject: map[string]int{}}
}

// acquire acquires a slot and returns the function that releases it. It waits for
// MaxQueueWait, then returns errQueueFull, or the context's error if the context
// ends first.
func (p *runLimiter) acquire(ctx context.Context, project string) (leave func(), err error) {
	leave = func() { p.leave(project) }
	p.mu.Lock()
	if p.free(project) && len(p.waiting) == 0 {
		p.take(project)
		p.mu.Unlock()
		return leave, nil
	}
	if len(p.waiting) >= maxWaiting {
		p.mu.Unlock()
		return nil, errQueueFull
	}
	w := &waiter{project, make(chan struct{})}
	p.waiting = append(p.waiting, w)
	p.serve()
	p.mu.Unlock()
	limit := time.NewTimer(MaxQueueWait)
	defer limit.Stop()
	select {
	case <-w.ready:
		return leave, nil
	case <-limit.C:
		err = errQueueFull
	case <-ctx.Done():
		err = ctx.Err()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.waiting, w); i >= 0 {
		p.waiting = slices.Delete(p.waiting, i, i+1)
		return nil, err
	}
	return leave, nil // served at the same moment
}

func (p *runLimiter) leave(project string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken--
	if p.perProject[project]--; p.perProject[project] == 0 {
		delete(p.perProject, project)
	}
	p.serve()
}

func (p *runLimiter) free(project string) bool {
	return p.taken < p.all && p.perProject[project] < p.each
}

func (p *runLimiter) take(project string) {
	p.taken++
	p.perProject[project]++
}

// serve assigns free slots to waiting runs. The caller must hold mu.
func (p *runLimiter) serve() {
	p.waiting = slices.DeleteFunc(p.waiting, func(w *waiter) bool {
		if !p.free(w.project) {
			return false
		}
		p.take(w.project)
		close(w.ready)
		return true
	})
}

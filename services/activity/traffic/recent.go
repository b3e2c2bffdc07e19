package traffic

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// Limits of shared results.
const (
	shareFactor = 10 // a result is shared for this many times its computing time
	maxShared   = 256
)

// recent holds recent results by the text of their request.
type recent struct {
	mu      sync.Mutex
	results map[string]sharedResult
	flights singleflight.Group
}

type sharedResult struct {
	value any
	until time.Time
}

// keyOf returns the text of a request. The times of an unfinished period are the
// same until its next step.
func keyOf(kind string, f Filter, p Period, more string) string {
	key := fmt.Sprintf("%s %q %d %d %v %v %s", kind, []string{f.ProjectID, f.Server, f.Tool, f.Caller}, p.From.Unix(), p.To.Unix(), p.Step, p.Unfinished > 0, more)
	for _, c := range f.Clauses {
		key += fmt.Sprintf(" %s %q %v", c.Field, c.Values, c.Not)
	}
	return key
}

func newRecent() *recent { return &recent{results: map[string]sharedResult{}} }

// shared returns the recent result of the key, or computes it. Concurrent
// callers compute it once, unless that fails, for example because the first
// caller's context ended.
func shared[T any](ctx context.Context, r *recent, key string, compute func(context.Context) (T, error)) (T, error) {
	if value, ok := r.get(key); ok {
		return value.(T), nil
	}
	value, err, others := r.flights.Do(key, func() (any, error) {
		start := time.Now()
		value, err := compute(ctx)
		if err == nil {
			r.put(key, sharedResult{value: value, until: time.Now().Add(shareFactor * time.Since(start))})
		}
		return value, err
	})
	if err != nil && others {
		return compute(ctx)
	}
	if err != nil {
		var none T
		return none, err
	}
	return value.(T), nil
}

func (r *recent) get(key string) (any, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	result, ok := r.results[key]
	return result.value, ok && time.Now().Before(result.until)
}

// put stores a result. If there are too many, it drops expired ones, or else
// all.
func (r *recent) put(key string, result sharedResult) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.results) >= maxShared {
		for key, old := range r.results {
			if time.Now().After(old.until) {
				delete(r.results, key)
			}
		}
		if len(r.results) >= maxShared {
			clear(r.results)
		}
	}
	r.results[key] = result
}

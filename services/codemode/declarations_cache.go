package codemode

import (
	"context"
	"weak"

	"mcpgateway/services/fault"
	"mcpgateway/services/sandbox"
	"mcpgateway/services/toolset"
	"mcpgateway/services/typescript"
)

// declarationCache are the cached declarations of a view of a project. They are
// valid for one snapshot: a snapshot never changes, and every change of tools,
// filters or settings makes a new one. They don't keep the snapshot in memory.
type declarationCache struct {
	of   weak.Pointer[toolset.Snapshot]
	done chan struct{} // closed when built or abandoned

	// Set before done is closed. Nil if the build was abandoned.
	declared *typescript.Declared
	listing  *Listing

	size int // bytes
	used uint64
}

// whole returns the declarations of every visible tool of a project. They are
// built once per snapshot; concurrent callers wait. whole returns the context's
// error if the context ends first.
func (d *Declarations) whole(ctx context.Context, project *toolset.Snapshot) (*declarationCache, error) {
	id, of := project.Key(), weak.Make(project)
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		d.mu.Lock()
		d.uses++
		k := d.kept[id]
		if k == nil || k.of != of {
			d.drop(id)
			k = &declarationCache{of: of, done: make(chan struct{}), used: d.uses}
			d.kept[id] = k
			d.mu.Unlock()
			return k, d.build(ctx, project, k)
		}
		k.used = d.uses
		d.mu.Unlock()
		select {
		case <-k.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if k.listing != nil {
			return k, nil
		}
		// The request that was building them ended first. Retry.
	}
}

// build builds and caches the declarations of a project. If the cache is full,
// it evicts the least recently used ones.
func (d *Declarations) build(ctx context.Context, project *toolset.Snapshot, k *declarationCache) error {
	defer close(k.done)
	declared, err := typescript.Declare(ctx, toolset.ForModels(project.Tools), typescript.SettingsOf(project))
	var listing *Listing
	if err == nil {
		listing, err = newListing(declared)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	id := project.Key()
	if err != nil {
		if d.kept[id] == k {
			delete(d.kept, id)
		}
		return err
	}
	k.declared, k.listing = declared, listing
	if d.kept[id] != k {
		return nil // the project has changed since
	}
	k.size = len(listing.Text) + len(listing.Structured)
	for _, w := range declared.Warnings {
		k.size += len(w.Message)
	}
	d.size += k.size
	for d.size > d.limit {
		d.drop(d.oldest())
	}
	return nil
}

// oldest returns the key of the view whose declarations are least recently used. The
// caller must hold mu.
func (d *Declarations) oldest() string {
	oldest, used := "", d.uses+1
	for id, k := range d.kept {
		if k.size > 0 && k.used < used {
			oldest, used = id, k.used
		}
	}
	return oldest
}

// drop removes the declarations with a toolset.Snapshot.Key. The caller must
// hold mu.
func (d *Declarations) drop(key string) {
	if k := d.kept[key]; k != nil {
		d.size -= k.size
		delete(d.kept, key)
	}
}

// Forget removes the cached declarations of a project, for example after it was
// deleted.
func (d *Declarations) Forget(projectID string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for key := range d.kept {
		if toolset.IsKeyOf(key, projectID) {
			d.drop(key)
		}
	}
}

// newListing returns the result that has declarations without a page.
func newListing(declared *typescript.Declared) (*Listing, error) {
	raw, err := sandbox.Encode(struct {
		Declarations string          `json:"declarations"`
		Count        int             `json:"count"`
		Warnings     []fault.Warning `json:"warnings"`
	}{declared.Text, declared.Tools, append([]fault.Warning{}, declared.Warnings...)})
	if err != nil {
		return nil, fault.Internal(err)
	}
	return &Listing{Text: declared.Text, Structured: raw}, nil
}

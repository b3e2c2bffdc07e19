package codemode

import (
	"context"
	"weak"

	"mcpgateway/services/fault"
	"mcpgateway/services/sandbox"
	"mcpgateway/services/toolset"
	"mcpgateway/services/typescript"
)

// keptDeclarations are the declarations of a whole project, as long as its
// snapshot stands: a snapshot never changes, and every change of tools, filters
// or settings makes another. They do not keep the snapshot in memory.
type keptDeclarations struct {
	of   weak.Pointer[toolset.Snapshot]
	done chan struct{} // closed when they are made, or given up

	// Set before done is closed; nil when they were given up.
	declared *typescript.Declared
	listing  *Listing

	size int // bytes
	used uint64
}

// whole returns the declarations of every visible tool of a project, made once
// for its snapshot: whoever needs them meanwhile waits. It returns the
// context's error when that ends before.
func (d *Declarations) whole(ctx context.Context, project *toolset.Snapshot) (*keptDeclarations, error) {
	id, of := project.Project.ID, weak.Make(project)
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		d.mu.Lock()
		d.uses++
		k := d.kept[id]
		if k == nil || k.of != of {
			d.drop(id)
			k = &keptDeclarations{of: of, done: make(chan struct{}), used: d.uses}
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
		// The request that was to make them ended first; this one does it.
	}
}

// build makes the declarations of a project and keeps them, in place of those
// that were not used for the longest time when there is no room.
func (d *Declarations) build(ctx context.Context, project *toolset.Snapshot, k *keptDeclarations) error {
	defer close(k.done)
	declared, err := typescript.Declare(ctx, project.Tools, typescript.SettingsOf(project))
	var listing *Listing
	if err == nil {
		listing, err = newListing(declared)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	id := project.Project.ID
	if err != nil {
		if d.kept[id] == k {
			delete(d.kept, id)
		}
		return err
	}
	k.declared, k.listing = declared, listing
	if d.kept[id] != k {
		return nil // the project has changed meanwhile
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

// oldest returns the project whose declarations were not used for the longest
// time. The caller holds the lock.
func (d *Declarations) oldest() string {
	oldest, used := "", d.uses+1
	for id, k := range d.kept {
		if k.size > 0 && k.used < used {
			oldest, used = id, k.used
		}
	}
	return oldest
}

// drop forgets the declarations of a project. The caller holds the lock.
func (d *Declarations) drop(projectID string) {
	if k := d.kept[projectID]; k != nil {
		d.size -= k.size
		delete(d.kept, projectID)
	}
}

// Forget drops what is kept of a project, such as one that was deleted.
func (d *Declarations) Forget(projectID string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.drop(projectID)
}

// newListing returns the answer that shows declarations without a page.
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

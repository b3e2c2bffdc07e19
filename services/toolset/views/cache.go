package views

import (
	"strings"
	"sync"
	"sync/atomic"

	"mcpgateway/services/toolset"
)

// MaxCached is the maximum number of cached views of a project.
const MaxCached = 256

// cache holds the views of the current snapshots. Views of a replaced snapshot
// are dropped with it. The zero value is empty.
type cache struct {
	projects sync.Map // project id to *projectViews
}

// projectViews are the views of one snapshot.
type projectViews struct {
	of *toolset.Snapshot

	mu    sync.RWMutex
	views map[string]*cachedView
	uses  atomic.Uint64
}

type cachedView struct {
	used atomic.Uint64
	make func() *toolset.Snapshot
}

// part is the part of a project that a view has.
type part struct {
	toolsets   []string // ids
	everything bool     // all tools, not only those of the toolsets
	endpoint   string   // the toolset whose endpoint shows the view, or empty
	// withoutPerson is set if users have their own accounts at a server and the
	// caller is not a user.
	withoutPerson bool
}

// name identifies the part in its project.
func (p *part) name() string {
	name := strings.Join(p.toolsets, ",")
	switch {
	case p.endpoint != "":
		name = "@" + p.endpoint
	case p.everything:
		name = "*"
	}
	if p.withoutPerson {
		name += "-"
	}
	return name
}

// view returns the view of a project, which is built on its first use.
func (c *cache) view(project *toolset.Snapshot, p part) *toolset.Snapshot {
	if p.everything && !p.withoutPerson {
		return project
	}
	name := p.name()
	return c.of(project).view(name, func() *toolset.Snapshot { return build(project, name, p) })
}

// of returns the views of a snapshot. A snapshot that is older than the cached
// one is not cached.
func (c *cache) of(project *toolset.Snapshot) *projectViews {
	id := project.Project.ID
	for {
		found, ok := c.projects.Load(id)
		if ok && found.(*projectViews).of == project {
			return found.(*projectViews)
		}
		next := &projectViews{of: project, views: map[string]*cachedView{}}
		switch {
		case !ok:
			if _, taken := c.projects.LoadOrStore(id, next); !taken {
				return next
			}
		case project.OlderThan(found.(*projectViews).of):
			return next
		case c.projects.CompareAndSwap(id, found, next):
			return next
		}
	}
}

func (c *cache) forget(projectID string) { c.projects.Delete(projectID) }

// view returns the view with the name. make is called once for concurrent
// callers.
func (p *projectViews) view(name string, build func() *toolset.Snapshot) *toolset.Snapshot {
	p.mu.RLock()
	v := p.views[name]
	p.mu.RUnlock()
	if v == nil {
		v = p.add(name, build)
	}
	v.used.Store(p.uses.Add(1))
	return v.make()
}

// add adds a view. Beyond MaxCached it removes the least recently used one.
func (p *projectViews) add(name string, build func() *toolset.Snapshot) *cachedView {
	p.mu.Lock()
	defer p.mu.Unlock()
	if v := p.views[name]; v != nil {
		return v
	}
	if len(p.views) >= MaxCached {
		oldest := ""
		for other, v := range p.views {
			if oldest == "" || v.used.Load() < p.views[oldest].used.Load() {
				oldest = other
			}
		}
		delete(p.views, oldest)
	}
	v := &cachedView{make: sync.OnceValue(build)}
	v.used.Store(p.uses.Add(1))
	p.views[name] = v
	return v
}

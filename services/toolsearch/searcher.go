package toolsearch

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/background"
	"mcpgateway/services/fault"
	"mcpgateway/services/page"
	"mcpgateway/services/toolsearch/ranking"
	"mcpgateway/services/toolset"
	"mcpgateway/services/upstream"
)

// codeSearchFailed distinguishes a failed search from an invalid request
// (contract, "Errors").
const codeSearchFailed fault.Code = "SEARCH_FAILED"

// Searcher searches the tools of projects. It caches an index per view of a
// project, built by the first search and again after the snapshot has changed.
// It is safe for concurrent use.
type Searcher struct {
	Options
	places chan struct{} // limits the number of concurrent builds

	mu       sync.Mutex
	projects map[string]*projectIndex // by toolset.Snapshot.Key
	tools    int                      // in all cached indexes
	limit    int                      // maximum of tools
	uses     uint64
}

// projectIndex is the index of a view of a project and its current build.
type projectIndex struct {
	ready    *indexes // nil before the first build
	building *pendingBuild
	used     uint64
}

// indexes are the indexes of a snapshot.
type indexes struct {
	snapshot *toolset.Snapshot
	visible  *ranking.Index
	all      *ranking.Index // including hidden tools; nil if there are none
}

// pendingBuild is an index being built. result or err is set before done is closed.
type pendingBuild struct {
	snapshot *toolset.Snapshot
	done     chan struct{}
	result   *indexes
	err      error
}

// Options configure a Searcher.
type Options struct {
	Cursors *page.Cursors // seals and opens the cursors of queries
	Waiting PendingAuth   // nil means no pending authorizations
	Outages Outages       // nil means no paused servers
	Log     *slog.Logger
	Tasks   *background.Tasks // may be nil
	// Meanings rank tasks by meaning, too; nil ranks them only by words.
	Meanings Meanings
}

// NewSearcher returns a searcher without any index.
func NewSearcher(o Options) *Searcher {
	return &Searcher{Options: o, places: make(chan struct{}, maxBuilds), projects: map[string]*projectIndex{}, limit: MaxIndexedTools}
}

// Caller is the caller of a search.
type Caller struct {
	ID     string // cursors are bound to it
	UserID string // the user behind the caller, or empty
}

// PendingAuth reports what calls of a user to a server wait for. userID is empty
// for callers who are not users.
type PendingAuth interface {
	Pending(ctx context.Context, server *models.Server, userID string) upstream.Pending
}

// Outages reports servers whose calls are paused.
type Outages interface {
	// Outage returns the reason, or "".
	Outage(serverID string) string
}

// indexes returns the indexes of a snapshot. Concurrent searches of one
// snapshot share one build. Other builds wait only for a free slot. It returns
// SEARCH_FAILED if the context ends first.
func (s *Searcher) indexes(ctx context.Context, snapshot *toolset.Snapshot) (*indexes, error) {
	b := s.begin(snapshot)
	select {
	case <-b.done:
		return b.result, b.err
	default:
	}
	select {
	case <-b.done:
		return b.result, b.err
	case <-ctx.Done():
		return nil, fault.New(fault.KindInternal, codeSearchFailed, "The search timed out while the tools were being indexed. Try again.").Because(ctx.Err())
	}
}

// begin returns the build of a snapshot's indexes: a finished, running or new
// one.
func (s *Searcher) begin(snapshot *toolset.Snapshot) *pendingBuild {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.projects[snapshot.Key()]
	if p == nil {
		p = &projectIndex{}
		s.projects[snapshot.Key()] = p
	}
	s.uses++
	p.used = s.uses
	if p.ready != nil && p.ready.snapshot == snapshot {
		done := make(chan struct{})
		close(done)
		return &pendingBuild{snapshot: snapshot, done: done, result: p.ready}
	}
	if p.building == nil || p.building.snapshot != snapshot {
		p.building = &pendingBuild{snapshot: snapshot, done: make(chan struct{})}
		b, old := p.building, p.ready
		s.Tasks.Go("tool index", func() { s.build(b, old) })
		return b
	}
	return p.building
}

// build builds the indexes for all waiting searches. It isn't cancelled with
// the request that started it.
func (s *Searcher) build(b *pendingBuild, old *indexes) {
	defer close(b.done)
	begin := time.Now()
	s.places <- struct{}{}
	err := s.Tasks.Try("tool index", func() error { b.result = newIndexes(b.snapshot, old); return nil })
	<-s.places
	if err != nil {
		b.err = fault.New(fault.KindInternal, codeSearchFailed, "Indexing the tools failed. Try again.").Because(err)
		s.abandon(b)
		return
	}
	s.keep(b)
	s.Log.Debug("tools indexed", "project", b.snapshot.Project.Slug, "tools", b.result.size(), "ms", time.Since(begin).Milliseconds())
}

// abandon drops a failed build, so that the next search starts another.
func (s *Searcher) abandon(b *pendingBuild) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.projects[b.snapshot.Key()]; p != nil && p.building == b {
		p.building = nil
	}
}

// newIndexes indexes a snapshot. It reuses old if the searched texts are the
// same, which is common: a configuration change creates a new snapshot, too.
func newIndexes(snapshot *toolset.Snapshot, old *indexes) *indexes {
	if old == nil {
		old = &indexes{}
	}
	tools := toolset.ForModels(snapshot.Tools)
	x := &indexes{snapshot: snapshot, visible: old.visible.Over(tools)}
	if x.visible == nil {
		x.visible = ranking.Build(tools)
	}
	if all := toolset.ForModels(snapshot.AllTools()); len(all) > len(tools) {
		if x.all = old.all.Over(all); x.all == nil {
			x.all = ranking.Build(all)
		}
	}
	return x
}

func (x *indexes) size() int {
	if x == nil {
		return 0
	}
	n := x.visible.Len()
	if x.all != nil {
		n += x.all.Len()
	}
	return n
}

// keep stores a finished build, unless a later snapshot is being built or the
// project was dropped in the meantime.
func (s *Searcher) keep(b *pendingBuild) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := b.snapshot.Key()
	p := s.projects[id]
	if p == nil || p.building != b {
		return
	}
	p.building = nil
	s.tools += b.result.size() - p.ready.size()
	p.ready = b.result
	for s.tools > s.limit && s.dropOldest(id) {
	}
}

// dropOldest drops the least recently searched view except the given one and
// those being indexed. It reports whether there was one.
func (s *Searcher) dropOldest(except string) bool {
	oldest := ""
	for id, p := range s.projects {
		if id != except && p.building == nil && (oldest == "" || p.used < s.projects[oldest].used) {
			oldest = id
		}
	}
	if oldest == "" {
		return false
	}
	s.tools -= s.projects[oldest].ready.size()
	delete(s.projects, oldest)
	return true
}

// Drop drops the indexes of a project, such as a deleted one.
func (s *Searcher) Drop(projectID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, p := range s.projects {
		if toolset.IsKeyOf(key, projectID) {
			s.tools -= p.ready.size()
			delete(s.projects, key)
		}
	}
}

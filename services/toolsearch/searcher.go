package toolsearch

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"mcpgateway/services/background"
	"mcpgateway/services/fault"
	"mcpgateway/services/page"
	"mcpgateway/services/toolset"
)

// codeSearchFailed tells a search that could not be carried out from one that
// was asked for wrongly (contract, "Errors").
const codeSearchFailed fault.Code = "SEARCH_FAILED"

// Searcher searches the tools of projects. It keeps an index of each project
// in memory, built at the first search and again when the project's snapshot
// has changed. It is safe for concurrent use.
type Searcher struct {
	Options
	places chan struct{} // one for every index that may be built at a time

	mu       sync.Mutex
	projects map[string]*indexed // by project id
	tools    int                 // in all kept indexes
	limit    int                 // of tools
	uses     uint64
}

// indexed is the index of one project and the one that is being built.
type indexed struct {
	ready    *indexes // nil before the first is built
	building *building
	used     uint64
}

// indexes are what is searched of one snapshot.
type indexes struct {
	snapshot *toolset.Snapshot
	visible  *Index
	all      *Index // the hidden tools too; nil when there are none
}

// building is an index in the making; result or err is set when done is closed.
type building struct {
	snapshot *toolset.Snapshot
	done     chan struct{}
	result   *indexes
	err      error
}

// Options are what a Searcher works with.
type Options struct {
	Cursors *page.Cursors // seals and opens the cursors of queries
	Waiting Waiting       // may be nil: then no server waits for a person
	Outages Outages       // may be nil: then calls are kept away from no server
	Log     *slog.Logger
	Tasks   *background.Tasks // may be nil
}

// NewSearcher returns a searcher without any index.
func NewSearcher(o Options) *Searcher {
	return &Searcher{Options: o, places: make(chan struct{}, maxBuilds), projects: map[string]*indexed{}, limit: MaxIndexedTools}
}

// Waiting knows which servers wait for a person to connect them.
type Waiting interface {
	// Why returns why a server waits, or "".
	Why(serverID string) string
}

// Outages knows from which servers calls are kept away at present.
type Outages interface {
	// Outage returns why, or "".
	Outage(serverID string) string
}

// indexes returns the indexes of a snapshot. Searches that need the same one
// wait for one build; those of other projects wait for nothing but a place.
// It returns SEARCH_FAILED when the context ends before.
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
		return nil, fault.New(fault.KindInternal, codeSearchFailed, "the search ended before the tools were indexed; try again").Because(ctx.Err())
	}
}

// begin returns the build of a snapshot's indexes: one that is done, one that
// runs, or a new one.
func (s *Searcher) begin(snapshot *toolset.Snapshot) *building {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.projects[snapshot.Project.ID]
	if p == nil {
		p = &indexed{}
		s.projects[snapshot.Project.ID] = p
	}
	s.uses++
	p.used = s.uses
	if p.ready != nil && p.ready.snapshot == snapshot {
		done := make(chan struct{})
		close(done)
		return &building{snapshot: snapshot, done: done, result: p.ready}
	}
	if p.building == nil || p.building.snapshot != snapshot {
		p.building = &building{snapshot: snapshot, done: make(chan struct{})}
		b, old := p.building, p.ready
		s.Tasks.Go("index of tools", func() { s.build(b, old) })
		return b
	}
	return p.building
}

// build makes the indexes for everyone who waits, so it does not end with the
// request that began it.
func (s *Searcher) build(b *building, old *indexes) {
	defer close(b.done)
	begin := time.Now()
	s.places <- struct{}{}
	err := s.Tasks.Try("index of tools", func() error { b.result = newIndexes(b.snapshot, old); return nil })
	<-s.places
	if err != nil {
		b.err = fault.New(fault.KindInternal, codeSearchFailed, "the tools could not be indexed; try again").Because(err)
		s.abandon(b)
		return
	}
	s.keep(b)
	s.Log.Debug("the tools of a project were indexed", "project", b.snapshot.Project.Slug, "tools", b.result.size(), "ms", time.Since(begin).Milliseconds())
}

// abandon drops a build that failed, so that the next search begins another.
func (s *Searcher) abandon(b *building) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.projects[b.snapshot.Project.ID]; p != nil && p.building == b {
		p.building = nil
	}
}

// newIndexes indexes a snapshot. What is searched in it is often the same as
// before, because a change of configuration makes a new snapshot too.
func newIndexes(snapshot *toolset.Snapshot, old *indexes) *indexes {
	if old == nil {
		old = &indexes{}
	}
	x := &indexes{snapshot: snapshot, visible: old.visible.over(snapshot.Tools)}
	if x.visible == nil {
		x.visible = Build(snapshot.Tools)
	}
	if all := snapshot.AllTools(); len(all) > len(snapshot.Tools) {
		if x.all = old.all.over(all); x.all == nil {
			x.all = Build(all)
		}
	}
	return x
}

func (x *indexes) size() int {
	if x == nil {
		return 0
	}
	n := len(x.visible.tools)
	if x.all != nil {
		n += len(x.all.tools)
	}
	return n
}

// keep makes what was built the index of its project, unless a later snapshot
// is being built or the project was dropped in between.
func (s *Searcher) keep(b *building) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := b.snapshot.Project.ID
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

// dropOldest drops the project that was not searched for longest and is not
// being indexed; never the one called except. It reports whether there was one.
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

// Forget drops what is kept of a project, such as one that was deleted.
func (s *Searcher) Forget(projectID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.projects[projectID]; p != nil {
		s.tools -= p.ready.size()
		delete(s.projects, projectID)
	}
}

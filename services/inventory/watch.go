package inventory

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/upstream"
)

// announcements stores the lists that upstreams announced as changed and that
// were not read since.
type announcements struct {
	mu      sync.Mutex
	methods map[string]map[string]bool // by server ID
}

func (a *announcements) add(serverID string, methods ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, method := range methods {
		if a.methods == nil {
			a.methods = map[string]map[string]bool{}
		}
		if a.methods[serverID] == nil {
			a.methods[serverID] = map[string]bool{}
		}
		a.methods[serverID][method] = true
	}
}

func (a *announcements) take(serverID string) (methods []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	methods = slices.Sorted(maps.Keys(a.methods[serverID]))
	delete(a.methods, serverID)
	return methods
}

// syncPlanned syncs a due server. After an announcement it must read the lists
// again; otherwise it can share a run that is already in progress.
func (s *Syncer) syncPlanned(ctx context.Context, p planned) {
	sync := s.Sync
	if !p.announced {
		if !s.schedule.isDue(p.serverID) {
			return
		}
		sync = s.shareAny
	}
	if reads, err := s.mayRead(ctx, p.serverID); err != nil || !reads {
		s.schedule.left(p.serverID, err == nil)
		return
	}
	methods := s.announced.take(p.serverID)
	r, err := sync(ctx, p.serverID) // the outcome is stored and logged
	if err != nil {
		s.announced.add(p.serverID, methods...)
	} else {
		for _, method := range methods {
			s.Listed(r.Server.ProjectID, r.Server.Alias, method)
		}
	}
	if ctx.Err() == nil {
		s.schedule.recordSync(p.serverID, err == nil && r.touched)
	}
}

// watches are the watched servers. They are used only by the goroutine of
// runPlanned.
type watches struct {
	syncer *Syncer
	all    map[string]*serverWatch
	ending sync.WaitGroup
}

// serverWatch is the watch of one configuration of a server.
type serverWatch struct {
	server *models.Server
	cancel context.CancelFunc
	over   chan struct{} // closed when the watch has ended
}

func newWatches(s *Syncer) *watches { return &watches{syncer: s, all: map[string]*serverWatch{}} }

// follow starts and ends watches to match the given servers, each with its
// current configuration. A watch that ended unexpectedly restarts after the
// server's next sync.
func (w *watches) follow(ctx context.Context, servers map[string]*models.Server) {
	for id, watch := range w.all {
		server := servers[id]
		if server == nil || server.ConfigVersion != watch.server.ConfigVersion || server != watch.server && watch.isOver() {
			watch.cancel()
			delete(w.all, id)
		}
	}
	for id, server := range servers {
		if w.all[id] == nil {
			w.all[id] = w.begin(ctx, server)
		}
	}
}

func (w *serverWatch) isOver() bool {
	select {
	case <-w.over:
		return true
	default:
		return false
	}
}

func (w *watches) begin(ctx context.Context, server *models.Server) *serverWatch {
	ctx, cancel := context.WithCancel(ctx)
	watch := &serverWatch{server: server, cancel: cancel, over: make(chan struct{})}
	s := w.syncer
	w.ending.Go(s.Tasks.Func("upstream watch", func() {
		defer cancel()
		defer func() {
			close(watch.over)
			if ctx.Err() == nil { // the server was dropped but may have been enabled again
				s.schedule.announce(server.ID, announceDelay)
			}
		}()
		opened := initialDelay
		s.Pool.Watch(ctx, s.Target(*server), func(e upstream.Event) {
			s.handleEvent(server, e, opened)
			if e.Method == "" {
				opened = announceDelay
			}
		})
	}))
	return watch
}

// end ends every watch and waits for them.
func (w *watches) end() {
	for _, watch := range w.all {
		watch.cancel()
	}
	w.ending.Wait()
}

// handleEvent processes a notification of an upstream. When a stream was opened, it
// schedules a sync after a delay, because earlier notifications may be missing. An
// announced list is reported by its sync, or at once if that comes later than in
// soonSpacing, because the server's announcements had no change.
func (s *Syncer) handleEvent(server *models.Server, e upstream.Event, opened time.Duration) {
	switch e.Method {
	case "":
		s.schedule.announce(server.ID, opened)
	case upstream.ToolsListChanged, upstream.PromptsListChanged, upstream.ResourcesListChanged:
		s.announced.add(server.ID, e.Method)
		if s.schedule.announce(server.ID, announceDelay) > soonSpacing {
			s.Listed(server.ProjectID, server.Alias, e.Method)
		}
	case upstream.ResourceUpdated:
		o, err := rawjson.ParseObject(e.Params, rawjson.Lenient)
		if err != nil {
			return
		}
		if uri, ok := o.String("uri"); ok {
			s.ResourceUpdated(server.ID, uri)
		}
	}
}

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

// announcements are the lists that upstreams announced as changed since they
// were read.
type announcements struct {
	mu      sync.Mutex
	methods map[string]map[string]bool // by server id
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

// syncPlanned syncs a server that is due. For what the server announced the
// lists have to be read anew; otherwise a run that others began will do.
func (s *Syncer) syncPlanned(ctx context.Context, p planned) {
	sync := s.Sync
	if !p.announced {
		if !s.schedule.isDue(p.serverID) {
			return
		}
		sync = s.shareAny
	}
	methods := s.announced.take(p.serverID)
	r, err := sync(ctx, p.serverID) // the outcome is stored and logged
	if err != nil {
		s.announced.add(p.serverID, methods...)
	} else {
		for _, method := range methods {
			s.Listed(r.Server.ProjectID, method)
		}
	}
	if ctx.Err() == nil {
		s.schedule.heeded(p.serverID, err == nil && r.touched)
	}
}

// watches are the servers that are being watched. They belong to the goroutine
// that runs the syncer.
type watches struct {
	syncer *Syncer
	all    map[string]*serverWatch
	ending sync.WaitGroup
}

// serverWatch is the watch of one configuration of a server.
type serverWatch struct {
	server *models.Server
	cancel context.CancelFunc
	over   chan struct{} // closed when it ended
}

func newWatches(s *Syncer) *watches { return &watches{syncer: s, all: map[string]*serverWatch{}} }

// follow begins and ends watches so that exactly the wanted servers are
// watched, each in its present configuration. A watch that ended by itself is
// begun again behind the server's next sync.
func (w *watches) follow(ctx context.Context, wanted map[string]*models.Server) {
	for id, watch := range w.all {
		server := wanted[id]
		if server == nil || server.ConfigVersion != watch.server.ConfigVersion || server != watch.server && watch.isOver() {
			watch.cancel()
			delete(w.all, id)
		}
	}
	for id, server := range wanted {
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
	w.ending.Go(s.Tasks.Func("watch of an upstream", func() {
		defer cancel()
		defer func() {
			close(watch.over)
			if ctx.Err() == nil { // the server was dropped, though it may be back
				s.schedule.announce(server.ID, soonDelay)
			}
		}()
		opened := firstLook
		s.Pool.Watch(ctx, s.Target(*server), func(e upstream.Event) {
			s.heard(server.ID, e, opened)
			if e.Method == "" {
				opened = soonDelay
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

// heard acts on what an upstream said. When its stream was opened, what may
// have been missed before is looked for after a delay.
func (s *Syncer) heard(serverID string, e upstream.Event, opened time.Duration) {
	switch e.Method {
	case "":
		s.schedule.announce(serverID, opened)
	case upstream.ToolsListChanged, upstream.PromptsListChanged, upstream.ResourcesListChanged:
		s.announced.add(serverID, e.Method)
		s.schedule.announce(serverID, soonDelay)
	case upstream.ResourceUpdated:
		o, err := rawjson.ParseObject(e.Params, rawjson.Lenient)
		if err != nil {
			return
		}
		if uri, ok := o.String("uri"); ok {
			s.ResourceUpdated(serverID, uri)
		}
	}
}

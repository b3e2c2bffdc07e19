package upstream

import (
	"context"
	"sync"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/rawjson"
)

// OnResourceUpdated makes the syncer call updated whenever an upstream says
// that a resource changed which somebody subscribed to with Pool.Subscribe.
// updated must not block. Set it before Run.
func (s *Syncer) OnResourceUpdated(updated func(serverID, uri string)) { s.updated = updated }

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
	r, err := sync(ctx, p.serverID) // the outcome is stored and logged
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
	w.ending.Go(func() {
		defer cancel()
		opened := firstLook
		s.pool.Watch(ctx, s.target(*server), func(e Event) {
			s.heard(server.ID, e, opened)
			if e.Method == "" {
				opened = soonDelay
			}
		})
		close(watch.over)
		if ctx.Err() == nil { // the server was dropped, though it may be back
			s.schedule.announce(server.ID, soonDelay)
		}
	})
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
func (s *Syncer) heard(serverID string, e Event, opened time.Duration) {
	switch e.Method {
	case "":
		s.schedule.announce(serverID, opened)
	case ToolsListChanged, PromptsListChanged, ResourcesListChanged:
		s.schedule.announce(serverID, soonDelay)
	case ResourceUpdated:
		o, err := rawjson.ParseObject(e.Params, rawjson.Lenient)
		if err != nil {
			return
		}
		if uri, ok := o.String("uri"); ok {
			s.updated(serverID, uri)
		}
	}
}

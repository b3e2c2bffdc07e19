package connectors

import (
	"context"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/background"
	"mcpgateway/services/notify"
	"mcpgateway/services/runners"
	"mcpgateway/services/runners/socket"
)

// Times of a Hub.
const (
	checkInterval = 10 * time.Second // between the checks for other replicas and expired tokens
	seenInterval  = time.Minute      // between the stored times when connectors were seen
	acceptTime    = 10 * time.Second // for the runner's response to the first message
	recordTime    = 5 * time.Second  // for records about an ended connection
)

// Replicas are the gateway's processes, and what they declare.
type Replicas interface {
	Replica() string
	Live(ctx context.Context) ([]string, error)
	// Gone forgets what a connector declared at this replica.
	Gone(ctx context.Context, p runners.Peer) error
}

// HubOptions configure a Hub.
type HubOptions struct {
	Store    *Store
	Replicas Replicas
	// Attach uses a connection until it ends, and returns why.
	Attach func(ctx context.Context, p runners.Peer, conn net.Conn) error
	Log    *slog.Logger
	Tasks  *background.Tasks
}

// Hub has the connections of connectors to this process. It is safe for
// concurrent use.
type Hub struct {
	HubOptions
	ctx  context.Context
	stop context.CancelFunc

	mu       sync.Mutex
	stopped  bool
	sessions map[string]*session // the newest by connector ID
	running  sync.WaitGroup
	replicas []string // the live ones, as last sent to the runners
}

// NewHub returns a Hub without connections. Run must be called next.
func NewHub(o HubOptions) *Hub {
	h := &Hub{HubOptions: o, sessions: map[string]*session{}}
	h.ctx, h.stop = context.WithCancel(context.Background())
	return h
}

// Online returns the number of connected connectors.
func (h *Hub) Online() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.sessions)
}

// Run notifies runners of new replicas, ends the connections of expired tokens and
// stores when connectors were seen. When ctx ends, it closes all connections and
// returns after the last one.
func (h *Hub) Run(ctx context.Context) {
	check, seen := time.NewTicker(checkInterval), time.NewTicker(seenInterval)
	defer check.Stop()
	defer seen.Stop()
	defer h.shutDown()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-check.C:
			err = h.Check(ctx)
		case <-seen.C:
			err = h.Store.touch(ctx, slices.Collect(maps.Keys(h.current(""))))
		}
		if err != nil && ctx.Err() == nil {
			h.Log.WarnContext(ctx, "connectors not checked", "error", err)
		}
	}
}

func (h *Hub) shutDown() {
	h.mu.Lock()
	h.stopped = true
	h.mu.Unlock()
	for _, s := range h.current("") {
		h.end(s, socket.CodeLeaving, "the gateway stops")
	}
	h.running.Wait()
	h.stop()
}

// end ends a connection in the background.
func (h *Hub) end(s *session, code int, why string) {
	h.Tasks.Go("end of a connector", func() { s.end(code, why) })
}

// current returns the connections of a project, or of all projects for "".
func (h *Hub) current(projectID string) map[string]*session {
	h.mu.Lock()
	defer h.mu.Unlock()
	found := map[string]*session{}
	for id, s := range h.sessions {
		if projectID == "" || s.row.ProjectID == projectID {
			found[id] = s
		}
	}
	return found
}

// Check ends the connections of expired tokens, and notifies runners of the live
// replicas if these have changed. It returns the database's error.
func (h *Hub) Check(ctx context.Context) error {
	sessions := h.current("")
	if len(sessions) == 0 {
		return nil
	}
	if err := h.cut(ctx, sessions); err != nil {
		return err
	}
	live, err := h.Replicas.Live(ctx)
	if err != nil {
		return err
	}
	h.mu.Lock()
	same := slices.Equal(h.replicas, live)
	h.replicas = live
	h.mu.Unlock()
	if !same {
		for _, s := range sessions {
			s.queue(socket.Notice{Replicas: live})
		}
	}
	return nil
}

// cut ends the connections whose connectors may not connect any more.
func (h *Hub) cut(ctx context.Context, sessions map[string]*session) error {
	usable, err := h.Store.stillUsable(ctx, slices.Collect(maps.Keys(sessions)))
	if err != nil {
		return err
	}
	for id, s := range sessions {
		if !usable[id] {
			h.end(s, socket.CodeRevoked, "the token was revoked or has expired")
		}
	}
	return nil
}

// Changed ends the connections of revoked connectors. It ignores topics other
// than those of connectors.
func (h *Hub) Changed(ctx context.Context, topic notify.Topic) error {
	projectID, ok := topic.ConnectorsOf()
	if !ok {
		return nil
	}
	sessions := h.current(projectID)
	if len(sessions) == 0 {
		return nil
	}
	return h.cut(ctx, sessions)
}

// Refused notifies a runner of its entries without a server, with the reasons.
func (h *Hub) Refused(connectorID string, refused map[string]string) {
	h.mu.Lock()
	s := h.sessions[connectorID]
	h.mu.Unlock()
	if s != nil {
		s.queue(socket.Notice{Refused: &refused})
	}
}

// enter stores a session as the newest of its connector. It returns the one before,
// or nil. ok is false when the hub stops.
func (h *Hub) enter(s *session) (before *session, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopped {
		return nil, false
	}
	before = h.sessions[s.row.ID]
	h.sessions[s.row.ID] = s
	return before, true
}

// leave removes a session.
func (h *Hub) leave(s *session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sessions[s.row.ID] == s {
		delete(h.sessions, s.row.ID)
	}
}

// IsConnected reports whether a connector is connected to this process.
func (h *Hub) IsConnected(row models.Connector) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sessions[row.ID] != nil
}

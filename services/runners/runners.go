// Package runners connects the gateway to the runners of programs: its own one
// and those on other computers. It keeps the records of their programs, and its
// targets send calls on these connections.
package runners

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/background"
	"mcpgateway/services/runners/wire"
)

// Peer is a runner.
type Peer struct {
	Source      models.ServerSource
	ProjectID   string // of a connector; empty for the gateway's own runner
	ConnectorID string
	Prefix      string // of the aliases of a connector's new servers
}

// Options configures Runners. Fields may be nil unless the comment states
// otherwise.
type Options struct {
	// Listed stores the programs of a runner and returns the IDs of their servers
	// by entry name. It is called for each list and when servers changed, again
	// after an error, and never concurrently for one connection. An equal list
	// should cost little. Programs without an ID are ignored. It must be set.
	Listed func(ctx context.Context, p Peer, l wire.List) (map[string]string, error)
	// Elsewhere reports whether another live replica declares a server. It must
	// not block. Nil means that each declared server without a connection is.
	Elsewhere func(serverID string) bool
	// Changed is called after the record of a server has another state or hash,
	// or its connection began or ended. It must not block.
	Changed func(serverID string)
	// Audit records what connections and their lists do.
	Audit Audit
	Now   func() time.Time // must be set
	Log   *slog.Logger     // must be set
	Tasks *background.Tasks
}

// Runners are the connections to all runners. It is safe for concurrent use.
type Runners struct {
	Options

	mu          sync.Mutex
	connections []*connection        // in the order of their start
	left        map[string]time.Time // when servers without a connection lost it
	current     atomic.Pointer[view]
}

// view is the state of all connections. It is immutable.
type view struct {
	servers    map[string]program // by server ID
	connectors map[string]bool    // IDs of the connected ones
	left       map[string]time.Time
	runners    []Runner
	replaced   chan struct{} // closed when another view follows
}

// program is a program on a connection.
type program struct {
	client *wire.Client
	runner string
	record wire.Server
	// lastStart is the time of the last observed start, or 0.
	lastStart time.Duration
}

// New returns Runners without connections.
func New(o Options) *Runners {
	r := &Runners{Options: o, left: map[string]time.Time{}}
	if r.Changed == nil {
		r.Changed = func(string) {}
	}
	r.current.Store(&view{replaced: make(chan struct{})})
	return r
}

// Runner is a connected runner.
type Runner struct {
	Peer
	ID    string
	Since time.Time // start of the connection
	Files []wire.File
	// Servers are the records of its programs, by server ID.
	Servers map[string]wire.Server
}

// All returns the connected runners, in the order of their connections.
func (r *Runners) All() []Runner { return r.current.Load().runners }

// IsConnected reports whether a connector is connected to this process.
func (r *Runners) IsConnected(connectorID string) bool {
	return r.current.Load().connectors[connectorID]
}

// next returns the program after a new list of a connection.
func (p program) next(c *connection, record wire.Server) program {
	n := program{client: c.client, runner: c.list.Runner, record: record, lastStart: p.lastStart}
	if p.record.State == wire.StateStarting && record.State == wire.StateRunning && p.client == c.client {
		n.lastStart = max(0, record.Since.Sub(p.record.Since))
	}
	return n
}

// Connectors returns the number of connectors that are connected to this
// process.
func (r *Runners) Connectors() int { return len(r.current.Load().connectors) }

// maxLeft is the number of servers without a connection whose time is kept.
const maxLeft = 10_000

// rebuild replaces the view and returns the servers whose state differs. The
// caller must hold mu.
func (r *Runners) rebuild() (changed []string) {
	before := r.current.Load()
	next := &view{servers: map[string]program{}, connectors: map[string]bool{}, replaced: make(chan struct{})}
	for _, c := range r.connections { // a later connection replaces an earlier one
		next.connectors[c.peer.ConnectorID] = true
		runner := Runner{Peer: c.peer, ID: c.list.Runner, Since: c.since, Files: c.list.Files, Servers: map[string]wire.Server{}}
		for _, record := range c.list.Servers {
			if id := c.ids[record.Name]; id != "" {
				next.servers[id] = before.servers[id].next(c, record)
				runner.Servers[id] = record
			}
		}
		next.runners = append(next.runners, runner)
	}
	delete(next.connectors, "")
	for id, p := range next.servers {
		delete(r.left, id)
		old, known := before.servers[id]
		if !known || old.client != p.client || old.record.State != p.record.State || old.record.Hash != p.record.Hash {
			changed = append(changed, id)
		}
	}
	if len(r.left) > maxLeft {
		clear(r.left)
	}
	for id := range before.servers {
		if _, stays := next.servers[id]; !stays {
			r.left[id] = r.Now()
			changed = append(changed, id)
		}
	}
	next.left = maps.Clone(r.left)
	r.current.Store(next)
	close(before.replaced)
	return changed
}

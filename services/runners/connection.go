package runners

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"time"

	"mcpgateway/services/notify"
	"mcpgateway/services/runners/wire"
)

// Delays before a list that could not be stored is stored again.
const (
	minStoreDelay = time.Second // doubles
	maxStoreDelay = 30 * time.Second
)

// connection is a connection to a runner. Its list and ids are guarded by the
// mutex of Runners.
type connection struct {
	peer   Peer
	client *wire.Client
	since  time.Time
	list   wire.List
	ids    map[string]string // server IDs by entry name
	again  chan struct{}     // capacity 1; servers changed, so that the list must be stored again
}

// ErrEnded is the error of Attach when the connection ends.
var ErrEnded = errors.New("the runner's connection ended")

// Attach stores the records of the programs of a runner until its connection, which
// it owns, or ctx ends. It returns ErrEnded, the error of ctx, or why the
// runner is refused.
func (r *Runners) Attach(ctx context.Context, p Peer, conn net.Conn) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	client, err := wire.NewClient(ctx, conn)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	client.OnEnd(func() { cancel(ErrEnded) })
	events, err := openEvents(ctx, client)
	if err != nil {
		return r.refuse(ctx, p, err)
	}
	defer events.Close()
	var first wire.List
	if err = get(ctx, client, wire.PathServers, &first); err == nil {
		err = check(&first)
	}
	if err != nil {
		return r.refuse(ctx, p, err)
	}
	c := &connection{peer: p, client: client, since: r.Now(), again: make(chan struct{}, 1)}
	lists := make(chan wire.List, 1)
	lists <- first
	reading := make(chan struct{})
	defer func() { cancel(nil); <-reading }()
	r.Tasks.Go("events of a runner", func() {
		defer close(reading)
		cancel(events.read(lists))
	})
	defer r.detach(c)
	r.keep(ctx, c, lists)
	return r.refuse(ctx, p, context.Cause(ctx))
}

// keep stores the lists of a connection until ctx ends.
func (r *Runners) keep(ctx context.Context, c *connection, lists <-chan wire.List) {
	var again <-chan time.Time
	var list wire.List
	delay := minStoreDelay
	for {
		select {
		case <-ctx.Done():
			return
		case list = <-lists:
		case <-c.again:
		case <-again:
		}
		again = nil
		if err := r.take(ctx, c, list); err != nil && ctx.Err() == nil {
			r.Log.Warn("programs of a runner not stored", "runner", list.Runner, "error", err)
			again = time.After(delay)
			delay = min(2*delay, maxStoreDelay)
			continue
		}
		delay = minStoreDelay
	}
}

// take stores a list as the current one of a connection.
func (r *Runners) take(ctx context.Context, c *connection, list wire.List) error {
	ids, err := r.Listed(ctx, c.peer, list)
	if err != nil {
		return err
	}
	if c.ids == nil || differs(c.list, list) {
		r.recordList(ctx, c, c.list, list)
	}
	r.mu.Lock()
	if c.ids == nil {
		r.connections = append(r.connections, c)
	}
	c.ids, c.list = ids, list
	if c.ids == nil {
		c.ids = map[string]string{}
	}
	changed := r.rebuild()
	r.mu.Unlock()
	r.notify(changed)
	return nil
}

// detach removes a connection that has ended.
func (r *Runners) detach(c *connection) {
	r.mu.Lock()
	r.connections = slices.DeleteFunc(r.connections, func(other *connection) bool { return other == c })
	changed := r.rebuild()
	r.mu.Unlock()
	r.notify(changed)
}

func (r *Runners) notify(changed []string) {
	for _, id := range changed {
		r.Changed(id)
	}
}

// ServersChanged assigns the programs of all connections to servers again after a
// change of a project's servers. It ignores other topics.
func (r *Runners) ServersChanged(_ context.Context, topic notify.Topic) error {
	if _, ok := topic.ToolsetOf(); !ok {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.connections {
		select {
		case c.again <- struct{}{}:
		default:
		}
	}
	return nil
}

// differs reports whether two lists have other programs, commands or files.
func differs(a, b wire.List) bool {
	return !slices.Equal(a.Files, b.Files) || !slices.EqualFunc(a.Servers, b.Servers, func(a, b wire.Server) bool {
		return a.Name == b.Name && a.Hash == b.Hash && a.SessionMode == b.SessionMode
	})
}

// send sends a request to a runner.
func send(ctx context.Context, client *wire.Client, method, path string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://runner"+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	return client.RoundTrip(r)
}

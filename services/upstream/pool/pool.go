// Package pool manages the sessions with all upstream servers: it detects the
// protocol of each server, sends calls, lists, watches and subscribes, and
// retries requests that are safe to repeat.
package pool

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"mcpgateway/models"
	"mcpgateway/services/background"
	"mcpgateway/services/capabilities"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/admission"
	"mcpgateway/services/upstream/transport"
	"mcpgateway/services/upstream/wire"
)

// Pool manages the sessions with all upstream servers. It is safe for
// concurrent use.
type Pool struct {
	http      *http.Client
	self      wire.Identity
	userAgent string
	instance  string // name of this gateway in Gateway-Hops
	ids       atomic.Int64
	listens   atomic.Int64

	declared  *capabilities.Cache[capabilities.Identity]
	revisions Revisions // nil learns none

	unattributed atomic.Int64
	completed    func(t *upstream.Target, method string, params []byte) bool
	turned       func(serverID string, err error)

	servers  sync.Map     // server ID to *server
	personal atomic.Int64 // sessions of users' own accounts
	making   sync.Mutex   // held while idle ones are closed to make room

	tasks *background.Tasks

	life    context.Context // cancelled by Close; the parent of all streams
	endLife context.CancelFunc

	// ending is a semaphore with one element per session that is being closed.
	ending chan struct{}

	mu     sync.Mutex
	closed bool
	holds  map[string]int // number of open client streams by client session
	work   sync.WaitGroup
}

// New returns a pool that connects to upstreams through h. The client h decides
// which addresses are allowed and which redirects are followed; it must not
// have a timeout. Upstreams see the client name "gateway" and clientVersion.
// The caller must call Close.
func New(h *http.Client, clientVersion string, options ...Option) *Pool {
	life, end := context.WithCancel(context.Background())
	p := &Pool{
		http: h, self: wire.NewIdentity(clientVersion), userAgent: wire.HeaderValue("gateway/" + clientVersion),
		holds: map[string]int{}, life: life, endLife: end, ending: make(chan struct{}, maxEnding),
		declared:  capabilities.NewCache(capabilities.Identify),
		completed: func(*upstream.Target, string, []byte) bool { return false }, turned: func(string, error) {},
	}
	for _, option := range options {
		option(p)
	}
	p.start(func(life context.Context) { p.tasks.Loop(life, "session sweep", p.sweep)() })
	return p
}

// Call sends a request to an upstream and returns its response. A JSON-RPC
// error is a response. Call connects if necessary. It retries once if the
// session, the protocol revision or the connection is lost, and either the
// upstream provably did not process the request or the request is repeatable.
// The whole call takes at most the target's timeout.
//
// If MaxConcurrent calls are in flight, up to 1,024 calls queue, round robin by
// caller. Further calls fail with UPSTREAM_UNAVAILABLE. So do calls to a server
// that failed several times in a row, until the next probe. Both faults have a
// RetryAfter. Requests with Wait have neither limit, and no timeout.
//
// Faults: UPSTREAM_UNAVAILABLE, UPSTREAM_TIMEOUT, UPSTREAM_UNAUTHORIZED (caused
// by a *Challenge if the upstream rejected the credentials),
// UPSTREAM_INVALID_RESPONSE, INVALID_PARAMETER if the params are not an object,
// and the errors of Target.Headers. If ctx is cancelled, the error wraps
// context.Canceled and the call is cancelled at the upstream.
func (p *Pool) Call(ctx context.Context, t *upstream.Target, r *upstream.Request) (*upstream.Response, error) {
	var out *upstream.Response
	purpose := clientCall
	if r.Wait {
		purpose = taskWait
	}
	r, ready := p.reportStart(ctx, t, r)
	defer ready()
	err := p.with(ctx, t, purpose, r.Client.Caller, func(ctx context.Context, s *account) (err error) {
		out, err = p.callForClient(ctx, s, t, r)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Describe returns the description that an upstream gave when its session
// started. It connects if necessary. Faults are those of Call.
func (p *Pool) Describe(ctx context.Context, t *upstream.Target) (*upstream.Description, error) {
	var out *upstream.Description
	err := p.with(ctx, t, ownWork, "", func(ctx context.Context, s *account) error {
		ss, err := s.acquire(ctx, t, gatewaySessionKey(), nil)
		if err != nil {
			return err
		}
		out = ss.about
		s.release(ss)
		return nil
	})
	return out, err
}

// Drop closes the sessions with a server after their calls have finished, and
// deletes its health. It does not wait.
func (p *Pool) Drop(serverID string) {
	if s, ok := p.servers.LoadAndDelete(serverID); ok {
		s.(*server).drop()
	}
}

// DropPerson closes the sessions and streams of a user with a server after their
// calls have finished, because the user's connection has changed or ended. It
// does not wait.
func (p *Pool) DropPerson(serverID, userID string) {
	if s, ok := p.servers.Load(serverID); ok && userID != "" {
		s.(*server).dropPerson(userID)
	}
}

// DropClient closes the upstream sessions of a client session that has ended.
// It does not wait.
func (p *Pool) DropClient(sessionID string) {
	if sessionID == "" {
		return
	}
	for _, s := range p.servers.Range {
		for _, a := range s.(*server).accounts() {
			a.dropClient(sessionID)
		}
	}
}

// Health returns the results of the latest requests to a server.
func (p *Pool) Health(serverID string) upstream.Health {
	v, ok := p.servers.Load(serverID)
	if !ok {
		return upstream.Health{}
	}
	s := v.(*server)
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.health
	h.Breaker = s.breaker.Status()
	h.Active, h.Waiting = s.admission.Load()
	return h
}

// Outage returns why calls to a server are paused, or "". While the breaker is
// closed it takes no lock, because every list calls it.
func (p *Pool) Outage(serverID string) string {
	v, ok := p.servers.Load(serverID)
	if !ok || !v.(*server).breaker.IsOpen() {
		return ""
	}
	return v.(*server).breaker.Outage()
}

// Close closes all sessions and streams and waits until all goroutines of the
// pool have returned. It notifies the upstreams for at most two seconds. Calls
// waiting for a shared stream fail, and later calls fail immediately.
func (p *Pool) Close() {
	p.mu.Lock()
	already := p.closed
	p.closed = true
	p.mu.Unlock()
	if !already {
		ctx, cancel := context.WithTimeout(p.life, maxCloseTime)
		var sessions errgroup.Group
		sessions.SetLimit(maxEnding)
		for _, v := range p.servers.Range {
			for _, a := range v.(*server).accounts() {
				for _, ss := range a.takeAll() {
					sessions.Go(p.tasks.ErrFunc("session close", func() error {
						ss.end(ctx)
						return nil
					}))
				}
			}
		}
		_ = sessions.Wait()
		cancel()
		p.endLife()
	}
	p.work.Wait()
}

// purpose distinguishes calls of clients from the gateway's own requests.
type purpose uint8

const (
	// ownWork marks requests of the gateway. They have their own schedule and
	// probe whether an upstream is back, so neither the queue nor the breaker
	// applies.
	ownWork purpose = iota
	// clientCall marks calls of clients, which are unlimited in number.
	clientCall
	// taskWait marks requests that wait for a task. They are limited by their
	// caller, and take long without a sign of the upstream.
	taskWait
)

// with runs one use of a target within its timeout and converts its error to a
// fault.
func (p *Pool) with(parent context.Context, t *upstream.Target, f purpose, caller string, use func(context.Context, *account) error) error {
	started := time.Now()
	ctx := parent
	if f != taskWait {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(parent, started.Add(timeoutOf(t, f)))
		defer cancel()
	}
	if err := parent.Err(); err != nil {
		return explain(parent, t, started, err)
	}
	s := p.server(t)
	var err error
	if s != nil {
		var tried admission.ProbeRun
		if f == clientCall {
			in, err := s.enter(ctx, t, caller)
			if err != nil {
				return explain(parent, t, started, err)
			}
			defer in.leave()
			tried = in.probe
		}
		p.makePersonalRoom(t)
		for err = errSwept; errors.Is(err, errSwept); {
			err = use(ctx, s.account(t))
		}
		explained := explain(parent, t, started, err)
		if f != taskWait {
			s.note(parent, t, tried, started, err, explained)
		}
		if !errors.Is(err, errOutdated) && !errors.Is(err, errDropped) {
			return explained
		}
	}
	// A call that started with an older configuration finishes with it,
	// separate from the sessions of the new one.
	s = newServer(p, t)
	err = use(ctx, s.account(t))
	s.drop()
	return explain(parent, t, started, err)
}

// clientOf returns the HTTP client of a target.
func (p *Pool) clientOf(t *upstream.Target) *http.Client {
	if t.HTTP != nil {
		return t.HTTP
	}
	return p.http
}

// server returns the target's server, or nil if the target has no ServerID and
// must not be stored.
func (p *Pool) server(t *upstream.Target) *server {
	if t.ServerID == "" {
		return nil
	}
	v, ok := p.servers.Load(t.ServerID)
	if !ok {
		v, _ = p.servers.LoadOrStore(t.ServerID, newServer(p, t))
	}
	return v.(*server)
}

// call sends one request and also returns the session that was used.
func (p *Pool) call(ctx context.Context, s *account, t *upstream.Target, key sessionKey, r *upstream.Request) (*upstream.Response, *session, error) {
	for repeated := false; ; repeated = true {
		ss, err := s.acquireFor(ctx, t, key, r)
		switch {
		case err == nil:
		case !repeated && transport.LossOf(err) != nil: // only handshake requests were sent so far
			continue
		default:
			return nil, nil, err
		}
		answer, err := p.callOn(ctx, ss, t, r)
		v, unprocessed := ss.classify(answer, err)
		if v != sessionGood {
			s.discard(ss, v)
			if ss.key.resumed.ID != "" {
				r = withoutSession(r)
			}
		}
		if r.KeepsSession {
			ss.kept.Store(true)
		}
		s.release(ss)
		if repeated || !canRepeat(r, v, unprocessed, err) {
			if err != nil {
				return nil, ss, err
			}
			return ss.response(answer), ss, nil
		}
	}
}

// callOn sets the log level that the client requested and then sends one
// request on the session.
func (p *Pool) callOn(ctx context.Context, ss *session, t *upstream.Target, r *upstream.Request) (transport.Reply, error) {
	if ss.stateless || ss.key.own {
		return ss.call(ctx, p, t, r, false)
	}
	ss.setLevel(ctx, p, t, r)
	defer ss.callers.End(ss.callers.Begin(r))
	return ss.call(ctx, p, t, r, false)
}

// Unattributed returns the number of notifications that were dropped since the
// start because they arrived on a shared stream and could not be attributed to
// one client.
func (p *Pool) Unattributed() int64 { return p.unattributed.Load() }

// keyOf returns the key of the session that a client uses.
func (p *Pool) keyOf(t *upstream.Target, c upstream.Client) sessionKey {
	key := sessionKey{}
	if len(c.Capabilities) > len("{}") {
		key.capabilities = p.declared.Of(c.Capabilities)
	}
	if t.SessionMode == models.SessionPerClient {
		key.client, key.alone = c.SessionID, c.SessionID == ""
	}
	return key
}

func (p *Pool) nextID() int64 { return p.ids.Add(1) }

// nextListenID returns an ID from a separate range, so that the IDs of calls
// stay consecutive.
func (p *Pool) nextListenID() int64 { return 1<<50 + p.listens.Add(1) }

// end closes a session in the background.
func (p *Pool) end(ss *session) {
	p.start(func(life context.Context) {
		select {
		case p.ending <- struct{}{}:
			defer func() { <-p.ending }()
		case <-life.Done(): // the resources of the session are released with the pool
			return
		}
		ctx, cancel := context.WithTimeout(life, maxCloseTime)
		defer cancel()
		ss.end(ctx)
	})
}

// sweep closes idle sessions periodically until the pool is closed.
func (p *Pool) sweep(life context.Context) {
	ticker := time.NewTicker(sweepInterval)
	defer ticker.Stop()
	for {
		select {
		case <-life.Done():
			return
		case now := <-ticker.C:
			for _, s := range p.servers.Range {
				s.(*server).sweep(now, maxIdleTime)
			}
		}
	}
}

// Package pool holds the sessions with all upstream servers: it finds out how
// each speaks, calls, lists, watches and subscribes, and repeats what may be
// repeated.
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
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/admission"
	"mcpgateway/services/upstream/transport"
	"mcpgateway/services/upstream/wire"
)

// Pool holds the sessions with all upstream servers. It is safe for concurrent
// use.
type Pool struct {
	http      *http.Client
	self      wire.Identity
	userAgent string
	instance  string // the name of this gateway in Gateway-Hops
	ids       atomic.Int64
	listens   atomic.Int64

	unattributed atomic.Int64
	completed    func(serverID string, params []byte) bool

	servers sync.Map // server id to *server

	tasks *background.Tasks

	life    context.Context // ends with the pool; streams live by it
	endLife context.CancelFunc

	// ending holds an element for each session that is being ended.
	ending chan struct{}

	mu     sync.Mutex
	closed bool
	holds  map[string]int // open streams by client session
	work   sync.WaitGroup
}

// New returns a pool that reaches upstreams through h, which decides what
// may be reached and which redirects are followed, and must not have a
// time-out of its own. Upstreams see the gateway as client "gateway" of
// clientVersion. The pool must be closed.
func New(h *http.Client, clientVersion string, options ...Option) *Pool {
	life, end := context.WithCancel(context.Background())
	p := &Pool{
		http: h, self: wire.NewIdentity(clientVersion), userAgent: wire.HeaderValue("gateway/" + clientVersion),
		holds: map[string]int{}, life: life, endLife: end, ending: make(chan struct{}, maxEnding),
		completed: func(string, []byte) bool { return false },
	}
	for _, option := range options {
		option(p)
	}
	p.start(func(life context.Context) { p.tasks.Loop(life, "sweep of sessions", p.sweep)() })
	return p
}

// Call sends a request to an upstream and returns its response; a JSON-RPC error
// is a response. It connects when needed. It repeats the request once when the
// session, the protocol revision or the connection ended, and either the
// upstream provably did not process the request or the request is repeatable.
// All of it takes at most the target's time-out.
// Beyond the target's MaxConcurrent, 1,024 calls wait for their turn, in which
// the callers alternate, and further ones are UPSTREAM_UNAVAILABLE; so are calls
// to a server that did not answer
// several times in a row, until it is tried again. Both name a RetryAfter.
//
// Faults: UPSTREAM_UNAVAILABLE, UPSTREAM_TIMEOUT, UPSTREAM_UNAUTHORIZED (with a
// *Challenge as cause when the upstream refused), UPSTREAM_INVALID_RESPONSE,
// INVALID_PARAMETER for params that are no object, and whatever Target.Headers
// returns. When ctx is cancelled the error wraps context.Canceled. A call that
// is given up is cancelled at the upstream.
func (p *Pool) Call(ctx context.Context, t *upstream.Target, r *upstream.Request) (*upstream.Response, error) {
	var out *upstream.Response
	err := p.with(ctx, t, clientCall, r.Client.Caller, func(ctx context.Context, s *server) (err error) {
		out, _, err = p.call(ctx, s, t, keyOf(t, r.Client), r)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Describe returns what an upstream says of itself. It connects when needed;
// otherwise it is what was said when the session began. Faults are those of
// Call.
func (p *Pool) Describe(ctx context.Context, t *upstream.Target) (*upstream.Description, error) {
	var out *upstream.Description
	err := p.with(ctx, t, ownWork, "", func(ctx context.Context, s *server) error {
		ss, err := s.acquire(ctx, t, own())
		if err != nil {
			return err
		}
		out = ss.about
		s.release(ss)
		return nil
	})
	return out, err
}

// Drop ends the sessions with a server, as soon as their calls have ended, and
// forgets its health. It does not wait.
func (p *Pool) Drop(serverID string) {
	if s, ok := p.servers.LoadAndDelete(serverID); ok {
		s.(*server).drop()
	}
}

// DropClient ends the upstream sessions that belong to one client session,
// which has ended. It does not wait.
func (p *Pool) DropClient(sessionID string) {
	if sessionID == "" {
		return
	}
	for _, s := range p.servers.Range {
		s.(*server).dropClient(sessionID)
	}
}

// Health returns what the latest exchanges with a server showed.
func (p *Pool) Health(serverID string) upstream.Health {
	v, ok := p.servers.Load(serverID)
	if !ok {
		return upstream.Health{}
	}
	s := v.(*server)
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.health
	h.Breaker = s.breaker.Shown()
	h.Active, h.Waiting = s.admission.Load()
	return h
}

// Outage returns why calls are kept away from a server at present, or "". It
// takes no lock while they are not, so that every list can tell.
func (p *Pool) Outage(serverID string) string {
	v, ok := p.servers.Load(serverID)
	if !ok || !v.(*server).breaker.IsOpen() {
		return ""
	}
	return v.(*server).breaker.Outage()
}

// Close ends all sessions and streams, telling upstreams for at most two
// seconds, and returns when nothing of the pool runs any more. Calls that wait
// for a shared stream fail; later ones fail at once.
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
			for _, ss := range v.(*server).takeAll() {
				sessions.Go(p.tasks.ErrFunc("end of a session", func() error {
					ss.end(ctx)
					return nil
				}))
			}
		}
		_ = sessions.Wait()
		cancel()
		p.endLife()
	}
	p.work.Wait()
}

// purpose says what a use of a target is for.
type purpose uint8

const (
	// ownWork is the gateway's: it has a pace of its own and also finds out
	// whether an upstream is back, so nothing holds it up.
	ownWork purpose = iota
	// clientCall is one of any number of calls of clients.
	clientCall
)

// with runs one use of a target within its time-out and explains its failure.
func (p *Pool) with(parent context.Context, t *upstream.Target, f purpose, caller string, use func(context.Context, *server) error) error {
	started := time.Now()
	ctx, cancel := context.WithDeadline(parent, started.Add(t.CallTimeout()))
	defer cancel()
	if err := parent.Err(); err != nil {
		return explain(parent, t, started, err)
	}
	s := p.server(t)
	var err error
	if s != nil {
		var tried admission.Try
		if f == clientCall {
			if tried, err = s.enter(ctx, t, caller); err != nil {
				return explain(parent, t, started, err)
			}
			defer s.admission.Leave()
		}
		err = use(ctx, s)
		explained := explain(parent, t, started, err)
		s.note(parent, t, tried, started, err, explained)
		if !errors.Is(err, errOutdated) && !errors.Is(err, errDropped) {
			return explained
		}
	}
	// A call that began under an older configuration ends under it, apart
	// from the sessions of the new one.
	s = newServer(p, t)
	err = use(ctx, s)
	s.drop()
	return explain(parent, t, started, err)
}

// server returns what the pool holds of the target's server, or nil when the
// target is not to be kept.
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

// call sends one request and also returns the session that answered.
func (p *Pool) call(ctx context.Context, s *server, t *upstream.Target, key sessionKey, r *upstream.Request) (*upstream.Response, *session, error) {
	for repeated := false; ; repeated = true {
		ss, err := s.acquire(ctx, t, key)
		switch {
		case err == nil:
		case !repeated && transport.LostBy(err) != nil: // nothing that changes anything was sent by then
			continue
		default:
			return nil, nil, err
		}
		answer, err := p.callOn(ctx, ss, t, r)
		v, unprocessed := ss.classify(answer, err)
		if v != sessionGood {
			s.discard(ss, v)
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

// callOn sends one request on a session, for which its client's level of log
// messages is set first.
func (p *Pool) callOn(ctx context.Context, ss *session, t *upstream.Target, r *upstream.Request) (transport.Reply, error) {
	if ss.stateless || ss.key.own {
		return ss.call(ctx, p, t, r, false)
	}
	ss.setLevel(ctx, p, t, r)
	defer ss.callers.End(ss.callers.Begin(r))
	return ss.call(ctx, p, t, r, false)
}

// Unattributed returns how many notifications that arrived on shared streams
// were dropped since the start, because they belonged to no client for certain.
func (p *Pool) Unattributed() int64 { return p.unattributed.Load() }

// keyOf returns which session a client uses.
func keyOf(t *upstream.Target, c upstream.Client) sessionKey {
	key := sessionKey{}
	if string(c.Capabilities) != "{}" {
		key.capabilities = string(c.Capabilities)
	}
	if t.SessionMode == models.SessionPerClient {
		key.client, key.alone = c.SessionID, c.SessionID == ""
	}
	return key
}

func (p *Pool) nextID() int64 { return p.ids.Add(1) }

// nextListenID returns an id far from those of calls, which stay consecutive.
func (p *Pool) nextListenID() int64 { return 1<<50 + p.listens.Add(1) }

// end ends a session in the background.
func (p *Pool) end(ss *session) {
	p.start(func(life context.Context) {
		select {
		case p.ending <- struct{}{}:
			defer func() { <-p.ending }()
		case <-life.Done(): // what the session holds here ends with the pool
			return
		}
		ctx, cancel := context.WithTimeout(life, maxCloseTime)
		defer cancel()
		ss.end(ctx)
	})
}

// sweep ends idle sessions as long as the pool lives.
func (p *Pool) sweep(life context.Context) {
	ticker := time.NewTicker(sweepInterval)
	defer ticker.Stop()
	for {
		select {
		case <-life.Done():
			return
		case now := <-ticker.C:
			for _, s := range p.servers.Range {
				s.(*server).sweep(now)
			}
		}
	}
}

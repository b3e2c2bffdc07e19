//go:build linux || darwin

package bridge

import (
	"maps"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"mcpgateway/services/runner/stdio"
)

// Times after a call in which messages of the program can still belong to it.
const (
	// maxLateLog is that of log messages.
	maxLateLog = 250 * time.Millisecond
	// maxLateQuestion is that of both after a call that was cancelled, unless the
	// program responds to it.
	maxLateQuestion = stdio.LateTime
)

// peer is a process with its clients.
type peer struct {
	bridge  *Bridge
	process Process
	conn    *stdio.Conn

	stateless   atomic.Bool
	perClient   bool
	relaysRoots bool
	// Set by Open, before the process has clients.
	offer       string         // that initialize was sent with
	initialized stdio.Response // to initialize

	mu        sync.Mutex
	calls     map[*call]bool
	listens   map[int64]*call // of revision 2026-07-28, by the ID at the program
	sessions  map[string]*session
	questions map[int64]*question    // by the ID at the client
	held      []*question            // wait for a call; only per-client
	finished  map[*session]time.Time // the latest ends of calls
	canceled  map[*call]time.Time    // calls that the program may continue
}

// call is a request of a client in flight.
type call struct {
	id       []byte   // raw, of the client
	session  *session // nil in revision 2026-07-28
	sink     *sink
	cancel   func()
	askable  bool // the client can receive requests
	logs     bool // the client receives log messages
	canceled bool // guarded by peer.mu
	answered bool // after a cancellation; guarded by peer.mu
}

// newPeer registers a process.
func (b *Bridge) newPeer(process Process) *peer {
	p := &peer{
		bridge: b, process: process, conn: process.Conn(), perClient: b.options.Entry().PerClient, relaysRoots: b.relaysRoots(),
		calls: map[*call]bool{}, listens: map[int64]*call{},
		sessions: map[string]*session{}, questions: map[int64]*question{},
		finished: map[*session]time.Time{}, canceled: map[*call]time.Time{},
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.peers[process] = p
	b.options.Tasks.Go("end of a program", func() {
		<-process.Done()
		b.forget(p)
	})
	return p
}

// forget removes a process that has ended, and its sessions.
func (b *Bridge) forget(p *peer) {
	p.mu.Lock()
	all := make([]*session, 0, len(p.sessions))
	for _, s := range p.sessions {
		all = append(all, s)
	}
	p.mu.Unlock()
	for _, s := range all {
		s.remove()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.peers, p.process)
	if b.spare == p {
		b.spare = nil
	}
}

// key returns the key of the process for a session.
func (p *peer) key(s *session) string {
	if p.perClient {
		return s.id + " " + p.offer
	}
	return p.offer
}

// begin registers a call. Requests of the program that waited for one are sent to it.
func (p *peer) begin(c *call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls[c] = true
	if len(p.calls) == 1 && c.askable {
		for _, q := range p.held {
			p.deliver(q, c)
		}
		p.held = nil
	}
}

// finish removes a call. The program receives an error for its requests that have no
// response yet.
func (p *peer) finish(c *call) {
	p.mu.Lock()
	delete(p.calls, c)
	if c.session != nil {
		c.session.used = time.Now()
	}
	p.depart(c, time.Now())
	var left []*question
	for id, q := range p.questions {
		if q.call == c {
			left = append(left, q)
			delete(p.questions, id)
		}
	}
	p.mu.Unlock()
	for _, q := range left {
		p.reject(q.id, codeInternal, "the call has ended")
	}
}

// depart records the end of a call. The caller must hold mu.
func (p *peer) depart(c *call, now time.Time) {
	maps.DeleteFunc(p.finished, func(_ *session, at time.Time) bool { return now.Sub(at) > maxLateLog })
	maps.DeleteFunc(p.canceled, func(_ *call, at time.Time) bool { return now.Sub(at) > maxLateQuestion })
	switch {
	case c.canceled && !c.answered:
		p.canceled[c] = now
	case c.session != nil: // in revision 2026-07-28 log messages end with their call
		p.finished[c.session] = now
	}
}

// settleCanceled records that the program has responded to a cancelled call.
func (p *peer) settleCanceled(c *call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.answered = true
	if _, departed := p.canceled[c]; departed {
		delete(p.canceled, c)
		p.depart(c, time.Now())
	}
}

// soleCall returns the only call that a request of the program can belong to, and
// the number of those that it can belong to. In a process of one client, calls that
// were cancelled do not count. The caller must hold mu.
func (p *peer) soleCall() (*call, int) {
	n := len(p.calls)
	if !p.perClient {
		now := time.Now()
		for _, at := range p.canceled {
			if now.Sub(at) <= maxLateQuestion {
				n++
			}
		}
	}
	if n != 1 {
		return nil, n
	}
	for c := range p.calls {
		return c, 1
	}
	return nil, n // the only one was cancelled
}

// clientOf returns the receiver of a message that belongs to a call or its session:
// the only call in flight, or the session of all calls that it can belong to. Both
// are nil if there are several clients. The caller must hold mu.
func (p *peer) clientOf() (*call, *session) {
	var only *call
	var of *session
	first := true
	same := func(s *session) bool {
		if first {
			first, of = false, s
			return true
		}
		return s == of && s != nil
	}
	for c := range p.calls {
		if only = c; !same(c.session) {
			return nil, nil
		}
	}
	now := time.Now()
	for of, at := range p.finished {
		if now.Sub(at) <= maxLateLog && !same(of) {
			return nil, nil
		}
	}
	for c, at := range p.canceled {
		if now.Sub(at) <= maxLateQuestion && !same(c.session) {
			return nil, nil
		}
	}
	if len(p.calls) == 1 {
		return only, of
	}
	if first && len(p.sessions) == 1 {
		for _, s := range p.sessions {
			of = s
		}
	}
	return nil, of
}

// number returns an ID as JSON.
func number(id int64) []byte { return strconv.AppendInt(nil, id, 10) }

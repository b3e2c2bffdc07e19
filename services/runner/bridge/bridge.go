//go:build linux || darwin

// Package bridge serves one program of a runner as an MCP server over Streamable
// HTTP. It shares the program's processes between clients, and keeps what belongs
// to one client from the others.
package bridge

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"mcpgateway/services/background"
	"mcpgateway/services/runner/entry"
	"mcpgateway/services/runner/stdio"
	"mcpgateway/services/runner/supervise"
	"mcpgateway/services/upstream/wire"
)

// Process is a process of the program; *supervise.Process has these methods.
type Process interface {
	Hash() string
	Assign(key string)
	Conn() *stdio.Conn
	SetPeer(peer supervise.Peer)
	Output() <-chan struct{}
	Release()
	End()
	Done() <-chan struct{}
	Exit() string
}

// Options configure a Bridge.
type Options struct {
	// Acquire returns a process, as supervise.Program.Acquire does.
	Acquire func(ctx context.Context, key string) (Process, error)
	// Entry returns the program's entry in use.
	Entry func() *entry.Entry
	// Version is the version of the gateway, which programs see.
	Version string
	Tasks   *background.Tasks // may be nil
}

// Bridge serves one program. It is safe for concurrent use.
type Bridge struct {
	options   Options
	self      wire.Identity
	questions atomic.Int64 // the last ID

	mu       sync.Mutex
	eras     map[string]era    // by hash of the command
	declared map[string][]byte // params of initialize as a client wrote them, by offer
	peers    map[Process]*peer // of all processes
	sessions map[string]*session
	spare    *peer // a process with a handshake that no client has; only per-client
}

// New returns the bridge of a program.
func New(o Options) *Bridge {
	return &Bridge{
		options: o, self: wire.NewIdentity(o.Version),
		eras: map[string]era{}, declared: map[string][]byte{}, peers: map[Process]*peer{}, sessions: map[string]*session{},
	}
}

// ForProgram returns the bridge of a supervised program and its Open function for
// supervise.Options. program is called after both exist.
func ForProgram(program func() *supervise.Program, version string, tasks *background.Tasks) (*Bridge, func(context.Context, *supervise.Process, string) error) {
	b := New(Options{
		Acquire: func(ctx context.Context, key string) (Process, error) { return program().Acquire(ctx, key) },
		Entry:   func() *entry.Entry { return program().Entry() },
		Version: version, Tasks: tasks,
	})
	return b, func(ctx context.Context, p *supervise.Process, key string) error { return b.Open(ctx, p, key) }
}

// ServeHTTP handles a request of Streamable HTTP at any path.
func (b *Bridge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	stateless := isStateless(r)
	switch {
	case r.Method == http.MethodPost:
		b.post(w, r, stateless)
	case r.Method == http.MethodGet && !stateless && accepts(r, wire.TypeEvents):
		b.withSession(w, r, nil, func(s *session) { s.listen(w, r) })
	case r.Method == http.MethodDelete && !stateless:
		b.withSession(w, r, nil, func(s *session) {
			s.end()
			w.WriteHeader(http.StatusNoContent)
		})
	default:
		w.Header().Set("Allow", "POST, GET, DELETE")
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

// post handles a message.
func (b *Bridge) post(w http.ResponseWriter, r *http.Request, stateless bool) {
	m, ok := readMessage(w, r)
	if !ok {
		return
	}
	stateless = stateless || m.Method == methodDiscover
	switch {
	case m.Method == "" && stateless:
		fail(w, http.StatusBadRequest, nil, codeInvalidRequest, "Revision 2026-07-28 has no requests of servers.")
	case stateless && !m.IsRequest():
		w.WriteHeader(http.StatusAccepted) // no notification of this revision has a meaning here
	case stateless:
		b.callStateless(w, r, m)
	case m.Method == "initialize" && m.IsRequest():
		b.initialize(w, r, m)
	default:
		b.withSession(w, r, m.ID, func(s *session) { s.post(w, r, m) })
	}
}

// acquire returns the peer of a process with the key. If it returns nil, it has
// responded. The caller must release the process.
func (b *Bridge) acquire(w http.ResponseWriter, r *http.Request, id []byte, key string) *peer {
	process, err := b.options.Acquire(r.Context(), key)
	if err != nil {
		var unavailable *supervise.Unavailable
		switch {
		case errors.As(err, &unavailable):
			refuse(w, id, unavailable.Error())
		case r.Context().Err() == nil:
			refuse(w, id, err.Error())
		}
		return nil
	}
	b.mu.Lock()
	p := b.peers[process]
	b.mu.Unlock()
	if p == nil { // it ended at once
		process.Release()
		refuse(w, id, "the program has ended")
	}
	return p
}

// isStateless reports whether a request is of revision 2026-07-28 or newer.
func isStateless(r *http.Request) bool {
	return r.Header.Get(wire.HeaderVersion) >= wire.Revision20260728
}

// accepts reports whether a client accepts a media type.
func accepts(r *http.Request, media string) bool {
	for _, value := range r.Header.Values("Accept") {
		for one := range strings.SplitSeq(value, ",") {
			one, _, _ = strings.Cut(one, ";")
			if one = strings.TrimSpace(one); strings.EqualFold(one, media) || one == "*/*" {
				return true
			}
		}
	}
	return false
}

//go:build linux || darwin

package bridge_test

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"mcpgateway/services/runner/bridge"
	"mcpgateway/services/runner/entry"
	"mcpgateway/services/runner/stdio"
	"mcpgateway/services/runner/supervise"
	"mcpgateway/services/upstream/upstreamtest"
)

// serve is a program. It returns its exit status.
type serve func(ctx context.Context, in io.Reader, out io.Writer) (exit string)

// host starts processes of a program for a bridge, in this process.
type host struct {
	*bridge.Bridge
	t     testing.TB
	entry *entry.Entry
	run   serve

	mu        sync.Mutex
	started   int
	processes map[string]*instance // by key
	all       map[*instance]bool
	ends      sync.WaitGroup
}

// instance is a process of a host.
type instance struct {
	host   *host
	conn   *stdio.Conn
	output chan struct{}
	peer   chan struct{} // closed when Peer is set
	Peer   supervise.Peer
	opened chan struct{}
	done   chan struct{}
	cancel context.CancelFunc
	exit   string
	err    error
	key    string // guarded by host.mu
	uses   int    // guarded by host.mu
}

// newHost returns a host of a program. edits change its entry.
func newHost(t testing.TB, run serve, edits ...func(*entry.Entry)) *host {
	t.Helper()
	h := &host{t: t, run: run, processes: map[string]*instance{}, all: map[*instance]bool{}, entry: &entry.Entry{Name: "x", Settings: entry.Settings{StartTimeout: time.Minute}}}
	for _, edit := range edits {
		edit(h.entry)
	}
	h.Bridge = bridge.New(bridge.Options{Acquire: h.acquire, Entry: func() *entry.Entry { return h.entry }, Version: "1.2.3"})
	t.Cleanup(func() {
		h.stopAll()
		h.ends.Wait()
	})
	return h
}

// hostOf returns a host of a scripted server.
func hostOf(t testing.TB, s *upstreamtest.Server, edits ...func(*entry.Entry)) *host {
	t.Helper()
	t.Cleanup(s.Close)
	return newHost(t, func(ctx context.Context, in io.Reader, out io.Writer) string {
		if err := s.ServeStdio(ctx, in, out); err != nil {
			return "exit code 1"
		}
		return "exit code 0"
	}, edits...)
}

func perClient(e *entry.Entry) { e.PerClient = true }
func withRoots(e *entry.Entry) { e.Roots = true }

func (h *host) acquire(ctx context.Context, key string) (bridge.Process, error) {
	h.mu.Lock()
	p := h.processes[key]
	if p == nil {
		p = h.start(key)
	}
	p.uses++
	h.mu.Unlock()
	select {
	case <-p.opened:
	case <-ctx.Done():
		p.Release()
		return nil, ctx.Err()
	}
	switch {
	case errors.Is(p.err, supervise.ErrAgain):
		return h.acquire(ctx, key)
	case p.err != nil:
		return nil, p.err
	}
	return p, nil
}

// start starts a process. The caller must hold mu.
func (h *host) start(key string) *instance {
	h.started++
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	p := &instance{host: h, key: key, output: make(chan struct{}), peer: make(chan struct{}), opened: make(chan struct{}), done: make(chan struct{}), cancel: cancel}
	p.conn = stdio.NewConn(stdio.Options{
		In: inW, Out: &firstOutput{Reader: outR, seen: sync.OnceFunc(func() { close(p.output) })},
		Notify: func(method string, params []byte) { <-p.peer; p.Peer.Notify(method, params) },
		Serve:  func(id []byte, method string, params []byte) { <-p.peer; p.Peer.Serve(id, method, params) },
	})
	h.processes[key], h.all[p] = p, true
	h.ends.Go(func() {
		p.exit = h.run(ctx, inR, outW)
		_, _ = outW.Close(), inR.Close()
		<-p.conn.Done()
		h.mu.Lock()
		if delete(h.all, p); h.processes[p.key] == p {
			delete(h.processes, p.key)
		}
		h.mu.Unlock()
		close(p.done)
	})
	h.ends.Go(func() {
		select {
		case <-ctx.Done():
		case <-p.conn.Done():
		}
		cancel()
		_, _ = inR.Close(), outW.Close()
	})
	h.ends.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), h.entry.StartTimeout)
		defer cancel()
		defer close(p.opened)
		if p.err = h.Open(ctx, p, key); p.err != nil {
			p.cancel()
			<-p.done
		}
	})
	return p
}

// stopAll ends all processes.
func (h *host) stopAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for p := range h.all {
		p.cancel()
	}
}

// awaitStop ends all processes and waits for that.
func (h *host) awaitStop() {
	h.mu.Lock()
	var all []*instance
	for p := range h.all {
		all = append(all, p)
	}
	h.mu.Unlock()
	for _, p := range all {
		p.cancel()
		<-p.done
	}
}

// starts returns the number of started processes.
func (h *host) starts() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.started
}

func (h *host) running() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.all)
}

func (p *instance) Hash() string                { return p.host.entry.Hash() }
func (p *instance) Conn() *stdio.Conn           { return p.conn }
func (p *instance) Output() <-chan struct{}     { return p.output }
func (p *instance) Done() <-chan struct{}       { return p.done }
func (p *instance) Exit() string                { return p.exit }
func (p *instance) End()                        { p.cancel() }
func (p *instance) SetPeer(peer supervise.Peer) { p.Peer = peer; close(p.peer) }

func (p *instance) Release() {
	p.host.mu.Lock()
	defer p.host.mu.Unlock()
	if p.uses--; p.uses < 0 {
		p.host.t.Error("released twice")
	}
}

func (p *instance) Assign(key string) {
	p.host.mu.Lock()
	defer p.host.mu.Unlock()
	delete(p.host.processes, p.key)
	p.key = key
	p.host.processes[key] = p
}

type firstOutput struct {
	io.Reader
	seen func()
}

func (f *firstOutput) Read(b []byte) (int, error) {
	n, err := f.Reader.Read(b)
	if n > 0 {
		f.seen()
	}
	return n, err
}

package upstreamtest

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"time"
)

// TB is the part of testing.TB that Start needs. It keeps package testing out
// of demo programs.
type TB interface {
	Helper()
	Cleanup(func())
	Fatalf(format string, args ...any)
}

// serving is a listener with its HTTP server.
type serving struct {
	http   *http.Server
	done   chan struct{}
	unhook func() bool // stops watching Serve's context
}

func (v *serving) close() {
	v.unhook()
	_ = v.http.Close() // the handlers had time to end
	<-v.done
}

// Start serves on a free port of 127.0.0.1 until the test ends and returns the
// endpoint's URL.
func (s *Server) Start(tb TB) string {
	tb.Helper()
	url, err := s.Listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("starting the upstream: %v", err)
	}
	tb.Cleanup(s.Close)
	return url
}

// Listen serves on addr until ctx ends or Close is called. It returns the
// endpoint's URL when connections are accepted.
func (s *Server) Listen(ctx context.Context, addr string) (string, error) {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return "", err
	}
	return s.Serve(ctx, ln, s)
}

// Serve serves connections of ln with handler, which is the server or wraps it,
// until ctx ends or Close is called. It returns the endpoint's URL immediately
// and closes ln at the end.
func (s *Server) Serve(ctx context.Context, ln net.Listener, handler http.Handler) (string, error) {
	v := &serving{done: make(chan struct{}), http: &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          log.New(io.Discard, "", 0), // broken connections are expected
	}}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = ln.Close() // nothing was served on it
		return "", http.ErrServerClosed
	}
	v.unhook = context.AfterFunc(ctx, s.Close)
	s.serving = append(s.serving, v)
	go func() {
		defer close(v.done)
		_ = v.http.Serve(&stallingListener{Listener: ln, server: s}) // always ends with ErrServerClosed
	}()
	return "http://" + ln.Addr().String() + s.opts.Path, nil
}

// stallingListener doesn't return connections during an accept fault, like a
// machine with a stuck server process.
type stallingListener struct {
	net.Listener
	server *Server
}

// Accept returns the next connection that is not held.
func (l *stallingListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if !l.server.hold(c) {
			return c, nil
		}
	}
}

// hold stores the connection if new connections must hang. Beyond the limit it
// closes the oldest one.
func (s *Server) hold(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || !s.now.Load().hangsAtAccept() {
		return false
	}
	if len(s.held) == maxHeldConns {
		_ = s.held[0].Close() // never read
		s.held = s.held[1:]
	}
	s.held = append(s.held, c)
	return true
}

func (s *Server) dropHeld() {
	s.mu.Lock()
	held := s.held
	s.held = nil
	s.mu.Unlock()
	for _, c := range held {
		_ = c.Close() // never read
	}
}

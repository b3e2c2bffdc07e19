package upstreamtest

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"time"
)

// TB is the part of testing.TB that Start needs; taking it as an interface
// keeps package testing out of programs that serve demonstrations.
type TB interface {
	Helper()
	Cleanup(func())
	Fatalf(format string, args ...any)
}

// serving is one listener with its HTTP server.
type serving struct {
	http   *http.Server
	done   chan struct{}
	unhook func() bool // stops watching the context given to Serve
}

func (v *serving) close() {
	v.unhook()
	_ = v.http.Close() // nothing is to be saved: the handlers had their time
	<-v.done
}

// Start serves on a free port of 127.0.0.1 until the test ends and returns
// the URL of the endpoint.
func (s *Server) Start(tb TB) string {
	tb.Helper()
	url, err := s.Listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("starting the upstream: %v", err)
	}
	tb.Cleanup(s.Close)
	return url
}

// Listen serves on addr until ctx ends or Close is called, and returns the
// URL of the endpoint as soon as connections are accepted.
func (s *Server) Listen(ctx context.Context, addr string) (string, error) {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return "", err
	}
	return s.Serve(ctx, ln, s)
}

// Serve answers connections of ln with handler, which is the server itself or
// wraps it, until ctx ends or Close is called; it returns the URL of the
// endpoint at once. It owns ln.
func (s *Server) Serve(ctx context.Context, ln net.Listener, handler http.Handler) (string, error) {
	v := &serving{done: make(chan struct{}), http: &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          log.New(io.Discard, "", 0), // broken connections are the point
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
		_ = v.http.Serve(&holdingListener{Listener: ln, server: s}) // always ends with ErrServerClosed
	}()
	return "http://" + ln.Addr().String() + s.opts.Path, nil
}

// holdingListener keeps connections to itself while an accept fault is on, as
// a machine does whose server process is stuck.
type holdingListener struct {
	net.Listener
	server *Server
}

// Accept returns the next connection that is not held.
func (l *holdingListener) Accept() (net.Conn, error) {
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

// hold takes the connection over if new connections are to hang. Beyond the
// bound the oldest held one is closed.
func (s *Server) hold(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || !s.now.Load().hangsAtAccept() {
		return false
	}
	if len(s.held) == maxHeldConns {
		_ = s.held[0].Close() // nobody reads it
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
		_ = c.Close() // nobody reads it
	}
}

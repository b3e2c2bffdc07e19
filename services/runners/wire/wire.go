// Package wire is the protocol between a gateway and a runner: HTTP/2 on one
// byte stream, on which the gateway is the client. No message contains a
// command, an argument, a variable or a directory.
package wire

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"mcpgateway/services/background"
)

// Version is the version of the protocol. Runner and gateway refuse others.
const Version = 1

// Paths of the runner. In those of a server, the name is one escaped segment.
const (
	PathServers = "/v1/servers" // a List
	PathEvents  = "/v1/events"  // a stream of server-sent events, each a List
	PathServer  = PathServers + "/"
)

// Last segments of the paths of a server.
const (
	SegmentMCP     = "mcp" // Streamable HTTP
	SegmentLog     = "log" // a Log
	SegmentRestart = "restart"
	SegmentStop    = "stop"
)

// HeaderFailure marks a response of Streamable HTTP in which the runner itself
// states why the program does not respond. The body is a JSON-RPC error. Once a
// response is an event stream, EventFailure is its last event instead, with the
// JSON-RPC error as data and the meaning of FailureEnded.
const (
	HeaderFailure = "Gateway-Runner-Failure"
	EventFailure  = "failure"

	FailureRefused = "refused" // the program did not receive the request
	FailureEnded   = "ended"   // the program ended and may have processed the request
)

// Times of the liveness check of a connection.
const (
	pingAfter   = 15 * time.Second
	pingTimeout = 15 * time.Second
)

// maxStreams is the maximum number of concurrent requests on one connection.
const maxStreams = 10_000

// ErrClosed is the error of requests on a connection that has ended.
var ErrClosed = errors.New("the connection to the runner has ended")

// config returns the HTTP/2 settings of both ends.
func config() *http.HTTP2Config {
	return &http.HTTP2Config{MaxConcurrentStreams: maxStreams, StrictMaxConcurrentRequests: true, SendPingTimeout: pingAfter, PingTimeout: pingTimeout}
}

// protocols returns HTTP/2 without TLS as the only protocol.
func protocols() *http.Protocols {
	p := new(http.Protocols)
	p.SetUnencryptedHTTP2(true)
	return p
}

// Serve handles the requests on a connection until it or ctx ends, and closes
// it.
func Serve(ctx context.Context, conn net.Conn, handler http.Handler, tasks *background.Tasks) {
	l := &listener{conn: conn, ended: make(chan struct{})}
	stop := context.AfterFunc(ctx, tasks.Func("end of the runner's connection", func() { _ = conn.Close(); l.end() }))
	defer stop()
	server := &http.Server{
		Handler: handler, Protocols: protocols(), HTTP2: config(), ReadHeaderTimeout: pingTimeout,
		BaseContext: func(net.Listener) context.Context { return ctx },
		ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateClosed {
				l.end()
			}
		},
	}
	_ = server.Serve(l) // ends with the connection
}

// listener accepts one connection.
type listener struct {
	conn     net.Conn
	accepted bool
	ending   sync.Once
	ended    chan struct{}
}

func (l *listener) end() { l.ending.Do(func() { close(l.ended) }) }

// Accept returns the connection, and then waits for its end.
func (l *listener) Accept() (net.Conn, error) {
	if !l.accepted {
		l.accepted = true
		return l.conn, nil
	}
	<-l.ended
	return nil, net.ErrClosed
}

// Close ends the connection.
func (l *listener) Close() error {
	l.end()
	return l.conn.Close()
}

// Addr returns the local address of the connection.
func (l *listener) Addr() net.Addr { return l.conn.LocalAddr() }

// Client sends requests on a connection to a runner. It is safe for concurrent
// use.
type Client struct {
	conn net.Conn
	http *http.ClientConn
}

// NewClient returns the client of a connection, which it owns.
func NewClient(ctx context.Context, conn net.Conn) (*Client, error) {
	transport := &http.Transport{
		Protocols: protocols(), HTTP2: config(), DisableCompression: true,
		DialContext: func(context.Context, string, string) (net.Conn, error) { return conn, nil },
	}
	c, err := transport.NewClientConn(ctx, "http", "runner:80")
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return &Client{conn: conn, http: c}, nil
}

// RoundTrip sends a request. Host and scheme of its URL are ignored.
func (c *Client) RoundTrip(r *http.Request) (*http.Response, error) {
	if c.http.Err() != nil {
		return nil, ErrClosed
	}
	return c.http.RoundTrip(r)
}

// OnEnd calls ended when the connection has ended. It must be called once.
func (c *Client) OnEnd(ended func()) {
	var once sync.Once
	c.http.SetStateHook(func(conn *http.ClientConn) {
		if conn.Err() != nil {
			once.Do(ended)
		}
	})
}

// Close ends the connection. Requests in flight fail.
func (c *Client) Close() error { return errors.Join(c.http.Close(), c.conn.Close()) }

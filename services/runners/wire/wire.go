// Package wire is the protocol between a gateway and a runner: HTTP/2 on one
// byte stream, on which the gateway is the client. No message contains a
// command, an argument, a variable or a directory.
package wire

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/http2"

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

// Times of the liveness check of a connection.
const (
	pingAfter   = 15 * time.Second
	pingTimeout = 15 * time.Second
)

// maxStreams is the maximum number of concurrent requests on one connection.
const maxStreams = 10_000

// Serve handles the requests on a connection until it ends, and closes it.
func Serve(ctx context.Context, conn net.Conn, handler http.Handler, tasks *background.Tasks) {
	defer conn.Close()
	stop := context.AfterFunc(ctx, tasks.Func("end of the runner's connection", func() { _ = conn.Close() }))
	defer stop()
	server := &http2.Server{MaxConcurrentStreams: maxStreams, ReadIdleTimeout: pingAfter, PingTimeout: pingTimeout}
	server.ServeConn(conn, &http2.ServeConnOpts{Context: ctx, Handler: handler, BaseConfig: &http.Server{ReadHeaderTimeout: pingTimeout}})
}

// Client sends requests on a connection to a runner. It is safe for concurrent
// use.
type Client struct {
	conn net.Conn
	http *http2.ClientConn
}

// ErrClosed is the error of requests on a connection that has ended.
var ErrClosed = errors.New("the connection to the runner has ended")

// NewClient returns the client of a connection, which it owns.
func NewClient(conn net.Conn) (*Client, error) {
	transport := &http2.Transport{
		AllowHTTP: true, DisableCompression: true, ReadIdleTimeout: pingAfter, PingTimeout: pingTimeout,
		StrictMaxConcurrentStreams: true,
	}
	c, err := transport.NewClientConn(conn)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return &Client{conn: conn, http: c}, nil
}

// RoundTrip sends a request. Host and scheme of its URL are ignored.
func (c *Client) RoundTrip(r *http.Request) (*http.Response, error) {
	if state := c.http.State(); state.Closed || state.Closing {
		return nil, ErrClosed
	}
	return c.http.RoundTrip(r)
}

// Close ends the connection. Requests in flight fail.
func (c *Client) Close() error { return errors.Join(c.http.Close(), c.conn.Close()) }

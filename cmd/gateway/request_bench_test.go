package main

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/url"
	"testing"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/cmd/gateway/logbuffer"
	"mcpgateway/services/config"
	"mcpgateway/services/metrics"
	"mcpgateway/web"
	"mcpgateway/web/conn"
)

const benchRequest = "POST /v1/mcp/demo/request HTTP/1.1\r\nHost: 127.0.0.1:19103\r\nUser-Agent: Go-http-client/1.1\r\nContent-Length: 2\r\n" +
	"Accept: application/json, text/event-stream\r\nAuthorization: Bearer gwk_0123456789012345678901234567890123456789\r\nContent-Type: application/json\r\n" +
	"Mcp-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: 0123456789012345678901234567890123456789\r\nAccept-Encoding: gzip\r\n\r\n{}"

// benchConn is a client that sends a number of requests, each after the
// previous response.
type benchConn struct {
	net.Conn
	left    int
	answers int
	line    []byte // unfinished line of the last write
	over    chan struct{}
}

func (c *benchConn) Read(p []byte) (int, error) {
	if c.left == 0 {
		return 0, io.EOF
	}
	c.left--
	return copy(p, benchRequest), nil
}

func (c *benchConn) Write(p []byte) (int, error) {
	for rest := p; ; {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		c.line = append(c.line, line...)
		if !ended {
			return len(p), nil
		}
		if bytes.HasPrefix(c.line, []byte("HTTP/1.1 200 ")) || bytes.HasPrefix(c.line, []byte("{}HTTP/1.1 200 ")) {
			c.answers++
		}
		c.line, rest = c.line[:0], after
	}
}

func (c *benchConn) Close() error {
	close(c.over)
	return c.Conn.Close()
}

// dialed returns a real network connection, with deadlines and addresses.
func dialed(b *testing.B) net.Conn {
	b.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer listener.Close()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	return conn
}

// benchListener accepts one connection.
type benchListener struct {
	net.Listener
	conns chan net.Conn
}

func (l *benchListener) Close() error   { return nil }
func (l *benchListener) Addr() net.Addr { return &net.TCPAddr{} }

func (l *benchListener) Accept() (net.Conn, error) {
	if c, ok := <-l.conns; ok {
		return c, nil
	}
	return nil, io.EOF
}

// BenchmarkRequest measures everything around the handler of a request, from
// the first byte read to the log line, without the network.
func BenchmarkRequest(b *testing.B) {
	lines := logbuffer.New(io.Discard)
	asJSON := true
	log := slog.New(lines.Handler(newLog(lines, false, &config.Config{LogJSON: &asJSON}).Handler()))
	public := &url.URL{Scheme: "http", Host: "127.0.0.1:19103"}
	names := web.NewNames(public, nil, nil, true)
	app := web.New(web.Options{
		Names: names, Log: log, Draining: func() bool { return false }, Requests: metrics.New(metrics.Options{}),
	})
	const path = "/v1/mcp/:projectSlug/request"
	app.Post(path, web.Route(path), func(c *fiber.Ctx) error {
		if err := names.CheckHost(c); err != nil {
			return err
		}
		if err := names.CheckOrigin(c); err != nil {
			return err
		}
		event := web.EventOf(c)
		event.Project, event.Method = "demo", "tools/call"
		event.Tool, event.Upstream = "mock__echo", "mock"
		return c.Send([]byte("{}"))
	})
	client := &benchConn{Conn: dialed(b), left: b.N, over: make(chan struct{})}
	listener := &benchListener{conns: make(chan net.Conn, 1)}
	served := make(chan error, 1)
	b.ReportAllocs()
	b.ResetTimer()
	listener.conns <- client
	go func() { served <- app.Listener(conn.Listener(listener)) }()
	<-client.over
	b.StopTimer()
	close(listener.conns)
	if err := <-served; err != nil {
		b.Error(err)
	}
	if client.answers != b.N {
		b.Errorf("%d responses to %d requests", client.answers, b.N)
	}
}

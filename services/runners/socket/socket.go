// Package socket carries the byte stream between a gateway and the runner of
// another computer in a WebSocket. Binary messages are the stream. Text messages
// are JSON, apart from the stream.
package socket

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/fasthttp/websocket"

	"mcpgateway/services/background"
)

// Times of the liveness check.
const (
	PingInterval = 15 * time.Second // between the pings of the gateway
	DeadAfter    = 30 * time.Second // without any message or ping
	closeTime    = 200 * time.Millisecond
	pingTime     = 5 * time.Second
)

const (
	textMessage   = websocket.TextMessage
	binaryMessage = websocket.BinaryMessage
	// maxPiece is the maximum size of a binary message that is sent, in bytes.
	maxPiece = 32 << 10
)

// BufferSize is the size of the read and write buffers of a connection in bytes.
const BufferSize = 32 << 10

// Closed is the reason that the peer gave for the end of a connection.
type Closed struct {
	Code int
	Text string
}

// Error returns the reason.
func (c *Closed) Error() string { return "connection closed by the other side: " + c.Text }

// Options configure a Conn.
type Options struct {
	// Text receives the text messages that arrive while the stream is read. It
	// may be nil and must not block.
	Text  func(message []byte)
	Tasks *background.Tasks
	// Times that tests shorten; 0 means PingInterval and DeadAfter.
	Ping, Dead time.Duration
}

// Conn is the byte stream of a WebSocket. It implements net.Conn without
// deadlines: a connection without a sign of life ends.
type Conn struct {
	ws      *websocket.Conn
	options Options
	dead    *time.Timer

	reading sync.Mutex
	reader  io.Reader // of the current binary message, or nil
	writing sync.Mutex

	closing sync.Once
	ended   chan struct{}

	mu     sync.Mutex
	reason *Closed // sent by the peer
}

// New returns the stream of a WebSocket, which it owns.
func New(ws *websocket.Conn, o Options) *Conn {
	if o.Ping == 0 {
		o.Ping = PingInterval
	}
	if o.Dead == 0 {
		o.Dead = DeadAfter
	}
	c := &Conn{ws: ws, options: o, ended: make(chan struct{})}
	ws.SetReadLimit(maxText)
	c.dead = time.AfterFunc(time.Hour, o.Tasks.Func("end of a silent connection", func() { _ = c.Close() }))
	c.dead.Reset(o.Dead) // its function uses c.dead
	pong := ws.PingHandler()
	ws.SetPingHandler(func(data string) error { c.alive(); return pong(data) })
	ws.SetPongHandler(func(string) error { c.alive(); return nil })
	return c
}

// alive restarts the time until the connection ends.
func (c *Conn) alive() {
	if !c.isClosed() {
		c.dead.Reset(c.options.Dead)
	}
}

func (c *Conn) isClosed() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// ReceiveText returns the next message, which must be a text, within a time. It
// must not be called while the stream is read.
func (c *Conn) ReceiveText(within time.Duration) ([]byte, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	late := time.AfterFunc(within, c.options.Tasks.Func("end of a silent handshake", func() { _ = c.Close() }))
	defer late.Stop()
	kind, r, err := c.next()
	if err != nil {
		return nil, err
	}
	if kind != textMessage {
		return nil, errors.New("the first message is not text")
	}
	return io.ReadAll(r)
}

// next waits for the next message. The caller must hold reading.
func (c *Conn) next() (kind int, r io.Reader, err error) {
	if c.isClosed() {
		return 0, nil, net.ErrClosed
	}
	kind, r, err = c.ws.NextReader()
	if err == nil {
		c.alive()
		return kind, r, nil
	}
	var closed *websocket.CloseError
	if errors.As(err, &closed) && closed.Code != websocket.CloseAbnormalClosure {
		c.mu.Lock()
		c.reason = &Closed{Code: closed.Code, Text: closed.Text}
		c.mu.Unlock()
		err = io.EOF
	}
	return 0, nil, err
}

// Reason returns why the peer closed the connection, or nil if it did not say.
func (c *Conn) Reason() *Closed {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reason
}

// Read implements net.Conn.
func (c *Conn) Read(p []byte) (int, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	for {
		if c.reader == nil {
			kind, r, err := c.next()
			if err != nil {
				return 0, err
			}
			if kind == textMessage {
				if err := c.text(r); err != nil {
					return 0, err
				}
				continue
			}
			c.reader = r
		}
		n, err := c.reader.Read(p)
		if errors.Is(err, io.EOF) {
			c.reader, err = nil, nil
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

// text passes a text message on.
func (c *Conn) text(r io.Reader) error {
	message, err := io.ReadAll(r)
	if err == nil && c.options.Text != nil {
		c.options.Text(message)
	}
	return err
}

// Write implements net.Conn. Other messages can go between its pieces.
func (c *Conn) Write(p []byte) (n int, err error) {
	for n < len(p) {
		piece := p[n:min(n+maxPiece, len(p))]
		if err := c.send(binaryMessage, piece); err != nil {
			return n, err
		}
		n += len(piece)
	}
	return n, nil
}

func (c *Conn) send(kind int, message []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	if c.isClosed() {
		return net.ErrClosed
	}
	return c.ws.WriteMessage(kind, message)
}

// KeepAlive pings the peer at every interval until ctx or the connection ends. It
// calls wake, if there is one, after each value of woken.
func (c *Conn) KeepAlive(ctx context.Context, woken <-chan struct{}, wake func()) {
	tick := time.NewTicker(c.options.Ping)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.ended:
			return
		case <-woken:
			wake()
		case <-tick.C:
			c.ping()
		}
	}
}

func (c *Conn) ping() {
	c.writing.Lock()
	defer c.writing.Unlock()
	if !c.isClosed() {
		_ = c.ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(pingTime)) // the liveness check notices a failure
	}
}

// Done is closed when the connection was closed on this side.
func (c *Conn) Done() <-chan struct{} { return c.ended }

// Close implements net.Conn.
func (c *Conn) Close() error { return c.CloseWith(websocket.CloseNormalClosure, "") }

// CloseWith closes the connection and sends the reason to the peer, if it reads.
func (c *Conn) CloseWith(code int, text string) error {
	c.closing.Do(func() {
		close(c.ended)
		c.dead.Stop()
		text = strings.ToValidUTF8(text[:min(len(text), 120)], "") // a control frame has at most 125 bytes
		_ = c.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, text), time.Now().Add(closeTime))
		conn := c.ws.NetConn()
		if own, ok := conn.(interface{ UnsafeConn() net.Conn }); ok {
			conn = own.UnsafeConn() // the server's wrapper stays open until its handler returns
		}
		_ = conn.Close()
	})
	return nil
}

// Release closes the connection and waits until nothing uses it any more. A
// server calls it before it gives the connection up.
func (c *Conn) Release() {
	_ = c.Close()
	c.reading.Lock()
	defer c.reading.Unlock()
	c.writing.Lock()
	defer c.writing.Unlock()
}

// LocalAddr implements net.Conn.
func (c *Conn) LocalAddr() net.Addr { return address{} }

// RemoteAddr implements net.Conn.
func (c *Conn) RemoteAddr() net.Addr { return address{} }

// address is the address of both ends.
type address struct{}

// Network implements net.Addr.
func (address) Network() string { return "websocket" }

// String implements net.Addr.
func (address) String() string { return "connector" }

// SetDeadline implements net.Conn and does nothing.
func (c *Conn) SetDeadline(time.Time) error { return nil }

// SetReadDeadline implements net.Conn and does nothing.
func (c *Conn) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline implements net.Conn and does nothing.
func (c *Conn) SetWriteDeadline(time.Time) error { return nil }

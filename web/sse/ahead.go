package sse

import (
	"net"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/background"
	"mcpgateway/web"
)

// ServeEarly starts the response of a request whose handler is still running,
// so that events reach the client at once. It may be called from any goroutine
// while the handler doesn't use c. The handler must call Wait before it
// returns.
func (s *Stream) ServeEarly(c *fiber.Ctx) {
	s.announce(c)
	header := &c.Response().Header
	header.SetContentLength(-1)
	header.SetConnectionClose()
	s.written = make(chan struct{})
	head, tasks := header.Header(), web.EventOf(c).Background
	tasks.Go("early response", func() { s.writeAhead(tasks, head) })
}

// Wait blocks until the stream of ServeEarly is sent or has failed. The server
// then sends no second response and closes the connection.
func (s *Stream) Wait(c *fiber.Ctx) {
	<-s.written
	c.Context().HijackSetNoResponse(true)
	c.Context().Hijack(func(net.Conn) {}) // the server then closes the connection
}

// writeAhead sends the headers of the response and then the stream.
func (s *Stream) writeAhead(tasks *background.Tasks, head []byte) {
	defer close(s.written)
	err := tasks.Try("early response", func() error { return s.writeAll(head) })
	_ = s.Close()
	if err != nil {
		_ = s.conn.Close() // so that the client detects the incomplete stream
	}
}

func (s *Stream) writeAll(head []byte) error {
	w := chunkWriter{conn: s.conn}
	err := s.extend()
	if err == nil {
		_, err = s.conn.Write(head)
	}
	if err == nil {
		_, err = s.WriteTo(&w)
	}
	if err == nil {
		err = w.end()
	}
	return err
}

// chunkWriter writes a body of unknown length (RFC 9112, section 7.1), with one
// write to the connection per chunk.
type chunkWriter struct {
	conn   net.Conn
	buffer []byte
}

// Write implements io.Writer. It skips an empty p, because an empty chunk would
// end the body.
func (w *chunkWriter) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	b := append(strconv.AppendInt(w.buffer[:0], int64(len(p)), 16), "\r\n"...)
	b = append(append(b, p...), "\r\n"...)
	w.buffer = b
	if _, err := w.conn.Write(b); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (w *chunkWriter) end() error {
	_, err := w.conn.Write([]byte("0\r\n\r\n"))
	return err
}

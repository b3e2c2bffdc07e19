package sse

import (
	"net"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/background"
	"mcpgateway/web"
)

// AnswerAhead makes the stream the answer of a request whose handler is still
// at work, so that what is sent reaches the client at once. It may be called
// from any goroutine while the handler leaves c alone. The handler must call
// Wait at its end.
func (s *Stream) AnswerAhead(c *fiber.Ctx) {
	s.announce(c)
	header := &c.Response().Header
	header.SetContentLength(-1)
	header.SetConnectionClose()
	s.written = make(chan struct{})
	head, tasks := header.Header(), web.EventOf(c).Background
	tasks.Go("answer ahead", func() { s.writeAhead(tasks, head) })
}

// Wait returns when the last byte of a stream that was answered ahead is sent
// or cannot be. The server does not respond again, and closes the connection.
func (s *Stream) Wait(c *fiber.Ctx) {
	<-s.written
	c.Context().HijackSetNoResponse(true)
	c.Context().Hijack(func(net.Conn) {}) // the server closes the connection then
}

// writeAhead sends the head of the answer and then the stream.
func (s *Stream) writeAhead(tasks *background.Tasks, head []byte) {
	defer close(s.written)
	err := tasks.Try("answer ahead", func() error { return s.writeAll(head) })
	_ = s.Close()
	if err != nil {
		_ = s.conn.Close() // so that the client can tell that it has not seen the end
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

// chunkWriter writes a body whose length is not known before (RFC 9112,
// section 7.1), each piece with one write to the connection.
type chunkWriter struct {
	conn   net.Conn
	buffer []byte
}

// Write is of io.Writer. An empty piece is not written: it would end the body.
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

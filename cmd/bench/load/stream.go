package load

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/valyala/fasthttp"
)

// Stream is the open event stream of a session, on its own connection.
type Stream struct{ conn *connection }

// Listen opens the event stream of the client's session (2025-06-18,
// transports, "Listening for Messages from the Server").
func (c *Client) Listen(ctx context.Context) (*Stream, error) {
	conn, err := dial(ctx, c.endpoint.Address)
	if err != nil {
		return nil, err
	}
	if err := conn.listen(&c.endpoint, c.session); err != nil {
		conn.close()
		return nil, err
	}
	return &Stream{conn}, nil
}

func (c *connection) listen(e *Endpoint, session string) error {
	if err := c.socket.SetDeadline(time.Now().Add(responseTimeout)); err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "GET %s HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\nMcp-Protocol-Version: %s\r\nMcp-Session-Id: %s\r\n", e.Path, e.Address, Sessions, session)
	if e.Key != "" {
		b.WriteString("Authorization: Bearer " + e.Key + "\r\n")
	}
	b.WriteString("\r\n")
	if _, err := io.WriteString(c.socket, b.String()); err != nil {
		return err
	}
	var header fasthttp.ResponseHeader
	if err := header.Read(c.in); err != nil {
		return fmt.Errorf("read stream header: %w", err)
	}
	if status, kind := header.StatusCode(), string(header.ContentType()); status != fasthttp.StatusOK || !strings.HasPrefix(kind, "text/event-stream") {
		return fmt.Errorf("stream not opened: HTTP %d with content type %q", status, kind)
	}
	// An idle stream needs no large buffer.
	c.in = bufio.NewReaderSize(c.socket, 16)
	return nil
}

// Close closes the stream.
func (s *Stream) Close() { s.conn.close() }

// Err returns nil while the stream is open, io.EOF after the server closed it, or
// the read error. It discards received events.
func (s *Stream) Err() error {
	if err := s.conn.socket.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, s.conn.in)
	switch {
	case err == nil:
		return io.EOF
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil
	default:
		return err
	}
}

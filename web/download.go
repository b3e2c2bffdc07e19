package web

import (
	"context"
	"io"
	"net"
	"time"

	"github.com/gofiber/fiber/v2"
)

// downloadWriteTime is the time a client has to receive each piece of a
// Download.
const downloadWriteTime = 30 * time.Second

// File is created while it is read. Next returns its parts in order, then io.EOF.
type File interface {
	Next(ctx context.Context) ([]byte, error)
}

// SendFile responds with a file as Download does. Its first part is created before
// the response starts, so that a failure can still be returned. The others have no
// deadline, because the client determines how long they take.
func SendFile(c *fiber.Ctx, mediaType, name string, file File) error {
	first, err := file.Next(c.UserContext())
	if err != nil {
		return err
	}
	ctx := context.WithoutCancel(c.UserContext())
	Download(c, mediaType, name, func() ([]byte, error) {
		if part := first; part != nil {
			first = nil
			return part, nil
		}
		return file.Next(ctx)
	})
	return nil
}

// Download responds with a file. next returns its pieces in order, then io.EOF.
// It is called after the handler has returned, as fast as the client reads. Any
// other error of next closes the connection, so that the client detects an
// incomplete file.
func Download(c *fiber.Ctx, mediaType, name string, next func() ([]byte, error)) {
	c.Set(fiber.HeaderContentType, mediaType)
	c.Set(fiber.HeaderContentDisposition, `attachment; filename="`+name+`"`)
	c.Set(fiber.HeaderCacheControl, "no-store")
	c.Response().SetBodyStream(&download{conn: c.Context().Conn(), next: next}, -1)
}

type download struct {
	conn net.Conn
	next func() ([]byte, error)
	rest []byte
}

// Read implements io.Reader.
func (d *download) Read(p []byte) (int, error) {
	for len(d.rest) == 0 {
		piece, err := d.next()
		if err != nil {
			return 0, err
		}
		d.rest = piece
	}
	if d.conn != nil {
		if err := d.conn.SetWriteDeadline(time.Now().Add(downloadWriteTime)); err != nil {
			return 0, err
		}
	}
	n := copy(p, d.rest)
	d.rest = d.rest[n:]
	return n, nil
}

// Close implements io.Closer. It removes the write deadline of the download
// from the connection.
func (d *download) Close() error {
	if d.conn != nil {
		_ = d.conn.SetWriteDeadline(time.Time{}) // fails only on a closed connection
	}
	return nil
}

var _ io.ReadCloser = (*download)(nil)

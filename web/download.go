package web

import (
	"io"
	"net"
	"time"

	"github.com/gofiber/fiber/v2"
)

// downloadWriteTime is how long the client of a Download may take for each of
// its pieces.
const downloadWriteTime = 30 * time.Second

// Download makes the file the answer of the request. next returns its pieces
// one after the other and io.EOF behind the last; it is asked only as fast as
// the client reads, after the handler has returned, and any other error breaks
// the connection, so that the client can tell that the file is not whole.
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

// Read hands out the file.
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

// Close leaves the connection without a deadline of the file.
func (d *download) Close() error {
	if d.conn != nil {
		_ = d.conn.SetWriteDeadline(time.Time{}) // fails on a closed connection only
	}
	return nil
}

var _ io.ReadCloser = (*download)(nil)

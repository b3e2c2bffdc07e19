package web

import (
	"io"

	"github.com/gofiber/fiber/v2"
)

// SendPartsThen responds with the concatenated parts without copying them. The
// parts must not change until the response is sent. done, which may be nil, is
// called once when the parts were sent or the connection was closed. The error
// is always nil.
func SendPartsThen(c *fiber.Ctx, done func(), parts ...[]byte) error {
	size := 0
	for _, part := range parts {
		size += len(part)
	}
	c.Context().SetBodyStream(&partsBody{rest: parts, done: done}, size)
	return nil
}

// partsBody is a body in parts.
type partsBody struct {
	rest [][]byte
	done func() // nil after its call
}

// WriteTo implements io.WriterTo.
func (b *partsBody) WriteTo(w io.Writer) (written int64, err error) {
	for len(b.rest) > 0 {
		n, err := w.Write(b.rest[0])
		written += int64(n)
		if err != nil {
			return written, err
		}
		b.rest[0] = nil // allows garbage collection
		b.rest = b.rest[1:]
	}
	return written, nil
}

// Read implements io.Reader, for servers that don't call WriteTo.
func (b *partsBody) Read(p []byte) (n int, err error) {
	for len(b.rest) > 0 && len(b.rest[0]) == 0 {
		b.rest = b.rest[1:]
	}
	if len(b.rest) == 0 {
		return 0, io.EOF
	}
	n = copy(p, b.rest[0])
	b.rest[0] = b.rest[0][n:]
	return n, nil
}

// Close implements io.Closer.
func (b *partsBody) Close() error {
	if b.done != nil {
		b.done()
		b.done = nil
	}
	return nil
}

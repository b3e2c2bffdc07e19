package load

import (
	"context"
	"fmt"

	"github.com/valyala/fasthttp"
)

// Reader reads pages over one connection. It is not safe for concurrent use.
type Reader struct {
	address string
	conn    *connection
}

// OpenReader connects to a web server at host:port.
func OpenReader(ctx context.Context, address string) (*Reader, error) {
	conn, err := dial(ctx, address)
	if err != nil {
		return nil, err
	}
	return &Reader{address, conn}, nil
}

// Close closes the connection.
func (r *Reader) Close() { r.conn.close() }

// Get returns the body of the page at a path with query. The body is valid until
// the next Get. A status other than 200 is an error.
func (r *Reader) Get(path string) ([]byte, error) {
	response, err := r.conn.exchange(fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", path, r.address))
	if err != nil {
		return nil, err
	}
	if status := response.StatusCode(); status != fasthttp.StatusOK {
		return nil, fmt.Errorf("%s: HTTP %d: %s", path, status, shown(response.Body()))
	}
	return response.Body(), nil
}

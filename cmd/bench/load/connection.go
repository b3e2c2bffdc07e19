package load

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"time"

	"github.com/valyala/fasthttp"
)

const (
	// responseTimeout limits the time of one request.
	responseTimeout = 30 * time.Second
	// maxAnswer is the maximum size of a response body in bytes.
	maxAnswer = 64 << 20
)

// connection sends requests one at a time. It is not safe for concurrent use.
type connection struct {
	socket   net.Conn
	in       *bufio.Reader
	response fasthttp.Response
}

func dial(ctx context.Context, address string) (*connection, error) {
	socket, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return &connection{socket: socket, in: bufio.NewReaderSize(socket, 32<<10)}, nil
}

func (c *connection) close() { c.socket.Close() }

// exchange sends a complete request and returns the response, which is valid
// until the next exchange.
func (c *connection) exchange(request []byte) (*fasthttp.Response, error) {
	if err := c.socket.SetDeadline(time.Now().Add(responseTimeout)); err != nil {
		return nil, err
	}
	if _, err := c.socket.Write(request); err != nil {
		return nil, err
	}
	if err := c.response.ReadLimitBody(c.in, maxAnswer); err != nil {
		return nil, fmt.Errorf("read response: %w", err)
	}
	return &c.response, nil
}

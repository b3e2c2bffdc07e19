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
	// patience is how long an answer may take.
	patience = 30 * time.Second
	// maxAnswer bounds the body of an answer, in bytes.
	maxAnswer = 64 << 20
)

// connection carries one request after the other. It is not safe for
// concurrent use.
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

// exchange sends a whole request and returns the answer, which is valid until
// the next exchange.
func (c *connection) exchange(request []byte) (*fasthttp.Response, error) {
	if err := c.socket.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	if _, err := c.socket.Write(request); err != nil {
		return nil, err
	}
	if err := c.response.ReadLimitBody(c.in, maxAnswer); err != nil {
		return nil, fmt.Errorf("the answer cannot be read: %w", err)
	}
	return &c.response, nil
}

package egress

import (
	"context"
	"net"
)

// DialMail opens a connection to the operator's mail server. Addresses are
// restricted as for MCP.
func (c *Clients) DialMail(ctx context.Context, network, address string) (net.Conn, error) {
	return c.transport.dialer.DialContext(ctx, network, address)
}

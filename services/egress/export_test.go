package egress

import (
	"fmt"
	"net"
)

// Limits of idle connections.
const (
	IdleConnsPerHost = idleConnsPerHost
	IdleConnsTotal   = idleConnsTotal
)

// Idle returns the number of idle connections.
func Idle(c *Clients) int {
	c.transport.idle.mu.Lock()
	defer c.transport.idle.mu.Unlock()
	return c.transport.idle.count
}

// PutIdle returns the number of connections to several hosts that stay idle.
func PutIdle(hosts, each int) (kept int) {
	var idle idleConns
	defer idle.close()
	near, far := net.Pipe()
	defer far.Close()
	for host := range hosts {
		for range each {
			if idle.put(newConn(&idle, origin{"http", fmt.Sprint(host)}, near, near)) {
				kept++
			}
		}
	}
	return kept
}

// WithResolver replaces the system's resolver by r.
func WithResolver(r *net.Resolver) Option { return func(s *settings) { s.resolver = r } }

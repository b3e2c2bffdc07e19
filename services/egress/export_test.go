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

// IdleOf returns the number of idle connections of a server with its own TLS
// settings, or -1 if there is none.
func IdleOf(c *Clients, id string) int {
	e := c.servers.get(id)
	if e == nil {
		return -1
	}
	e.idle.mu.Lock()
	defer e.idle.mu.Unlock()
	return e.idle.count
}

// FillServers adds unused servers with their own TLS settings up to the limit.
func FillServers(c *Clients) {
	for i := 0; c.servers.count < maxServerTransports; i++ {
		if _, err := c.servers.of(fmt.Sprint("filler ", i), &ServerTLS{}); err != nil {
			panic(err)
		}
	}
}

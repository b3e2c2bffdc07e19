package web

import (
	"net"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/fault"
)

// HostPolicy are the host names and browser origins that requests may have. They
// prevent cross-site pages, and names rebound to this address, from reaching
// the gateway through a visitor's browser.
type HostPolicy struct {
	hosts    map[string]bool
	origins  map[string]bool
	loopback bool
	literals bool // every IP address is an accepted host

	last atomic.Pointer[string] // last accepted Host header; most requests have the same
}

// NewNames returns the names of the public URL and the additional hosts and
// origins. With a loopback listener every loopback name is accepted too.
func NewNames(public *url.URL, hosts, origins []string, loopbackListener bool) *HostPolicy {
	n := &HostPolicy{hosts: map[string]bool{}, origins: map[string]bool{}, loopback: loopbackListener}
	n.hosts[strings.ToLower(public.Hostname())] = true
	n.origins[OriginOf(public)] = true
	for _, h := range hosts {
		n.hosts[hostname(h)] = true
	}
	for _, o := range origins {
		if u, err := url.Parse(o); err == nil {
			n.origins[OriginOf(u)] = true
		}
	}
	return n
}

// AllowAddresses accepts every IP address as a host name; DNS rebinding
// requires a name. It must be called before the names are used.
func (n *HostPolicy) AllowAddresses() { n.literals = true }

// CheckHost returns FORBIDDEN for a Host header that does not name this
// gateway.
func (n *HostPolicy) CheckHost(c *fiber.Ctx) error {
	received := c.Request().Host()
	if last := n.last.Load(); last != nil && string(received) == *last {
		return nil
	}
	header := string(received)
	host := hostname(header)
	if n.hosts[host] || n.loopback && isLoopback(host) || n.literals && isAddress(host) {
		n.last.Store(&header)
		return nil
	}
	return fault.Forbidden("Host %q is not allowed. Add it to GATEWAY_ALLOWED_HOSTS.", clip(host, 128))
}

// CheckOrigin returns FORBIDDEN for an Origin header of a site that is not
// allowed to call MCP endpoints (MCP 2025-11-25, "Security Warning" of the
// transport). If there are several, all of them must be allowed.
func (n *HostPolicy) CheckOrigin(c *fiber.Ctx) error {
	for _, header := range c.Request().Header.PeekAll(fiber.HeaderOrigin) {
		if err := n.checkOrigin(string(header)); err != nil {
			return err
		}
	}
	return nil
}

func (n *HostPolicy) checkOrigin(header string) error {
	if header == "" {
		return nil
	}
	if u, err := url.Parse(header); err == nil && u.Host != "" {
		if n.origins[OriginOf(u)] || n.loopback && u.Scheme == "http" && isLoopback(strings.ToLower(u.Hostname())) {
			return nil
		}
	}
	return fault.Forbidden("Origin %q is not allowed. Add it to GATEWAY_ALLOWED_ORIGINS.", clip(header, 128))
}

// hostname returns the lower-case name of a Host header without its port.
func hostname(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

// OriginOf returns the origin of a URL, without the default port of its scheme.
func OriginOf(u *url.URL) string {
	port := u.Port()
	if port == "" || u.Scheme == "http" && port == "80" || u.Scheme == "https" && port == "443" {
		return strings.ToLower(u.Scheme + "://" + u.Hostname())
	}
	return strings.ToLower(u.Scheme + "://" + u.Hostname() + ":" + port)
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

func isLoopback(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}

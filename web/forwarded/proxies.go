// Package forwarded determines the client address of requests through trusted
// proxies, from X-Forwarded-For and Forwarded headers.
package forwarded

import (
	"net/netip"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

// ParseAddress returns the address of a client. It returns the zero address for
// invalid text, so that all of that counts as one client.
func ParseAddress(address string) netip.Addr {
	addr, _ := netip.ParseAddr(address)
	return addr.Unmap().WithZone("")
}

// Proxies are the networks of the trusted proxies.
type Proxies []netip.Prefix

// Trust reports whether the address belongs to a trusted proxy.
func (p Proxies) Trust(addr netip.Addr) bool {
	for _, prefix := range p {
		if prefix.Contains(addr) {
			return true
		}
	}
	return false
}

// Client returns the address of the client of a request from peer. The headers
// of an untrusted peer are ignored. Those of a trusted peer are read from the
// right, because each proxy appends the address of its peer. The first address
// that is not a trusted proxy is the client's. A client can only control what
// is further left.
//
// Proxies add either X-Forwarded-For or Forwarded (RFC 7239) and may forward
// the other one from the client. When both are present and result in different
// addresses, neither is used and Client returns peer.
func (p Proxies) Client(peer netip.Addr, h *fasthttp.RequestHeader) netip.Addr {
	if !p.Trust(peer) {
		return peer
	}
	// PeekAll reuses the slice that it returned before.
	listed, hasList := p.walk(peer, h.PeekAll(fiber.HeaderXForwardedFor), listedNodes)
	forwarded, hasForwarded := p.walk(peer, h.PeekAll(fiber.HeaderForwarded), forwardedNodes)
	switch {
	case hasList && hasForwarded && listed != forwarded:
		return peer
	case hasForwarded:
		return forwarded
	default:
		return listed
	}
}

// walk follows the lines of a header from the last node to the first. It
// returns the first address that is not a trusted proxy, or the last one read.
// It stops at a node that is not an address. found is false without a line.
func (p Proxies) walk(peer netip.Addr, lines [][]byte, nodesOf func(line string) []string) (client netip.Addr, found bool) {
	client = peer
	for i := len(lines) - 1; i >= 0; i-- {
		nodes := nodesOf(string(lines[i]))
		for n := len(nodes) - 1; n >= 0; n-- {
			addr, ok := parseNode(nodes[n])
			if !ok {
				return client, true
			}
			client = addr
			if !p.Trust(addr) {
				return client, true
			}
		}
	}
	return client, len(lines) > 0
}

// listedNodes returns the nodes in a line of X-Forwarded-For.
func listedNodes(line string) []string { return strings.Split(line, ",") }

// parseNode parses the address of a node: IPv4 or IPv6, the latter optionally
// in brackets, each with or without a port. Obfuscated identifiers ("unknown",
// "_hidden") and other text are not addresses. Zones are dropped, because they
// only have meaning on the proxy.
func parseNode(text string) (addr netip.Addr, ok bool) {
	text = strings.Trim(text, " \t")
	host, port, bracketed := text, "", false
	if rest, found := strings.CutPrefix(text, "["); found {
		bracketed = true
		if host, port, found = strings.Cut(rest, "]"); !found || port != "" && !strings.HasPrefix(port, ":") {
			return netip.Addr{}, false
		}
		if port != "" && !isPort(port[1:]) {
			return netip.Addr{}, false
		}
	} else if strings.Count(text, ":") == 1 {
		if host, port, _ = strings.Cut(text, ":"); !isPort(port) {
			return netip.Addr{}, false
		}
	}
	addr, err := netip.ParseAddr(host)
	if err != nil || bracketed && !addr.Is6() || !bracketed && port != "" && !addr.Is4() {
		return netip.Addr{}, false
	}
	return addr.Unmap().WithZone(""), true
}

// isPort reports whether the text is a port, or an obfuscated one (RFC 7239,
// section 6).
func isPort(text string) bool {
	if name, obfuscated := strings.CutPrefix(text, "_"); obfuscated {
		return name != "" && !strings.ContainsFunc(name, func(r rune) bool { return !isObfuscated(r) })
	}
	return text != "" && len(text) <= 5 && !strings.ContainsFunc(text, func(r rune) bool { return r < '0' || r > '9' })
}

func isObfuscated(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '.' || r == '_' || r == '-'
}

// Package egress creates all outbound HTTP clients. They refuse connections to
// addresses that upstream URLs must not reach, such as the gateway's own
// network or a cloud's metadata service.
package egress

import (
	"fmt"
	"net/netip"
	"syscall"

	"code.dny.dev/ssrf"
)

// Blocked is the error of a connection rejected by the guard.
type Blocked struct {
	Addr  netip.Addr
	Never bool // on the denylist: no setting allows it
}

// Error returns the rejected address and the setting that would allow it.
func (b *Blocked) Error() string {
	if b.Never {
		return fmt.Sprintf("connections to %s are not allowed: link-local, metadata, multicast and tunnel addresses are blocked", b.Addr)
	}
	return fmt.Sprintf("connections to %s are not allowed: the address is not public; an operator can allow it by adding %s to GATEWAY_EGRESS_ALLOW", b.Addr, netip.PrefixFrom(b.Addr, b.Addr.BitLen()))
}

// Guard restricts outbound connections to public addresses and those that an
// operator allowed.
type Guard struct {
	rules *ssrf.Guardian
}

// NewGuard returns a guard that allows public addresses and the given prefixes.
// Link-local, metadata, multicast, unspecified and tunnel addresses are always
// rejected.
func NewGuard(allow []netip.Prefix) *Guard {
	var v4, v6 []netip.Prefix
	for _, p := range allow {
		if p = p.Masked(); p.Addr().Is4() {
			v4 = append(v4, p)
		} else {
			v6 = append(v6, p)
		}
	}
	return &Guard{rules: ssrf.New(ssrf.WithAnyPort(), ssrf.WithAllowedV4Prefixes(v4...), ssrf.WithAllowedV6Prefixes(v6...))}
}

// Check returns nil for an allowed address, and otherwise a *Blocked.
func (g *Guard) Check(addr netip.Addr) error {
	addr = addr.WithZone("")
	if !addr.IsValid() || isDenied(addr) {
		return &Blocked{Addr: addr, Never: true}
	}
	if err := g.rules.SafeAddr(addr); err != nil {
		return &Blocked{Addr: addr}
	}
	// An operator behind NAT64 can allow its prefix. The embedded IPv4 address
	// must be allowed, too.
	if nat64.Contains(addr) {
		bytes := addr.As16()
		return g.Check(netip.AddrFrom4([4]byte(bytes[12:])))
	}
	return nil
}

// control implements net.Dialer's Control. It checks the resolved address of
// the connection, so DNS rebinding can't bypass it.
func (g *Guard) control(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("connect to %q: %w", address, err)
	}
	return g.Check(to.Addr())
}

// DefaultAllow returns the prefixes allowed if the operator sets none. If the
// gateway listens on loopback, and so serves only its own machine, they are the
// loopback, private (RFC 1918) and unique-local (RFC 4193) networks. Otherwise
// there are none.
func DefaultAllow(listenLoopback bool) []netip.Prefix {
	if !listenLoopback {
		return nil
	}
	return []netip.Prefix{
		netip.MustParsePrefix("127.0.0.0/8"),
		netip.MustParsePrefix("::1/128"),
		netip.MustParsePrefix("10.0.0.0/8"),
		netip.MustParsePrefix("172.16.0.0/12"),
		netip.MustParsePrefix("192.168.0.0/16"),
		netip.MustParsePrefix("fc00::/7"),
	}
}

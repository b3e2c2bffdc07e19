// Package egress is the only factory of outbound HTTP clients. Its clients
// refuse to connect to addresses that an upstream's URL must not reach, such
// as the gateway's own network or a cloud's metadata service.
package egress

import (
	"fmt"
	"net/netip"
	"syscall"

	"code.dny.dev/ssrf"
)

// Blocked is the error of a connection that the guard refused.
type Blocked struct {
	Addr  netip.Addr
	Never bool // no setting allows it
}

// Error says which address was refused and which setting would allow it.
func (b *Blocked) Error() string {
	if b.Never {
		return fmt.Sprintf("connections to %s are never allowed, because link-local, metadata, multicast and tunnel addresses reach what no upstream is", b.Addr)
	}
	return fmt.Sprintf("connections to %s are not allowed, because it is no public address; an operator can allow it by adding %s to GATEWAY_EGRESS_ALLOW", b.Addr, netip.PrefixFrom(b.Addr, b.Addr.BitLen()))
}

// Guard decides which addresses outbound connections may reach: public ones,
// and those that an operator allowed.
type Guard struct {
	rules *ssrf.Guardian
}

// NewGuard returns a guard that allows public addresses and the given
// prefixes. Link-local, metadata, multicast, unspecified and tunnel addresses
// stay refused whatever the prefixes say.
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

// Check returns nil for an address that may be reached, else a *Blocked.
func (g *Guard) Check(addr netip.Addr) error {
	addr = addr.WithZone("")
	if !addr.IsValid() || neverAllowed(addr) {
		return &Blocked{Addr: addr, Never: true}
	}
	if err := g.rules.SafeAddr(addr); err != nil {
		return &Blocked{Addr: addr}
	}
	// An operator behind NAT64 may allow its prefix; the IPv4 address within
	// must still be one that may be reached.
	if nat64.Contains(addr) {
		bytes := addr.As16()
		return g.Check(netip.AddrFrom4([4]byte(bytes[12:])))
	}
	return nil
}

// control is a net.Dialer's Control: it sees the address that is about to be
// connected to, after the name was resolved, so that a name which resolves
// differently the second time gains nothing.
func (g *Guard) control(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("refuse to connect to %q: %w", address, err)
	}
	return g.Check(to.Addr())
}

// DefaultAllow returns the prefixes allowed when the operator names none: the
// loopback, private (RFC 1918) and unique-local (RFC 4193) networks when the
// gateway itself listens on loopback and so serves its own machine only, and
// none otherwise.
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

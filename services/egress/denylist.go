package egress

import (
	"net/netip"
	"slices"
)

// nat64 is the well-known prefix of RFC 6052.
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// deniedPrefixes contains the prefixes that no setting can allow.
var deniedPrefixes = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),          // this host (RFC 791): connecting reaches loopback
	netip.MustParsePrefix("169.254.0.0/16"),     // link-local (RFC 3927), with most clouds' metadata
	netip.MustParsePrefix("100.100.100.200/32"), // metadata of Alibaba Cloud
	netip.MustParsePrefix("168.63.129.16/32"),   // platform services of Azure
	netip.MustParsePrefix("192.0.0.192/32"),     // metadata of Oracle Cloud, first generation
	netip.MustParsePrefix("224.0.0.0/4"),        // multicast
	netip.MustParsePrefix("255.255.255.255/32"), // broadcast
	netip.MustParsePrefix("::/128"),             // unspecified: connecting reaches loopback
	netip.MustParsePrefix("fe80::/10"),          // link-local (RFC 4291)
	netip.MustParsePrefix("fec0::/10"),          // site-local, deprecated (RFC 3879)
	netip.MustParsePrefix("ff00::/8"),           // multicast
	netip.MustParsePrefix("fd00:ec2::/32"),      // metadata and other link services of AWS
	netip.MustParsePrefix("fd20:ce::254/128"),   // metadata of Google Cloud
	netip.MustParsePrefix("fd00:42::42/128"),    // metadata of Scaleway
	netip.MustParsePrefix("2002::/16"),          // 6to4 (RFC 3056): hides an IPv4 address
	netip.MustParsePrefix("2001::/32"),          // Teredo (RFC 4380): hides an IPv4 address
	netip.MustParsePrefix("64:ff9b:1::/48"),     // local NAT64 (RFC 8215): hides an IPv4 address
	netip.MustParsePrefix("::ffff:0:0/96"),      // IPv4-mapped (RFC 4291): a second spelling of IPv4
	netip.MustParsePrefix("::ffff:0:0:0/96"),    // IPv4-translated (RFC 2765)
}

// isDenied reports whether addr, without zone, is on the denylist.
func isDenied(addr netip.Addr) bool {
	return slices.ContainsFunc(deniedPrefixes, func(p netip.Prefix) bool { return p.Contains(addr) })
}

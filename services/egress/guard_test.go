package egress_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mcpgateway/services/egress"
)

func prefixes(texts ...string) []netip.Prefix {
	var all []netip.Prefix
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

func TestSSRFGuard(t *testing.T) {
	guards := map[string]*egress.Guard{
		"public":     egress.NewGuard(egress.DefaultAllow(false)),
		"local":      egress.NewGuard(egress.DefaultAllow(true)),
		"everything": egress.NewGuard(prefixes("0.0.0.0/0", "::/0")),
		"nat64":      egress.NewGuard(prefixes("64:ff9b::/96")),
	}
	const (
		yes    = "yes"
		no     = "no"
		denied = "denied"
	)
	cases := []struct {
		addr                             string
		public, local, everything, nat64 string
	}{
		{"8.8.8.8", yes, yes, yes, yes},
		{"2001:4860:4860::8888", yes, yes, yes, yes},
		{"127.0.0.1", no, yes, yes, no},
		{"127.255.255.254", no, yes, yes, no},
		{"::1", no, yes, yes, no},
		{"10.0.0.1", no, yes, yes, no},
		{"172.15.255.255", yes, yes, yes, yes},
		{"172.16.0.0", no, yes, yes, no},
		{"172.31.255.255", no, yes, yes, no},
		{"172.32.0.0", yes, yes, yes, yes},
		{"192.168.1.1", no, yes, yes, no},
		{"fd12:3456::1", no, yes, yes, no},
		{"100.64.0.1", no, no, yes, no},
		{"100.63.255.255", yes, yes, yes, yes},
		{"192.0.0.8", no, no, yes, no},
		{"192.0.2.1", no, no, yes, no},
		{"198.18.0.1", no, no, yes, no},
		{"198.51.100.1", no, no, yes, no},
		{"203.0.113.1", no, no, yes, no},
		{"240.0.0.1", no, no, yes, no},
		{"2001:db8::1", no, no, yes, no},
		{"3fff::1", no, no, yes, no},
		{"::7f00:1", no, no, yes, no}, // IPv4-compatible, deprecated and not routed
		{"0.0.0.0", denied, denied, denied, denied},
		{"0.1.2.3", denied, denied, denied, denied},
		{"::", denied, denied, denied, denied},
		{"255.255.255.255", denied, denied, denied, denied},
		{"224.0.0.1", denied, denied, denied, denied},
		{"ff02::1", denied, denied, denied, denied},
		{"169.254.0.1", denied, denied, denied, denied},
		{"169.254.169.254", denied, denied, denied, denied},
		{"169.254.170.2", denied, denied, denied, denied},
		{"169.253.255.255", yes, yes, yes, yes},
		{"169.255.0.0", yes, yes, yes, yes},
		{"100.100.100.200", denied, denied, denied, denied},
		{"168.63.129.16", denied, denied, denied, denied},
		{"168.63.129.17", yes, yes, yes, yes},
		{"192.0.0.192", denied, denied, denied, denied},
		{"fd00:ec2::254", denied, denied, denied, denied},
		{"fd20:ce::254", denied, denied, denied, denied},
		{"fd00:42::42", denied, denied, denied, denied},
		{"fe80::1", denied, denied, denied, denied},
		{"fe80::1%eth0", denied, denied, denied, denied},
		{"febf::1", denied, denied, denied, denied},
		{"fec0::1", denied, denied, denied, denied},
		{"::ffff:127.0.0.1", denied, denied, denied, denied},
		{"::ffff:8.8.8.8", denied, denied, denied, denied},
		{"::ffff:0:127.0.0.1", denied, denied, denied, denied},
		{"2002:7f00:1::1", denied, denied, denied, denied},
		{"2002:808:808::1", denied, denied, denied, denied},
		{"2001:0:1234::1", denied, denied, denied, denied},
		{"64:ff9b:1::7f00:1", denied, denied, denied, denied},
		{"64:ff9b::808:808", no, no, yes, yes},
		{"64:ff9b::7f00:1", no, no, yes, no},
		{"64:ff9b::a9fe:a9fe", no, no, denied, denied},
		{"2000::1%eth0", yes, yes, yes, yes},
	}
	for _, c := range cases {
		addr := netip.MustParseAddr(c.addr)
		for name, want := range map[string]string{"public": c.public, "local": c.local, "everything": c.everything, "nat64": c.nat64} {
			err := guards[name].Check(addr)
			got := yes
			var blocked *egress.Blocked
			switch {
			case errors.As(err, &blocked) && blocked.Never:
				got = denied
			case errors.As(err, &blocked):
				got = no
			case err != nil:
				t.Errorf("%s, %s: error is not a *Blocked: %v", name, c.addr, err)
			}
			if got != want {
				t.Errorf("%s, %s: %s (%v), want %s", name, c.addr, got, err, want)
			}
			if err != nil && strings.Contains(err.Error(), "GATEWAY_EGRESS_ALLOW") != (got == no) {
				t.Errorf("%s, %s: error must name the setting only if it would allow the address: %v", name, c.addr, err)
			}
		}
	}
	for _, g := range guards {
		if err := g.Check(netip.Addr{}); err == nil {
			t.Error("invalid address was allowed")
		}
	}
}

func TestSuggestedSettingAllowsAddress(t *testing.T) {
	for _, addr := range []string{"127.0.0.1", "10.1.2.3", "::1", "fd12::1", "192.0.2.1", "100.64.0.1"} {
		err := egress.NewGuard(nil).Check(netip.MustParseAddr(addr))
		if err == nil {
			t.Fatalf("%s was allowed", addr)
		}
		_, rest, _ := strings.Cut(err.Error(), "adding ")
		prefix, _, _ := strings.Cut(rest, " ")
		if err := egress.NewGuard(prefixes(prefix)).Check(netip.MustParseAddr(addr)); err != nil {
			t.Errorf("%s with %s allowed: %v", addr, prefix, err)
		}
	}
}

func TestPrefixWithHostBitsAllowsNetwork(t *testing.T) {
	g := egress.NewGuard(prefixes("10.1.2.3/24"))
	for addr, ok := range map[string]bool{"10.1.2.0": true, "10.1.2.255": true, "10.1.3.0": false, "10.1.1.255": false} {
		if err := g.Check(netip.MustParseAddr(addr)); (err == nil) != ok {
			t.Errorf("%s: %v", addr, err)
		}
	}
}

func TestLinkLocalSpellingsAreRejected(t *testing.T) {
	g := egress.NewGuard(prefixes("0.0.0.0/0", "::/0"))
	rapid.Check(t, func(t *rapid.T) {
		four := [4]byte{169, 254, rapid.Byte().Draw(t, "c"), rapid.Byte().Draw(t, "d")}
		mapped := netip.AddrFrom4(four)
		prefix := rapid.SampledFrom([]string{"::ffff:0:0", "64:ff9b::", "64:ff9b:1::", "::ffff:0:0:0"}).Draw(t, "prefix")
		bytes := netip.MustParseAddr(prefix).As16()
		copy(bytes[12:], four[:])
		sixToFour := [16]byte{0x20, 0x02, four[0], four[1], four[2], four[3], 15: 1}
		for _, addr := range []netip.Addr{mapped, netip.AddrFrom16(bytes), netip.AddrFrom16(sixToFour)} {
			if err := g.Check(addr); err == nil {
				t.Fatalf("%s was allowed", addr)
			}
		}
	})
}

package services

import (
	"net"
	"net/netip"
	"net/url"
	"strings"

	"mcpgateway/services/config"
	"mcpgateway/services/egress"
	"mcpgateway/services/fault"
)

// checkURL rejects upstream URLs that can never be called, so that the mistake
// is reported when it is saved and not at the first call.
func checkURL(guard *egress.Guard, c *config.Config) func(string) error {
	return func(raw string) error {
		if err := egress.CheckURL(raw); err != nil {
			return fault.Invalid("%s", fault.From(err).Message)
		}
		u, err := url.Parse(raw)
		if err != nil {
			return fault.Invalid("This is not a valid URL.")
		}
		if isOwnOrigin(u, c.PublicURL, c.Addr) {
			return fault.Invalid("This is the gateway's own address. A project can't be a server of another one. Add the project's servers here instead.")
		}
		// Host names are checked when they are dialed.
		if addr, err := netip.ParseAddr(u.Hostname()); err == nil {
			if err := guard.Check(addr); err != nil {
				return fault.Invalid("%v", err)
			}
		}
		return nil
	}
}

// isOwnOrigin reports whether a URL has the gateway's own origin: that of its
// public URL, or an address of its listener. It compares names without
// resolving them; loops through other names are detected by the Gateway-Hops
// header of requests.
func isOwnOrigin(u, public *url.URL, listener string) bool {
	host, port := originOf(u)
	if public != nil {
		if publicHost, publicPort := originOf(public); host == publicHost && port == publicPort {
			return true
		}
	}
	listens, listenPort, err := net.SplitHostPort(listener)
	if err != nil || listenPort == "0" || port != listenPort {
		return false
	}
	if host == strings.ToLower(listens) {
		return true
	}
	to, from := addressOf(host), addressOf(listens)
	switch {
	case !to.IsValid():
		return false
	case from.IsLoopback():
		return to.IsLoopback()
	case listens != "" && !from.IsUnspecified():
		return to == from
	}
	return to.IsLoopback() || to.IsUnspecified() || isInterface(to)
}

// originOf returns the host and port of a URL in a comparable form.
func originOf(u *url.URL) (host, port string) {
	port = u.Port()
	switch {
	case port != "":
	case u.Scheme == "https":
		port = "443"
	default:
		port = "80"
	}
	return strings.TrimSuffix(strings.ToLower(u.Hostname()), "."), port
}

// addressOf returns the IP address in host, or the zero address.
func addressOf(host string) netip.Addr {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Addr{}
	}
	return addr.Unmap()
}

// isInterface reports whether this machine has the address.
func isInterface(addr netip.Addr) bool {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	for _, a := range addresses {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil && prefix.Addr().Unmap() == addr {
			return true
		}
	}
	return false
}

package config

import (
	"net"
	"net/netip"
	"strconv"

	"mcpgateway/services/secrets"
)

// Metrics are the settings of /metrics. Without a token and an address it is
// open on a loopback listener and off on any other.
type Metrics struct {
	Token    secrets.Value // bearer that reads it; zero requires none
	Addr     string        // of the only listener that serves it; empty is the gateway's own
	Loopback bool          // whether Addr is on loopback
}

// minMetricsToken is the minimum length of a metrics token, in bytes.
const minMetricsToken = 16

func (r *reader) metrics(vars variables) Metrics {
	m := Metrics{Token: secrets.NewValue(vars.MetricsToken), Addr: vars.MetricsAddr}
	if n := len(vars.MetricsToken); n > 0 && n < minMetricsToken {
		r.mistake("GATEWAY_METRICS_TOKEN: use at least %d characters", minMetricsToken)
	}
	if m.Addr == "" {
		return m
	}
	m.Loopback = r.listener("GATEWAY_METRICS_ADDR", m.Addr)
	if _, port, _ := net.SplitHostPort(m.Addr); m.Addr == vars.Addr && port != "0" {
		r.mistake("GATEWAY_METRICS_ADDR: use another address than GATEWAY_ADDR")
	}
	return m
}

// listener checks a listen address and reports whether it is on loopback.
func (r *reader) listener(name, addr string) (loopback bool) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		r.mistake("%s: %q is not HOST:PORT", name, addr)
		return false
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		r.mistake("%s: the port of %q is not a number from 0 to 65535", name, addr)
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

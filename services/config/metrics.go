package config

import (
	"net"
	"net/netip"
	"strconv"

	"mcpgateway/services/secrets"
)

// Metrics are the settings of /metrics. Without a token and an address, it is
// public on a loopback listener and off on others.
type Metrics struct {
	Token    secrets.Value // required bearer token; zero requires none
	Addr     string        // separate listener; empty means the main one
	Loopback bool          // whether Addr is on loopback
}

// minMetricsToken is the minimum length of a metrics token, in bytes.
const minMetricsToken = 16

func (r *loader) metrics(vars variables) Metrics {
	m := Metrics{Token: secrets.NewValue(vars.MetricsToken), Addr: vars.MetricsAddr}
	if n := len(vars.MetricsToken); n > 0 && n < minMetricsToken {
		r.addProblem("GATEWAY_METRICS_TOKEN: use at least %d characters", minMetricsToken)
	}
	if m.Addr == "" {
		return m
	}
	m.Loopback = r.listener("GATEWAY_METRICS_ADDR", m.Addr)
	if _, port, _ := net.SplitHostPort(m.Addr); m.Addr == vars.Addr && port != "0" {
		r.addProblem("GATEWAY_METRICS_ADDR: use another address than GATEWAY_ADDR")
	}
	return m
}

// listener validates a listen address and reports whether it is loopback.
func (r *loader) listener(name, addr string) (loopback bool) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		r.addProblem("%s: %q is not HOST:PORT", name, addr)
		return false
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		r.addProblem("%s: the port of %q is not a number from 0 to 65535", name, addr)
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}
